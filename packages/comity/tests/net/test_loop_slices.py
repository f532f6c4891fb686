"""What many could do at the same moment is spread over the turns of the event loop, and nobody is left out."""

import asyncio
from collections import Counter

from comity.net.loop_slices import LoopSlices


def done_in_turns(sizes: list[int], most: int, *, cancelled: tuple[int, ...] = ()) -> list[list[int]]:
    """By turn of the loop, the numbers of the tasks that had their turn in it."""
    turns: list[list[int]] = []

    async def work(shared: LoopSlices, number: int) -> None:
        await shared.take(sizes[number])
        turns[-1].append(number)

    async def count() -> None:
        while True:
            turns.append([])
            await asyncio.sleep(0)

    async def run() -> None:
        counting = asyncio.ensure_future(count())
        shared = LoopSlices(most)
        tasks = [asyncio.ensure_future(work(shared, number)) for number in range(len(sizes))]
        await asyncio.sleep(0)
        for number in cancelled:
            tasks[number].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        counting.cancel()

    asyncio.run(run())
    return turns


def test_in_one_turn_of_the_loop_no_more_is_done_than_has_room_in_it_twice() -> None:
    turns = done_in_turns([10] * 64, 40)
    assert sum(map(len, turns)) == 64
    assert max(map(len, turns)) <= 2 * 40 // 10, "what waited, and what came meanwhile"


def test_who_waits_first_has_its_turn_first() -> None:
    order = [number for turn in done_in_turns([10, 100, 5, 40, 10, 10, 200, 1], 40) for number in turn]
    assert Counter(order) == Counter(range(8))
    assert order[0] == 0
    assert [number for number in order if number > 0] == list(range(1, 8))


def test_what_is_larger_than_a_turn_has_one_of_its_own() -> None:
    turns = done_in_turns([100] * 5, 40)
    assert [len(turn) for turn in turns if turn] == [1] * 5


def test_a_task_that_was_cancelled_holds_up_nobody() -> None:
    turns = done_in_turns([100] * 5, 40, cancelled=(1, 2))
    assert [number for turn in turns for number in turn] == [0, 3, 4]


def test_turns_go_on_after_a_rest() -> None:
    async def run() -> None:
        shared = LoopSlices(10)
        for size in (1, 10, 3, 100):
            await shared.take(size)
            for _ in range(3):
                await asyncio.sleep(0)

    asyncio.run(run())
