"""A file that replaces another is written anew and moved, and nothing is opened that is no regular file."""

import ast
import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import comity
import comity_pages
import comity_robots
from comity.files import open_regular, read_regular, write_anew, write_where_named, written_anew

ROOT = Path(comity.__file__).parent
ROOTS = (ROOT, Path(comity_pages.__file__).parent, Path(comity_robots.__file__).parent)
WRITERS = {
    "_building.py": "what a wheel is made of, in its own build",
    "files.py": "the ways to write that all others use",
    "signatures/keys.py": "a key is never overwritten: O_EXCL",
    "crawler/rendering/browser.py": "in a temporary folder of ours",
    "cli/crawling.py": "sees whether a file that the operator named can be written",
    "crawler/cluster/pipe.py": "a pipe to a worker",
    "frontier/sqlite/database.py": "SQLite, of files that were looked at",
    "crawler/output/sqlite.py": "SQLite, of a file that was looked at",
    "net/http_cache.py": "SQLite, of a file that the operator names and that is known as a cache",
    "audit/chunks.py": "in a temporary folder of ours",
    "audit/outputs.py": "SQLite, of a file without a name",
    "audit/current_pages.py": "SQLite, of a file without a name",
}


def writing(path: Path) -> Iterator[str]:
    """What writes to a file in a module by anything but comity.files."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        given = (*node.args, *(key.value for key in node.keywords))
        modes = [each.value for each in given if isinstance(each, ast.Constant)]
        mode = any(isinstance(each, str) and set(each) <= set("rwaxbt+") and set(each) & set("wax+") for each in modes)
        if name.endswith((".write_text", ".write_bytes")) or name == "sqlite3.connect":
            yield name
        elif name.rpartition(".")[2] in ("open", "fdopen") and not name.startswith("self._packed") and mode:
            yield f"{name} {modes}"
        elif name == "os.open" and "O_RDONLY" not in ast.unparse(node) and "O_CREAT" in ast.unparse(node):
            yield name


def test_every_writer_is_known() -> None:
    files = [(root, path) for root in ROOTS for path in root.rglob("*.py")]
    found = {str(path.relative_to(root)): said for root, path in files if (said := [*writing(path)])}
    assert set(found) == set(WRITERS), found


def test_what_is_written_anew_is_there_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "file"
    write_anew(file, b"before")

    def fail() -> None:
        with written_anew(file) as new:
            new.write(b"half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError, match="No space"):
        fail()
    assert (file.read_bytes(), [*tmp_path.iterdir()]) == (b"before", [file])
    (tmp_path / "file.new").write_bytes(b"of a run that was killed")
    write_anew(file, b"after")
    assert (file.read_bytes(), [*tmp_path.iterdir()]) == (b"after", [file])


@pytest.mark.skipif(os.name != "posix", reason="there are no such files elsewhere")
def test_what_the_operator_names_may_be_a_link_or_a_device_and_keeps_its_permissions(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"before")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "named").symlink_to("real")
    write_where_named(tmp_path / "named", b"after")
    assert (tmp_path / "named").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"after"
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o640
    write_where_named(Path(os.devnull), b"nothing")
    assert not Path(os.devnull).is_file()


@pytest.mark.skipif(os.name != "posix", reason="there are no such files elsewhere")
def test_only_a_regular_file_is_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"1234")
    (tmp_path / "link").symlink_to("file")
    for name in ("pipe", "link"):
        with pytest.raises(OSError, match="not a regular file"):
            open_regular(tmp_path / name)
        with pytest.raises(OSError, match="not a regular file"):
            open_regular(tmp_path / name, "ab", buffering=0)
    with pytest.raises(OSError, match="not a regular file"):
        open_regular(Path(os.devnull))
    with pytest.raises(IsADirectoryError):
        open_regular(tmp_path)
    assert read_regular(tmp_path / "file", 4) == b"1234"
    with pytest.raises(OSError, match="more than 3 bytes"):
        read_regular(tmp_path / "file", 3)
