"""Exit codes of the command. Those from 64 on are from sysexits.h."""

from enum import IntEnum

from comity import errors


class Exit(IntEnum):
    """Exit codes of the command."""

    DONE = 0  # check: allowed
    FATAL = 1
    PARTLY = 2  # check: disallowed
    NOT_READY = 3  # a host or its robots.txt could not be reached: retry later
    USAGE = 64  # a wrong URL, option or setting; a port in use
    INPUT = 66  # what is named is not there or cannot be read: a file, a folder; or a host, URL or time of a crawl
    OUTPUT = 73  # the output folder cannot be used
    NO_ROOM = 74  # the disk is full; what was written can be resumed
    INTERRUPTED = 130


def code_of(error: errors.ComityError) -> Exit:
    """Return the exit code for an error that ended the command."""
    if isinstance(error, errors.InvalidURL | errors.InvalidSetting | errors.MissingExtra):
        return Exit.USAGE
    if isinstance(error, errors.InputError):
        return Exit.INPUT
    if isinstance(error, errors.PluginError):  # a sink's too, which is a StorageError
        return Exit.FATAL
    if isinstance(error, errors.StorageError):
        return Exit.NO_ROOM if isinstance(error, errors.StorageFull) else Exit.OUTPUT
    if isinstance(error, errors.TooManyRedirects | errors.TooLarge | errors.UnwantedType):  # so it will be next time
        return Exit.FATAL
    if isinstance(error, errors.RobotsUnreachable | errors.Postponed | errors.FetchError):
        return Exit.NOT_READY
    return Exit.FATAL
