"""One normal form of URLs: what makes no difference is removed, what may make one is kept."""

import copy
import pickle
import re
import runpy
import time
from pathlib import Path

import ada_url
import pytest
from examples import cases
from hypothesis import given
from hypothesis import strategies as st

import comity_robots
from comity_pages import urls
from comity_pages.errors import InvalidURL, without_userinfo

pytestmark = pytest.mark.both_forms


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
    with pytest.raises(InvalidURL, match=r"https://example\.com|not http or https|no valid host"):
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


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("http://h.example./a", "http://h.example/a"),
        ("https://H.example.:8443/a?b", "https://h.example:8443/a?b"),
        ("http://me:secret@h.example./", "http://h.example/"),
        ("http://localhost.", "http://localhost/"),
        ("http://127.0.0.1./", "http://127.0.0.1/"),
        ("http://b\u00fccher.example\u3002/", "http://xn--bcher-kva.example/"),
        ("http://h.example../", "http://h.example../"),  # no name of any server
        ("http://./", "http://./"),
    ],
)
def test_the_dot_that_ends_a_host_name_makes_no_other_server(url: str, normal: str) -> None:  # RFC 3986, 3.2.2
    assert urls.normalise(url) == urls.normalise(normal) == normal
    assert urls.join("http://other.example/", url) == normal
    assert urls.host(url) == urls.host(normal)
    assert urls.Base(url).join("/a") == urls.join(normal, "/a")


@pytest.mark.parametrize(
    "url",
    [
        "http://me:s3cret@[::1/",
        "http://me:s3cret@h%st/",
        "ftp://me:s3cret@h.example/",
        "http:/me:s3cret@h%st/",
        "http://me:p/s3cret@h.example/",  # a slash that should have been %2F
        "http://me:p@s3cret@h%st/",
    ],
)
def test_the_error_about_a_url_that_is_none_shows_no_password(url: str) -> None:
    with pytest.raises(InvalidURL) as caught:
        urls.normalise(url)
    assert "s3cret" not in f"{caught.value} {caught.value.url}"
    assert "***@" in str(caught.value)


def test_the_error_about_a_question_shows_no_password_either() -> None:
    with pytest.raises(InvalidURL, match=re.escape("'see http://***@h.example/'")) as caught:
        comity_robots.parse("").allowed("see http://me:s3cret@h.example/", "MyBot")
    assert "s3cret" not in str(caught.value.url)


def test_an_at_sign_that_stands_in_a_path_conceals_nothing() -> None:
    with pytest.raises(InvalidURL, match=re.escape("'http://h%st/@me/a' has no valid host")):
        urls.normalise("http://h%st/@me/a")
    with pytest.raises(InvalidURL, match=re.escape("'ftp://h.example:21/@me'")):
        urls.normalise("ftp://h.example:21/@me")


CHECK = Path(__file__).parents[3] / "benchmarks" / "urls.py"
BASE = "http://h.example/dir/page?q"
URLISH = st.text(st.sampled_from("/.?#:@%&=[]\\|'\" \t\nabcxnHT0127e2-_~\u00fc\u3002\u200d\ud800"), max_size=24)


