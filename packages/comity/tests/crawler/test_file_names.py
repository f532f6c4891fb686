"""Names of files made from URLs: safe everywhere, never shared, whatever the URL."""

import re
from pathlib import PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.crawler.output.files import MAX_NAME_CHARACTERS, name_of

URLS = st.builds(
    lambda host, path: f"http://{host}/{path}",
    st.sampled_from(("example.com", "EXAMPLE.com:80", "[::1]:8080", "con", "a" * 250, "..")),
    st.lists(
        st.sampled_from(
            [
                *'aA1./\\:*?"<>|%~_- &=#\0\n\r\t\x7f',
                "..",
                "con",
                "nul.txt",
                "%2e%2e/",
                "é",
                "\u202e",
                "\ud800",
                "x" * 40,
            ]
        ),
        max_size=20,
    ).map("".join),
)
TYPES = st.sampled_from(("text/html", "", "image/png", "application/x-../../evil", "application/octet-stream"))
RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10))}


@given(URLS, TYPES)
def test_a_name_is_safe_on_every_file_system(url: str, content_type: str) -> None:
    name = name_of(url, content_type)
    assert len(name) <= MAX_NAME_CHARACTERS
    assert re.fullmatch(r"[A-Za-z0-9._~/-]+", name)
    parts = name.split("/")
    assert PureWindowsPath(name).parts == PurePosixPath(name).parts == tuple(parts)
    for part in parts:
        assert part
        assert not part.startswith(".")
        assert not part.endswith(".")
        assert part.partition(".")[0].lower() not in RESERVED
        assert len(part) <= 255
    assert "~" in parts[-1]
    assert not any("~" in part for part in parts[:-1]), "so no folder is ever named as a file is"


def test_a_long_host_and_a_long_last_part_leave_less_for_the_folders() -> None:
    name = name_of(f"http://{'h' * 80}/{'a' * 40}/{'b' * 40}/{'c' * 60}", "text/html")
    assert name.startswith(f"{'h' * 64}/{'c' * 48}~")
    assert len(name_of(f"http://example.com/{'a' * 40}/{'b' * 40}/{'c' * 60}", "text/html").split("/")) == 4


@given(URLS, URLS, TYPES)
def test_two_urls_never_share_a_name_even_where_case_is_ignored(one: str, other: str, content_type: str) -> None:
    names = {name_of(one, content_type).lower(), name_of(other, content_type).lower()}
    assert len(names) == len({one, other})


@pytest.mark.parametrize(
    ("url", "start", "end"),
    [
        ("https://example.com/", "example.com/index~", ".html"),
        ("https://example.com/a", "example.com/a~", ".html"),
        ("https://example.com/a/", "example.com/a/index~", ".html"),
        ("https://example.com/a/b.php?x=1", "example.com/a/b.php~", ".html"),
        ("https://example.com:8080/.git/config", "example.com_8080/git/config~", ".html"),
        ("https://example.com/../../etc/passwd", "example.com/_/_/etc/passwd~", ".html"),
        ("https://example.com/con/NUL.txt", "example.com/_con/_NUL.txt~", ".html"),
        ("https://user:secret@example.com/a", "example.com/a~", ".html"),
        ("https://example.com/%D0%B0", "example.com/_D0_B0~", ".html"),
    ],
)
def test_a_name_can_be_recognised(url: str, start: str, end: str) -> None:
    name = name_of(url, "text/html")
    assert name.startswith(start), name
    assert name.endswith(end)


def test_the_extension_is_that_of_the_content_not_of_the_url() -> None:
    assert name_of("https://example.com/setup.exe", "text/html").endswith(".html")
    assert name_of("https://example.com/photo", "image/png").endswith(".png")
    assert name_of("https://example.com/notes", "text/markdown").endswith(".md")
    assert name_of("https://example.com/what", "").endswith(".bin")
