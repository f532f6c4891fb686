"""What a crawl writes down, as plain values: one function for each kind of record."""

import base64
from typing import Any, Literal

from comity.crawler.admit.traps import Trap
from comity.crawler.digest import digest
from comity.crawler.duplicates import Duplicate
from comity.errors import UnwantedType
from comity.frontier import Visit
from comity.net import Response
from comity.policy import Decision, RobotsResult
from comity.signals import encodings
from comity.signals.links import Page

_TEXT = ("text/", "application/xhtml", "application/xml", "application/json", "application/javascript")

Change = Literal["new", "changed", "gone", "unchanged"]
Grounds = Literal["status", "validator", "content", "lastmod"]


def page(
    response: Response, read: Page | None, *, depth: int, noindex: bool = False, duplicate: Duplicate | None = None
) -> dict[str, Any]:
    """A page that was fetched and the evidence that it could be; `add_body` says what is in it.

    Args:
        noindex: whether the page asks to be kept out of indexes.
        duplicate: what it repeats.
    """
    record: dict[str, Any] = {
        "url": response.url,
        "status": response.status,
        "fetched_at": round(response.fetched_at, 3),
        "elapsed": round(response.elapsed, 4),
        "depth": depth,
        "content_type": response.content_type,
        "bytes": len(response.body),
        "sha256": digest(response.body),
        "noindex": noindex,
        "duplicate": duplicate.kind if duplicate else None,
        "duplicate_of": duplicate.of if duplicate else None,
        "decision": brief(response.decision),
    }
    if read is not None:
        record |= {"title": read.title, "links": len(read.links), "canonical": read.canonical}
        record["encoding"] = read.encoding
    return record


def add_body(record: dict[str, Any], response: Response) -> None:
    """Complete the record of a page by its body. That is done when it is written: a text takes much memory."""
    if "body" in record:  # that of a rendered page
        return
    if "encoding" in record or response.content_type.startswith(_TEXT):
        found = record.get("encoding") or encodings.detect(response.body, response.headers.get("Content-Type"))
        encoding = record["encoding"] = encodings.python_codec(found)
        record["body"] = encodings.to_utf8(response.body, encoding).decode("utf-8", "replace")
    else:
        record["body_base64"] = base64.b64encode(response.body).decode("ascii")


def refusal(decision: Decision, *, depth: int) -> dict[str, Any]:
    """A URL that was not fetched because robots.txt or the policy forbids it."""
    return {"url": decision.url, "depth": depth, "why": decision.why, "decision": brief(decision)}


def trap(url: str, trap: Trap, *, depth: int) -> dict[str, Any]:
    """A URL that was left out because it leads nowhere."""
    return {"url": url, "depth": depth, "trap": trap.name, "why": trap.why}


def failure(url: str, why: str, *, depth: int, attempts: int, status: int | None = None) -> dict[str, Any]:
    """A URL that was tried and gave no page."""
    return {"url": url, "depth": depth, "attempts": attempts, "status": status, "why": why}


def unwanted(error: UnwantedType, url: str, *, depth: int) -> dict[str, Any]:
    """A URL that was answered, and left out because of its content type: its body was not read."""
    return {
        "url": url,
        "depth": depth,
        "status": error.status,
        "content_type": error.content_type,
        "why": str(error),
    }


def redirect(response: Response, target: str | None, *, depth: int) -> dict[str, Any]:
    """A URL that leads elsewhere; `to` is None where that is no web address."""
    return {
        "url": response.url,
        "status": response.status,
        "location": response.location,
        "to": target,
        "fetched_at": round(response.fetched_at, 3),
        "depth": depth,
        "decision": brief(response.decision),
    }


def change(
    url: str, change: Change, by: Grounds, *, refresh: int, before: Visit | None, response: Response | None
) -> dict[str, Any]:
    """What a refresh, by its number, found out about a page.

    Args:
        by: what says so: the `content` compared, a `validator` confirmed (304), the `status`, a sitemap's `lastmod`.
        before: the last visit, if there was one.
        response: None where the site was not asked.
    """
    previous = before.digest if before is not None else None
    now = previous if change == "unchanged" else None
    if change in ("new", "changed") and response is not None:
        now = digest(response.body)
    return {
        "url": url,
        "change": change,
        "by": by,
        "refresh": refresh,
        "status": response.status if response is not None else None,
        "fetched_at": round(response.fetched_at, 3) if response is not None else None,
        "sha256": now,
        "previous_fetched_at": before.kept if before is not None else None,
        "previous_sha256": previous,
    }


def robots(result: RobotsResult) -> dict[str, Any]:
    """A robots.txt as it was served, or why there is none."""
    return {
        "origin": result.origin,
        "url": result.url,
        "outcome": result.kind,
        "status": result.status,
        "error": result.error,
        "fetched_at": round(result.fetched_at, 3),
        "redirects": list(result.redirects),
        "sha256": result.sha256,
        "body_base64": base64.b64encode(result.body).decode("ascii"),
    }


def brief(decision: Decision) -> dict[str, Any]:
    """A decision as it stands in records: the evidence is named by hash, its text is in the robots records."""
    source = decision.source
    return {
        "verdict": decision.verdict,
        "line": decision.rule.line if decision.rule else None,
        "rule": decision.rule.text if decision.rule else None,
        "robots_sha256": source.sha256 if source else None,
        "robots_at": round(source.fetched_at, 3) if source else None,
        "delay": decision.delay,
    }
