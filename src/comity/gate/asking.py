"""What goes through the gate's table: one question about one URL; and what a row of the table is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from comity import urls
from comity.gate.robots_cache import Known
from comity.gate.steps import Step
from comity.policy import Policy, Ruling

Machine = TypeVar("Machine")


class Asking:
    """One question about one URL on its way through the table."""

    __slots__ = ("host", "key", "known", "now", "ruling", "url")

    known: Known  # from the row `robots` on
    ruling: Ruling

    def __init__(self, url: str, now: float) -> None:
        self.url = url
        self.now = now
        self.host = self.key = urls.host(url)


@dataclass(frozen=True, slots=True)
class Question(Generic[Machine]):
    """A row of the table: `answer` gives the step that ends the search, or None to go on."""

    name: str
    asks: str
    steps: tuple[type[Step], ...]
    answer: Callable[[Machine, Asking], Step | None]
    when: Callable[[Policy], bool] = lambda _: True  # where the policy makes it a question at all
