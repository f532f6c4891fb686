"""What a finding is."""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "info"]

# error: the line does not do what it says; warning: some crawlers read it otherwise, or it has a surprising effect;
# info: it has no effect, or is worth knowing.
CODES: dict[str, tuple[Severity, str]] = {}  # severity and meaning by code; each module adds those of its findings


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
        changes: whether following the suggestion may change what some crawler reads. Where it is False, every known
            parser reads the same afterwards, in whatever dialect: each verdict, delay and Sitemap.
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
