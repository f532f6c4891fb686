"""One normal form of URLs: what makes no difference is removed, what may make one is kept."""

import ada_url
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity import InvalidURL, urls


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("HTTP://Example.COM", "http://example.com/"),
        ("https://example.com:443/a", "https://example.com/a"),
        ("https://example.com:8443/a#part", "https://example.com:8443/a"),
        ("http://example.com/a/./b/../c", "http://example.com/a/c"),
        ("http://bücher.example/ä?ö", "http://xn--bcher-kva.example/%C3%A4?%C3%B6"),
        ("http://user:secret@example.com/", "http://example.com/"),
        ("http://example.com/%7euser?b=2&a=1", "http://example.com/%7euser?b=2&a=1"),
        ("http://example.com/a?", "http://example.com/a?"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://０１７７.0.0.1/", "http://127.0.0.1/"),
        ("http://[::FFFF:7f00:1]:8080/", "http://[::ffff:7f00:1]:8080/"),
        ("  http://example.com/\n", "http://example.com/"),
    ],
)
def test_the_normal_form(written: str, normal: str) -> None:
    assert urls.normalise(written) == normal
    assert urls.normalise(normal) == normal


@pytest.mark.parametrize(
    "text",
    [
        "",
        "example.com",
        "/path",
        "//example.com/",
        "ftp://example.com/",
        "mailto:a@b.c",
        "javascript:alert(1)",
        "http://",
        "http://[::1",
        "http://exa mple.com/",
        "file:///etc/passwd",
        "http://a:99999/",
    ],
)
def test_what_is_no_web_address_is_refused_with_advice(text: str) -> None:
    with pytest.raises(InvalidURL, match="write it whole"):
        urls.normalise(text)


@pytest.mark.parametrize(
    ("reference", "whole"),
    [
        ("/a/b", "http://h.example/a/b"),
        ("x.html", "http://h.example/dir/x.html"),
        ("../up", "http://h.example/up"),
        ("?q=1", "http://h.example/dir/page?q=1"),
        ("#part", "http://h.example/dir/page"),
        ("//other.example/x", "http://other.example/x"),
        ("https://other.example", "https://other.example/"),
        ("mailto:a@b.c", None),
        ("javascript:void(0)", None),
        ("data:text/html,x", None),
        ("http://[", None),
    ],
)
def test_references_are_joined_as_browsers_do(reference: str, whole: str | None) -> None:
    assert urls.join("http://h.example/dir/page", reference) == whole


@given(st.text(max_size=60))
def test_any_text_joins_as_ada_says_or_not_at_all(reference: str) -> None:
    base = "http://h.example/dir/page?q"
    joined = urls.join(base, reference)
    try:
        truth = ada_url.URL(reference, base)
    except (ValueError, UnicodeError):
        assert joined is None
        return
    if joined is None:
        assert truth.protocol not in ("http:", "https:") or not truth.hostname
    else:
        assert urls.normalise(joined) == joined
        assert "#" not in joined
        assert (urls.host(joined), urls.origin(joined)) == (truth.hostname, truth.origin)


@pytest.mark.parametrize(
    ("url", "origin", "host"),
    [
        ("https://example.com/a?b", "https://example.com", "example.com"),
        ("http://example.com:8080/", "http://example.com:8080", "example.com"),
        ("http://[::1]:81/x", "http://[::1]:81", "[::1]"),
        ("http://[::1]/", "http://[::1]", "[::1]"),
    ],
)
def test_origin_and_host(url: str, origin: str, host: str) -> None:
    assert (urls.origin(url), urls.host(url)) == (origin, host)
