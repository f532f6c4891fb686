"""The errors of reading a page, beside those of comity_robots."""

from comity_robots.errors import ComityError as ComityError
from comity_robots.errors import InvalidSetting as InvalidSetting
from comity_robots.errors import InvalidURL as InvalidURL
from comity_robots.errors import without_userinfo as without_userinfo


class ExtractionFailed(ComityError):
    """The page cannot be turned into Markdown: it is built to exhaust a parser, or took too long."""


class MissingExtra(ComityError, ImportError):
    """A library that an optional part of comity needs is not installed; the message names the extra."""
