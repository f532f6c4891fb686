"""Which modules Cython compiles. The build reads this; nothing else lists them."""

MODULES: tuple[str, ...] = ("frontier.sqlite._words",)
