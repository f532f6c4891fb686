"""What the command's exit codes mean. The numbers from 64 on are those of sysexits.h."""

from enum import IntEnum

from comity.errors import (
    ComityError,
    FetchError,
    InvalidSetting,
    InvalidURL,
    MissingExtra,
    Postponed,
    RobotsUnreachable,
    StorageError,
    TooManyRedirects,
)


class Exit(IntEnum):
    """Exit codes of the command."""

    DONE = 0  # check: allowed
    FATAL = 1
    PARTLY = 2  # check: disallowed
    NOT_READY = 3  # a host or its robots.txt could not be reached: retry later
    USAGE = 64  # a wrong URL, option or setting
    OUTPUT = 73  # the output folder cannot be used
    NO_ROOM = 74  # the disk is full; what was written can be resumed
    INTERRUPTED = 130


def code_of(error: ComityError) -> Exit:
    """The exit code for an error that ended the command."""
    if isinstance(error, InvalidURL | InvalidSetting | MissingExtra):
        return Exit.USAGE
    if isinstance(error, StorageError):
        return Exit.NO_ROOM if error.args[0].startswith("no room") else Exit.OUTPUT
    if isinstance(error, RobotsUnreachable | Postponed | FetchError) and not isinstance(error, TooManyRedirects):
        return Exit.NOT_READY
    return Exit.FATAL
