"""An export as plain files: each page's body as served, beside JSON Lines of which `pages.jsonl` is the index. Where
the log has not the bytes that were served, but a text, that is written, and the index says so (`as_served` is false).

A file's name is relative, of ASCII letters, digits and `.-_~` only, at most MAX_NAME_CHARACTERS long, never one that
Windows reserves, and two URLs never share one, on file systems that ignore case either. A folder is never named as a
file is: every file's name has one `~`, followed by a hash of the URL, and no folder's has any.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from comity.crawler.output.lines import write_lines
from comity.crawler.output.reader import body_of
from comity.crawler.output.sink import Channel
from comity.crawler.output.source import Source
from comity.digests import sha256_of
from comity.files import made_anew

if TYPE_CHECKING:
    from mimetypes import MimeTypes

MAX_NAME_CHARACTERS = 180  # characters of the whole name; Windows allows 260 with the folder before it
_MAX_PART_CHARACTERS = 48
_MAX_HOST_CHARACTERS = 64
_FOLDERS = 90  # characters of all folders below the host's, where host and file leave as many
_HASH = 24  # hex digits: 96 bits
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|conin|conout|clock|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)
_EXTENSION = re.compile(r"\.[a-z0-9]{1,8}")
_PREFERRED = {
    "text/html": ".html",
    "application/xhtml+xml": ".xhtml",
    "text/plain": ".txt",
    "text/markdown": ".md",  # older Pythons do not know it by themselves
    "image/jpeg": ".jpg",
}


@cache
def _types() -> "MimeTypes":
    """Python's own table: the system's differ. Made late, for to make it reads the system's too."""
    from mimetypes import MimeTypes

    return MimeTypes()


def name_of(url: str, content_type: str = "", *, refresh: int = 0) -> str:
    """The name of the file of a URL in normal form, with `/` between folders. The media type chooses the extension; the
    URL never does. Each refresh has names of its own."""
    parts = urlsplit(url)
    *folders, last = parts.path.split("/")[1:] or [""]
    hashed = f"{refresh} {url}" if refresh else url
    digest = sha256_of(hashed.encode("utf-8", "surrogatepass"))[:_HASH]
    extension = _PREFERRED.get(content_type) or _types().guess_extension(content_type) or ""
    extension = extension if _EXTENSION.fullmatch(extension) else ".bin"
    file = f"{_safe(last or 'index', _MAX_PART_CHARACTERS)}~{digest}{extension}"
    names = [_safe(parts.netloc.rpartition("@")[2], _MAX_HOST_CHARACTERS)]
    room = min(_FOLDERS, MAX_NAME_CHARACTERS - len(names[0]) - 1 - len(file))
    for folder in folders:
        name = _safe(folder, _MAX_PART_CHARACTERS)
        if len(name) + 1 > room:
            break
        room -= len(name) + 1
        names.append(name)
    return "/".join((*names, file))


def _safe(text: str, longest: int) -> str:
    """A part of a name: neither empty nor of dots, no dot at either end, nothing reserved."""
    name = _UNSAFE.sub("_", text)[:longest].strip(".")
    if not name or _RESERVED.fullmatch(name):
        name = f"_{name}"[:longest].rstrip(".")
    return name


def write_file(path: Path, data: bytes) -> None:
    """Write a file of an export, with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with made_anew(path) as file:
        file.write(data)


def write(source: Source, folder: Path) -> None:
    """Write each page's body into a file of its own, and the channels as JSON Lines; pages name their files."""
    write_lines(_records(source, folder), folder)


def _records(source: Source, folder: Path) -> Iterator[tuple[Channel, dict[str, Any]]]:
    for channel, record in source.records(as_served=True):
        if channel == "pages":
            name = name_of(record["url"], record.get("content_type") or "", refresh=record.get("refresh") or 0)
            body = body_of(record)
            exact = record.get("sha256") == sha256_of(body)
            write_file(folder / name, body)
            record["body_bytes"] = None
            if not (exact and record.get("rendered")):  # a rendered text is another than the one served
                record["body"] = None
            record |= {"file": name} if exact else {"file": name, "as_served": False}
        yield channel, record
