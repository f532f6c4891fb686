"""Answers of the tools, with the server's words and the site's kept apart; and failures as answers. A refusal names
the rule and its line, never the whole robots.txt."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from comity import BadStatus, ComityError, Decision, Postponed, RobotsDisallowed, RobotsUnreachable
from comity.mcp.untrusted import NOTICE, clean_all

MAX_ENTRIES: Final = 100  # findings, rules, statements in an answer
MAX_LIST_CHARACTERS: Final = 256 * 1024  # of the entries of one list, which a cursor goes on with
MAX_QUOTE_CHARACTERS: Final = 500  #  of a site's words that an answer quotes besides a page's text

# Kind of error -> what it means, and what to do. The words of the error itself may quote the site.
_MEANINGS: Final[Mapping[str, tuple[str, str]]] = {
    "RobotsUnreachable": (
        "robots.txt could not be reached, so nothing may be fetched for now.",
        "Try again later; do not work around it.",
    ),
    "RobotsDisallowed": (
        "robots.txt or the policy refuses this to programs. Nothing was fetched.",
        "Do not work around it. The user can read the page in a browser, or use the prompt fetch_by_hand.",
    ),
    "AddressBlocked": (
        "The address is not a public one, or leads to one that is not. Nothing was fetched from it.",
        "Only the operator of this server can allow it (--allow-address).",
    ),
    "BadStatus": ("The server answered, but not with a page.", "See the status; 404 and 410 will stay."),
    "PaymentRequired": (
        "The site requires payment or a licence. This server never pays.",
        "Tell the user; the site's terms may be named in the detail.",
    ),
    "UnsupportedContent": (
        "The response is neither HTML nor Markdown nor plain text.",
        "It cannot be read with this tool.",
    ),
    "NoCandidate": ("No URL that may be fetched gave a page.", "Use strategy 'prefer' or 'disabled'."),
    "ExtractionFailed": ("The page could not be made Markdown within bounds.", "Try content 'all', or another page."),
    "TooLarge": ("The answer is larger than this server takes.", "Fetch a smaller part of the site."),
    "Timeout": ("No answer came in time.", "Try again later."),
    "TooManyRedirects": ("The redirects lead nowhere.", "Use another URL."),
    "Postponed": ("The site must rest for longer than this server waits.", "Try again after the time named."),
    "InvalidURL": ("The URL is not an absolute http or https URL.", "Give one such as https://example.com/page."),
    "FetchError": ("No usable answer came.", "Try again later, or another URL."),
}


class ToolFailure(Exception):
    """A tool cannot do what it was asked, for a reason that is no error of the library.

    Attributes:
        kind: one word for programs.
        what_to_do: one sentence.
    """

    def __init__(self, kind: str, message: str, what_to_do: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.what_to_do = what_to_do

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.kind, str(self), self.what_to_do)


def invalid(message: str, what_to_do: str) -> ToolFailure:
    """Return the failure of a call with unusable arguments."""
    return ToolFailure("invalid_arguments", message, what_to_do)


def framed(values: Mapping[str, Any], removed: Mapping[str, int]) -> dict[str, Any]:
    """Clean the values of an answer; add what was removed and a notice of who wrote what."""
    counted = Counter(removed)
    cleaned = clean_all(values, counted)
    return {**cleaned, "removed": dict(counted), "notice": NOTICE}


def as_text(values: Mapping[str, Any]) -> str:
    """Return an answer as JSON text, for clients that read no structured content."""
    return json.dumps(values, ensure_ascii=False)


def failure(error: ComityError | ToolFailure) -> dict[str, Any]:
    """Return an error as an answer."""
    if isinstance(error, ToolFailure):
        own = {"kind": error.kind, "message": str(error), "what_to_do": error.what_to_do}
        return framed({"error": own, "from_site": {}}, {})
    names = [kind.__name__ for kind in type(error).__mro__]
    name = next((name for name in names if name in _MEANINGS), None)
    if isinstance(error, RobotsUnreachable) and not error.decision.may_pass:
        name = "AddressBlocked"
    message, what_to_do = _MEANINGS[name] if name is not None else ("It failed.", error.hint or "Try something else.")
    ours: dict[str, Any] = {"kind": _snake(name or names[0]), "message": message, "what_to_do": what_to_do}
    # The URL too: after a redirect, the site chose it.
    from_site: dict[str, Any] = {
        "detail": truncate(error.args[0] if error.args else ""),
        "url": truncate(error.url or ""),
    }
    if isinstance(error, RobotsDisallowed):
        decision: Decision = error.decision
        ours |= {"verdict": decision.verdict, "line": decision.rule.line if decision.rule else None}
        from_site["rule"] = truncate(decision.rule.text) if decision.rule else None
        if not isinstance(error, RobotsUnreachable) and decision.by_policy:
            ours["message"] = "The policy of this server refuses it. Nothing was fetched."
    elif isinstance(error, BadStatus):
        ours["status"] = error.status
    elif isinstance(error, Postponed):
        ours["seconds"] = round(error.seconds, 1)
    return framed({"error": ours, "from_site": from_site}, {})


def fitting(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the first entries of a list that fit into one answer, at least one."""
    size = 0
    for number, each in enumerate(entries):
        size += len(as_text(each))
        if size > MAX_LIST_CHARACTERS and number:
            return entries[:number]
    return entries


def truncate(text: str, characters: int = MAX_QUOTE_CHARACTERS) -> str:
    """Truncate a site's text for quotation."""
    return text if len(text) <= characters else text[: characters - 1] + "…"


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
