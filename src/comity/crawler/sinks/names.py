"""A file name for any URL, safe on every file system.

The name is relative, of ASCII letters, digits and `.-_~` only, at most LONGEST characters, never one that Windows
reserves, and two URLs never share one, on file systems that ignore case either. A folder is never named as a file
is: every file's name has one `~`, followed by a hash of the URL, and no folder's has any.
"""

import hashlib
import mimetypes
import re
from urllib.parse import urlsplit

LONGEST = 180  # characters of the whole name; Windows allows 260 with the folder before it
_LONGEST_PART = 48
_LONGEST_HOST = 64
_FOLDERS = 90  # characters of all folders below the host's
_HASH = 24  # hex digits: 96 bits
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|conin|conout|clock|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)
_EXTENSION = re.compile(r"\.[a-z0-9]{1,8}")
_TYPES = mimetypes.MimeTypes()  # Python's own table: the system's differ
_PREFERRED = {"text/html": ".html", "application/xhtml+xml": ".xhtml", "text/plain": ".txt", "image/jpeg": ".jpg"}


def name_of(url: str, content_type: str = "", *, refresh: int = 0) -> str:
    """The name, with `/` between folders.

    Args:
        url: absolute, in normal form.
        content_type: the media type, which chooses the extension; the URL never does.
        refresh: number of the refresh that it came in; each has names of its own.
    """
    parts = urlsplit(url)
    *folders, last = parts.path.split("/")[1:] or [""]
    names = [_safe(parts.netloc.rpartition("@")[2], _LONGEST_HOST)]
    room = _FOLDERS
    for folder in folders:
        name = _safe(folder, _LONGEST_PART)
        if len(name) + 1 > room:
            break
        room -= len(name) + 1
        names.append(name)
    stem = _safe(last or "index", _LONGEST_PART)
    hashed = f"{refresh} {url}" if refresh else url
    digest = hashlib.sha256(hashed.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    return "/".join((*names, f"{stem}~{digest}{_extension(content_type)}"))


def _safe(text: str, longest: int) -> str:
    """A part of a name: neither empty nor of dots, no dot at either end, nothing reserved."""
    name = _UNSAFE.sub("_", text)[:longest].strip(".")
    if not name or _RESERVED.fullmatch(name):
        name = f"_{name}"[:longest].rstrip(".")
    return name


def _extension(content_type: str) -> str:
    found = _PREFERRED.get(content_type) or _TYPES.guess_extension(content_type) or ".bin"
    return found if _EXTENSION.fullmatch(found) else ".bin"
