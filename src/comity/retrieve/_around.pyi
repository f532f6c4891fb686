from array import array

REACH: int
ASKED: int
WIDTH: int

def around(chances: array[float], words: array[int], chains: array[int], forms: array[int]) -> array[float]: ...
