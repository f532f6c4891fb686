"""The root of all errors. Every error says what happened, to which URL, and what to do about it."""

import re
from typing import Any, Final, Self

# What may be a password: all before the @ of an authority, and where what follows a colon is no port, before any @. The
# bound keeps the time linear. Who uses a store is no secret, nor is how its URL is written. As text: most runs conceal
# nothing and need it not compiled.
_USERINFO: Final = (
    r"(?i)(?<=[a-z]:)(?!(?<=postgresql:)//(?:[\w.%~-]*|(?-i:USER:PASSWORD))@)([/\\]+)"
    r"(?:[^\s/\\?#]*|[^\s/\\?#:]*:(?!\d*[/\\?#])\S{0,500})@"
    r"|(?i:(?<=http:)|(?<=https:)|(?<=postgres:)|(?<=postgresql:))(?![/\\])[^\s/\\?#:@]{0,500}:\S{0,500}@"  # no slashes
)


class ComityError(Exception):
    """Base of every error that comity raises on purpose.

    Attributes:
        url: the URL concerned, or None where there is none.
        hint: what the caller can do about it, one sentence, or the empty string.
    """

    def __init__(self, message: str, *, url: str | None = None, hint: str = "") -> None:
        super().__init__(message)
        self.url = url
        self.hint = hint
        self._what = message

    @classmethod
    def at(cls, url: str, what: str, **named: Any) -> Self:
        """An error whose message is a URL and, after a colon, what happened there."""
        error = cls(f"{url}: {what}", url=url, **named)
        error._what = what
        return error

    @property
    def detail(self) -> str:
        """What happened and what to do, without the URL before it: for records that have that in a field of its own."""
        return f"{self._what} ({self.hint})" if self.hint else self._what

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message} ({self.hint})" if self.hint else message

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle and copy: an error with keyword arguments cannot be made again from `args` alone."""
        return _remade, (type(self), self.args), self.__dict__


def _remade(kind: type[ComityError], args: tuple[Any, ...]) -> ComityError:
    return kind.__new__(kind, *args)


class InvalidURL(ComityError, ValueError):
    """The text is not an absolute http or https URL with a host."""


class InvalidSetting(ComityError, ValueError):
    """A setting has a value that is not allowed; the message names the field and the allowed values."""


def truncate(text: str, max_characters: int, mark: str = "…") -> str:
    """A text whole, or its first characters with a mark behind them."""
    return text if len(text) <= max_characters else text[:max_characters] + mark


def without_userinfo(text: str) -> str:
    """A text for people, with user names and passwords of the URLs in it concealed."""
    return re.sub(_USERINFO, r"\1***@", text) if "@" in text else text
