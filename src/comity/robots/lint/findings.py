"""The kinds of findings, each with its severity and what it means. docs/lint.md shows this table."""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "info"]

# error: the line does not do what it says; warning: some crawlers read it otherwise, or it has a surprising effect;
# info: it has no effect, or is worth knowing.
CODES: dict[str, tuple[Severity, str]] = {
    "agent-list": ("error", "several names in one User-agent line: crawlers read one name"),
    "agent-unknown": ("warning", "a User-agent value that no crawler goes by"),
    "agent-with-space": ("warning", "a User-agent value with white space: Google reads its first word"),
    "agent-with-version": ("info", "a User-agent value with a version: crawlers compare the name only"),
    "agent-with-wildcard": ("warning", "`*` within a User-agent value: names have no wildcards"),
    "allow-without-disallow": ("info", "an Allow that has no Disallow to override"),
    "backslash-in-path": ("warning", "a backslash where URLs have a slash"),
    "bad-escape": ("warning", "`%` that is not followed by two hexadecimal digits"),
    "blocked-with-next-group": (
        "error",
        "a crawler without rules of its own shares the `Disallow: /` of the group below",
    ),
    "blocks-resources": (
        "warning",
        "a rule that keeps search engines from CSS, scripts or images, so that they cannot render pages",
    ),
    "byte-order-mark": (
        "warning",
        "a byte order mark at the beginning, which some parsers take for part of the first label",
    ),
    "conflicting-rules": ("error", "Allow and Disallow with the same pattern in one group: only one can win"),
    "content-key-unknown": ("warning", "a Content-Usage or Content-Signal key outside the vocabulary"),
    "content-value-unreadable": ("error", "a Content-Usage or Content-Signal value outside the vocabulary"),
    "crawl-delay-enormous": ("warning", "a Crawl-delay of an hour or more, which makes a crawl hopeless"),
    "crawl-delay-ignored": ("info", "a Crawl-delay for a crawler that ignores it"),
    "crawl-delay-repeated": ("warning", "several Crawl-delays for one crawler: each reads another one"),
    "crawl-delay-unreadable": ("error", "a Crawl-delay that is not a number of seconds"),
    "disallow-star": ("info", "`*` alone where `/` says the same everywhere"),
    "dollar-in-middle": ("warning", "`$` that does not end the pattern and is an ordinary character there"),
    "double-wildcard": ("info", "asterisks in a row: one does the same"),
    "duplicate-group": ("warning", "an agent named in more than one group: not all parsers merge them"),
    "duplicate-rule": ("warning", "the same rule twice for one agent"),
    "empty-agent": ("error", "a User-agent line without a value"),
    "encoded-unreserved": ("warning", "an escape of a character that needs none: some crawlers do not decode it"),
    "everything-disallowed": ("info", "everybody, or everybody who is not named, is disallowed everywhere"),
    "full-url-as-path": ("error", "a whole URL where a path belongs: it matches nothing"),
    "glued-comment": ("warning", "`#` within a path begins a comment and cuts the path"),
    "group-without-rules": ("info", "a group without rules allows everything"),
    "groups-run-together": ("warning", "User-agent lines without rules share the rules of the group below"),
    "html-instead-of-text": ("error", "an HTML page, not a robots.txt"),
    "invisible-character": ("error", "a character that nobody sees, which is part of the label or the value"),
    "line-too-long": ("warning", "a line longer than some parsers read"),
    "missing-colon": ("error", "a known label without a colon"),
    "misspelt-record": ("error", "a label that is nearly a known one: most parsers ignore the line"),
    "noindex-in-robots": ("warning", "Noindex has no effect in robots.txt: use a robots meta or X-Robots-Tag"),
    "not-utf-8": ("warning", "bytes that are not UTF-8"),
    "nul-octet": ("warning", "a NUL byte, at which some parsers end the line"),
    "path-without-slash": ("error", "a path that begins with neither `/` nor `*` matches nothing"),
    "rate-unreadable": ("error", "a Request-rate or Visit-time that cannot be read"),
    "read-otherwise": ("warning", "Google or Bing reads the rules otherwise"),
    "record-without-agent": ("error", "a record that needs a User-agent before it"),
    "redundant-rule": ("info", "a rule that another rule makes unnecessary"),
    "robots-disallowed": ("info", "robots.txt itself is always allowed"),
    "sitemap-disallowed": ("warning", "a Sitemap that the rules disallow: crawlers may not fetch it"),
    "sitemap-not-absolute": ("error", "a Sitemap must be a whole URL"),
    "sitemap-repeated": ("info", "the same Sitemap twice"),
    "space-in-path": ("warning", "white space within a path, which no URL holds"),
    "too-large": ("error", "more than 500 KiB: crawlers ignore the rest"),
    "trailing-wildcard": ("info", "`*` at the end matches nothing more: a pattern is a prefix"),
    "two-on-a-line": ("error", "two records on one line are read as one"),
    "unknown-record": ("info", "a label that no known crawler reads"),
    "unreachable-rule": ("warning", "a rule that never decides: others always win"),
    "usage-ends-group": (
        "warning",
        "a Content-Usage or Content-Signal between User-agent lines: it ends the group for uses only",
    ),
    "yandex-only": ("info", "a record that only Yandex reads or used to read"),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about a line.

    Attributes:
        line: its number, from 1.
        code: a key of CODES.
        message: what is the matter here.
        suggestion: what to write instead, or to do.
        replacement: the line to write instead, without its end, or several; empty where the line should be deleted;
            None where no line can be written: other lines or something else than the file are to change, or a person
            decides.
        changes: whether following the suggestion may change a verdict for somebody. Where it is False, no verdict of
            any agent about any path is another afterwards, in the dialect of the file.
    """

    line: int
    code: str
    message: str
    suggestion: str
    replacement: str | None = None
    changes: bool = False

    @property
    def severity(self) -> Severity:
        return CODES[self.code][0]
