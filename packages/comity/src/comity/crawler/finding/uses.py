"""What robots.txt, response headers and metas state about the use of a page, for the purposes that a crawl asks about.
A preference is recorded; it keeps a page out only where the operator says so (`only_if`)."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from comity.errors import InvalidSetting
from comity_robots.usage.statements import USE, Usage, Use, less_than_intended, purpose_named

if TYPE_CHECKING:  # who reads settings needs no HTTP
    from comity.net import Response
    from comity_pages.signals.links import Page

_WANTED: Final = {"allowed": ("allowed",), "not-disallowed": ("allowed", "unknown")}


def terms(only_if: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The preferences that are good enough, by purpose, from conditions such as `train-ai=allowed`,
    `search=not-disallowed`.

    Raises:
        InvalidSetting: one is no such condition.
    """
    found: dict[str, tuple[str, ...]] = {}
    for text in only_if:
        purpose, _, wanted = text.partition("=")
        try:
            name = purpose_named(purpose.strip())
            found[name] = _WANTED[wanted.strip()]
        except (InvalidSetting, KeyError):
            raise InvalidSetting(
                f"only_if: {text!r} is not a condition",
                hint="write for example train-ai=allowed, search=not-disallowed",
            ) from None
    return found


class Uses:
    """Reads what is stated for the purposes that the policy wants the content for, and those of the conditions that a
    page must meet (`only_if`). `agent`: ours, as directives may name it. `use`: the most that is done with content,
    where the policy says so."""

    def __init__(self, purposes: Sequence[str], only_if: Sequence[str], agent: str, use: Use | None = None) -> None:
        self._terms = terms(only_if)
        self._use = use
        self._purposes = tuple(dict.fromkeys((*purposes, *self._terms, *((USE,) if use else ()))))
        self._agent = agent

    def stated(self, response: "Response", read: "Page | None") -> Usage | None:
        """What robots.txt, headers and page state together; None where no purpose is asked about."""
        if not self._purposes:
            return None
        from comity_pages.signals import usage  # late: who reads settings needs none of it

        robots = response.decision.usage
        return usage.from_answer(robots, response.all_headers, read, agent=self._agent, url=response.url)

    def record(self, stated: Usage | None) -> dict[str, Any] | None:
        """For each purpose the preference and its sources, as `Usage.to_record` has it."""
        return None if stated is None else stated.to_record(self._purposes)

    def refusal(self, stated: Usage | None) -> str | None:
        """Why a page is not kept, in a sentence; None where it is."""
        if stated is not None and (why := less_than_intended(stated, self._use)):
            return why
        for purpose, good in self._terms.items():
            if stated is not None and stated.preference(purpose) not in good:
                kept = "allowed" if len(good) == 1 else "not disallowed"
                return f"only what is {kept} for {purpose} is kept: {stated.explain(purpose)}"
        return None