def truth(reference: str, base: str | None = None) -> str | None:
    """What ada-url says, in the words of its own setters."""
    try:
        url = ada_url.URL(reference.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"), base)
    except ValueError:
        return None
    if url.protocol not in ("http:", "https:"):
        return None
    url.username = url.password = url.hash = ""
    if url.hostname.endswith(".") and url.hostname != "." and not url.hostname.endswith(".."):
        url.hostname = url.hostname.removesuffix(".")
    return url.href


def test_generated_references_get_the_answers_of_ada_url(monkeypatch: pytest.MonkeyPatch) -> None:
    if not CHECK.exists():
        pytest.skip("benchmarks/urls.py is not part of this copy")
    monkeypatch.syspath_prepend(CHECK.parent)
    assert runpy.run_path(str(CHECK))["disagreements"](cases(30_000), 7) == []


@given(URLISH | st.text(max_size=60))
def test_any_text_joins_as_ada_says_or_not_at_all(reference: str) -> None:
    assert urls.join(BASE, reference) == truth(reference, BASE)
    assert urls.Base(BASE).join(reference) == truth(reference, BASE)


@given(URLISH, URLISH)
def test_any_text_is_a_base_as_ada_says_or_none(base: str, reference: str) -> None:
    base = f"http://{base}"
    whole = truth(base)
    assert urls.join(base, reference) == (truth(reference, whole) if whole is not None else None)


@given(URLISH.map("http://".__add__) | URLISH.map("https://h".__add__) | st.text(max_size=60))
def test_any_text_is_normalised_as_ada_says_or_refused(text: str) -> None:
    expected = truth(text)
    assert urls.is_http(text) == (expected is not None)
    if expected is None:
        for function in (urls.normalise, urls.origin, urls.host, urls.Url):
            with pytest.raises(InvalidURL):
                function(text)
        return
    parsed = ada_url.URL(expected)
    assert urls.normalise(text) == urls.normalise(expected) == expected
    assert (urls.origin(text), urls.host(text)) == (parsed.origin, parsed.hostname)
    url = urls.Url(text)
    assert (url, url.origin, url.host) == (expected, parsed.origin, parsed.hostname)
    assert url.origin + url.path_and_query == expected


def test_a_url_is_a_text_that_stays_what_it_is() -> None:
    url = urls.Url("HTTP://Example.com:80/a/../b?x=1#top")
    assert isinstance(url, str)
    assert url == "http://example.com/b?x=1"
    assert {url: 1}[str(url)] == 1
    assert urls.Url(url) is url
    assert urls.is_http(url)
    assert type(urls.normalise(url)) is str
    assert urls.origin(url) == url.origin
    assert urls.host(url) == url.host
    assert urls.Base(url).join("c") == urls.join(url, "c") == "http://example.com/c"
    for copied in (pickle.loads(pickle.dumps(url)), copy.deepcopy(url)):
        assert type(copied) is urls.Url
        assert copied.origin == "http://example.com"
    for wrong in (None, b"http://example.com/", 1):
        with pytest.raises(TypeError):
            urls.Url(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("place", ["http://h/a{}b", "http://h/a?b{}c", "http://a{}b/", "http://h:8{}0/", "http://h{}"])
def test_every_ascii_character_is_treated_as_ada_treats_it_wherever_it_stands(place: str) -> None:
    for char in map(chr, range(128)):
        text = place.format(char)
        assert (urls.normalise(text) if urls.is_http(text) else None) == truth(text)
        assert urls.join(BASE, text.removeprefix("http://h")) == truth(text.removeprefix("http://h"), BASE)


@pytest.mark.interpreted_long
@pytest.mark.parametrize(
    "shape",
    [
        "http://h/{}",
        "http://{}/",
        "http://h/?{}",
        "http://{}@h/",
        "http://h:{}/",
        "{}",
        "{}:",
        "//{}",
        "../{}",
        "http://h/#{}",
    ],
)
@pytest.mark.parametrize(
    "piece",
    ["a", ".", "/", "../", "/..", "%2e/", "a.", "@", "0", "[", "\u00fc", "\u00fc.", "xn--", "\t", " ", "\ud800"],
)
def test_time_is_linear_in_the_length_of_hostile_text(shape: str, piece: str) -> None:
    text = shape.format(piece * (200_000 // len(piece)))
    started = time.process_time()
    urls.join("http://h.example/a/b/c", text)
    urls.is_http(text)
    assert time.process_time() - started < 10


def test_no_error_message_repeats_a_long_text_in_full() -> None:
    with pytest.raises(InvalidURL) as caught:
        urls.normalise("x" * 100_000)
    assert len(str(caught.value)) < 1_000


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


@pytest.mark.parametrize(
    "text", ["postgresql:me:pw@h/x", "postgres:me:p@w@h/x", "https:me:pw@h.example/", "HTTP:me:pw@h.example/"]
)
def test_a_password_in_a_url_without_slashes_is_concealed_too(text: str) -> None:
    shown = without_userinfo(f"see {text}, and http://h.example:80/a")
    assert "pw" not in shown
    assert "p@w" not in shown
    assert shown.endswith(", and http://h.example:80/a")
    assert "***@h" in shown
