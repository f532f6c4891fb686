# ruff: noqa: E501, ISC004 (pages as they are)
"""What is no page is named as what it is and never handed over as content; what is one, is never taken for less."""

import json
from pathlib import Path

import pytest
from commands import ALLOW, comity
from sites import Site
from test_retrieve import got

from comity_pages.extraction import read

URL = "https://example.com/dir/page"
SENTENCE = "The lamp burns at night, and by day it is put out by the keeper of the house. "
STORY = "<p>" + SENTENCE * 12

WALLS = {
    "login_wall": "<title>Log in | Example</title><h1>Log in</h1><form>Name <input> Password"
    '<input type="password"><button>Log in</button></form>',
    "consent_wall": "<title>Example</title><div><h1>We value your privacy</h1><p>We and our partners use cookies to"
    " store personal data. You can accept or reject all cookies.</p><button>Accept all cookies</button></div>",
    "javascript_shell": "<title>App</title><noscript>You need to enable JavaScript to run this app.</noscript>"
    '<div id="root"></div><script src="/app.js"></script>',
    "challenge": "<title>Just a moment...</title><h1>example.com</h1><p>Verify you are human by completing the action"
    " below.</p><script>window._cf_chl_opt={}</script>",
    "not_found": "<title>Page not found - Example</title><nav>Home</nav><h1>Oops!</h1><p>That page can’t be found. Try"
    " a search?</p>",
    "empty": "<title>Example</title>",
}


# covers: W14
@pytest.mark.parametrize("kind", WALLS)
def test_what_is_no_page_is_named_and_has_no_markdown(kind: str) -> None:
    page = read(WALLS[kind], URL)
    assert page.judgement.kind == kind
    assert page.judgement.reason
    assert page.markdown == ""


@pytest.mark.parametrize("kind", WALLS)
def test_who_asks_for_all_gets_what_a_person_would_see(kind: str) -> None:
    page = read(WALLS[kind], URL, content="all")
    assert page.judgement.kind == kind
    assert bool(page.markdown) == (kind != "empty")


@pytest.mark.parametrize(
    "html",
    [
        f"<title>Log in to your life</title>{STORY}",
        f"<title>404 ways to burn a lamp</title>{STORY}",
        f"<title>Cookies</title><h1>Cookies</h1>{STORY}",
        f'<title>T</title><h1>T</h1>{STORY}<form>Log in <input type="password"></form>',
        f"<title>T</title><noscript>Please enable JavaScript.</noscript>{STORY}<script>x</script>",
        "<title>T</title><p>Short, but all there is.<script>count()</script>",
        '<title>T</title><img src="/i.png">',
    ],
)
def test_a_page_is_a_page(html: str) -> None:
    page = read(html, URL)
    assert page.judgement.kind == "page"
    assert page.markdown


def test_a_page_that_is_there_for_who_runs_no_scripts_is_read() -> None:
    page = read(f"<title>T</title><div id=app></div><noscript><h1>Lamps</h1>{STORY}</noscript><script>x</script>", URL)
    assert page.judgement.kind == "page"
    assert page.markdown.startswith("# Lamps\n\nThe lamp burns")


# covers: W13, W14
def test_the_result_and_the_command_say_that_it_is_no_page(site: Site) -> None:
    site.set("/wall", WALLS["login_wall"])
    result = got(site.url("/wall"), strategy="disabled")
    assert (result.kind, result.markdown) == ("login_wall", "")
    assert "log in" in result.reason.lower()
    assert "not_a_page" in [reason.name for reason in result.quality.reasons]
    answer = comity("fetch", site.url("/wall"), *ALLOW, "-A", "MyBot/1.0", "--strategy", "disabled")
    assert (answer.returncode, answer.stdout) == (1, "")
    assert "no page, but a login wall" in answer.stderr
    site.set("/empty", "<p></p>")
    answer = comity("fetch", site.url("/empty"), *ALLOW, "-A", "MyBot/1.0", "--strategy", "disabled")
    assert "an empty page: There is no text on it." in answer.stderr
    answer = comity("fetch", site.url("/wall"), *ALLOW, "-A", "MyBot/1.0", "--strategy", "disabled", "--content", "all")
    assert answer.returncode == 0
    assert "# Log in" in answer.stdout


@pytest.mark.parametrize(
    "body",
    [
        "<div id=app>Loading...</div>",
        "<app-root><p>Please wait…</app-root>",
        f"<nav>{'<a href=/>Section</a> ' * 20}</nav><main><p>Loading...</p></main>",
        (
            f"<header><p>{'Home and shop and news and more ' * 9}</header><div id=root>Wird geladen</div>"
            f"<footer><p>{'Imprint and terms and contact ' * 9}</footer>"
        ),
    ],
)
def test_an_application_that_is_being_loaded_is_a_shell(body: str) -> None:
    page = f"<!doctype html><title>App</title>{body}<script src=/app.js></script>"
    assert read(page, URL).judgement.kind == "javascript_shell"
    told = page.replace("Loading...", STORY).replace("Please wait…", STORY).replace("Wird geladen", STORY)
    assert read(told, URL).judgement.kind == "page"


FACTS = (
    "The lamp stands in the room above the harbour. It burns oil of the island and gives light for nine hours. A guest"
    " trims the wick in the evening; the keeper fills the lamp by day. Breakfast is served from seven o'clock, and the"
    " last boat leaves at six. Whoever stays for a week pays for five nights. Dogs are welcome, and the garden is open"
)


@pytest.mark.parametrize(
    "title",
    [
        "Room 404 – Hotel Lantern",
        "Highway 404",
        "Printer not found",
        "The keeper could not be found",
        "404 Not Found",
        "Lampe nicht gefunden",
        "Imprimante introuvable",
        "What is a CAPTCHA?",
        "What is a DDoS attack?",
        "Access denied errors in the lamp API",
        "Just a moment: a poem",
        "Security check of the old lamp",
        "How to sign in to the reading room",
        "So melden Sie sich an: Anmeldung und Abmeldung",
        "Cookie policy",
        "Oatmeal cookies that nobody can reject",
    ],
)
@pytest.mark.parametrize(
    "body",
    [
        f"<h1>TITLE</h1><p>{FACTS}<form action=/find><input name=q></form><script src=/count.js></script>",
        f"<div class=head>TITLE</div><div>{FACTS.replace('. ', '.<br>')}</div><p>The manta ray ID is easy; TITLE."
        "<noscript>Please enable JavaScript.</noscript><script>/cdn-cgi/challenge-platform/h/b/scripts/jsd/</script>",
        f"<main><h2><a href=#t>TITLE</a></h2><ul>{''.join(f'<li>{each}' for each in FACTS.split('. '))}</ul></main>"
        "<button>Accept cookies</button><input type=search>",
    ],
)
def test_a_short_page_is_no_wall_for_a_word_of_its_title(title: str, body: str) -> None:
    page = read(f"<title>{title}</title>{body.replace('TITLE', title)}", URL)
    assert page.judgement.kind == "page"
    assert "nine hours" in page.markdown


@pytest.mark.parametrize("name", ["Bus 404", "Peugeot 404", "Area code 404"])
def test_a_number_is_no_status_though_little_is_said_of_it(name: str) -> None:
    page = read(f"<title>{name}</title><h1>{name}</h1><p>It leaves at nine.</p>", URL)
    assert (page.judgement.kind, page.markdown) == ("page", f"# {name}\n\nIt leaves at nine.\n")


def test_a_short_policy_about_cookies_is_a_page_beside_the_banner_that_asks() -> None:
    text = "We use cookies to count visits. You can allow or reject cookies in the browser. A cookie lives for a day."
    page = f"<title>Cookie policy | Lamps</title><h1>Cookie policy</h1><p>{text}</p><div><button>Accept cookies</button></div>"
    assert read(page, URL).judgement.kind == "page"
    assert read(page.replace("Cookie policy", "Welcome"), URL).judgement.kind == "consent_wall"


@pytest.mark.parametrize(
    ("kind", "html"),
    [
        ("not_found", "<title>Lamps</title><h1>404</h1><p>Sorry, it may have been moved. Try our search or go home."),
        ("not_found", "<title>Oops! That page can’t be found.</title><h1>Oops!</h1><p>Maybe try one of the links below?"),
        ("not_found", "<title>Seite nicht gefunden - Lampen</title><p>Leider gibt es diese Seite nicht mehr."),
        ("not_found", "<title>店</title><h1>お探しのページは見つかりませんでした</h1><p>トップへ戻る"),
        ("not_found", "<title>This product is no longer available</title><p>See other lamps"),
        ("not_found", "<title>Shop</title><p>Oops! The page you are looking for can't be found.</p>"),
        ("not_found", "<title>Shop</title><div><h3>Uh oh! The page you are looking for can’t be found.</h3>Go home."),
        ("not_found", "<title>Shop</title><b>404</b><p>Sorry, this page has been moved or deleted.<a href=/>Home</a>"),
        ("not_found", "<title>Lampen</title><h1>Hoppla!</h1><p>Die gesuchte Seite ist nicht verfügbar.<input type=search>"),
        ("not_found", "<title>Tienda</title><h1>¡Ups!</h1><p>No podemos encontrar la página que buscas"),
        ("not_found", "<title>Lampes</title><h1>Oups !</h1><p>La page demandée n'existe plus"),
        ("not_found", "<title>Lampe nicht gefunden</title><p>Suchen Sie nach einer anderen Lampe: <input name=q>"),
        ("challenge", "<title>Attention Required! | Cloudflare</title><h1>Sorry, you have been blocked</h1><p>You are unable"
         f" to access example.com. {SENTENCE} Cloudflare Ray ID: 7d3a11bc9e22f0aa</p>"),
        ("challenge", "<title>Access to this page has been denied</title><p>Press &amp; hold to confirm you are human."),
        ("challenge", f"<title>Nur einen Moment…</title><p>{SENTENCE}</p><script>window._cf_chl_opt={{}}</script>"),
        ("challenge", '<title></title><iframe id="main-iframe" src="/_Incapsula_Resource?CWUDNSAI=9"></iframe><script>1</script>'),
        ("login_wall", "<title>Sign in - Lamps</title><h1>Sign in</h1><form><input type=email><button>Next</button></form>"),
        ("login_wall", "<title>Anmelden</title><form>Name <input> Kennwort <input type=password></form>"),
        ("login_wall", f"<h1>ログイン</h1><p>{SENTENCE}</p><form><input type=password></form>"),
    ],
)  # fmt: skip
def test_walls_are_known_by_two_signs_that_agree(kind: str, html: str) -> None:
    assert read(html, URL).judgement.kind == kind


@pytest.mark.parametrize(
    "html",
    [
        "<title>TITLE</title><h1>TITLE</h1><p>Python raises this when open() names no file.",
        "<title>TITLE</title><header><input type=search></header><h1>TITLE</h1><p>Check the path, then open it again.",
        "<title>TITLE | Lamps</title><main><h2>TITLE</h2><p>Switch it off and on again.</main><script src=/a.js></script>",
    ],
)
@pytest.mark.parametrize(
    "title",
    ["FileNotFoundError: file not found", "Printer not found", "Fehler: Datei nicht gefunden", "Archivo no encontrado"],
)
def test_a_few_words_about_what_is_not_found_are_a_page(title: str, html: str) -> None:
    page = read(html.replace("TITLE", title), URL)
    assert page.judgement.kind == "page"
    assert "again" in page.markdown or "open()" in page.markdown


@pytest.mark.parametrize(
    "html",
    [
        "<title>Clearing a cache</title><h1>Clearing a cache</h1><p>If the page can't be found, empty the cache.",
        "<title>Help</title><p>Lamps are sold here. If a page is not found, write to us.",
        "<title>HTTP</title><h1>Error!</h1><p>An error is a value. The page is not found where it is not.",
    ],
)
def test_a_sentence_about_a_page_that_is_not_found_is_not_the_pages_own(html: str) -> None:
    assert read(html, URL).judgement.kind == "page"


def test_a_crawl_notes_what_only_the_text_of_a_page_says(site: Site, tmp_path: Path) -> None:
    site.link("/", "/lost", "/page")
    site.set("/lost", "<title>Shop</title><p>Oops! The page you are looking for can't be found.</p>")
    site.set("/page", "<title>Shop</title><p>Lamps and oil.</p>")
    told = comity("crawl", site.url("/"), "-o", str(tmp_path / "out"), "--delay", "0", *ALLOW)
    assert "soft 404                       1" in told.stdout


ANUBIS = (
    "<!doctype html><title>Making sure you&#39;re not a bot!</title><h1>Making sure you&#39;re not a bot!</h1>"
    "<p>Loading...</p><details><summary>Why am I seeing this?</summary><p>" + SENTENCE * 7 + "</p></details>"
    '<script async type="module" src="/.within.website/x/cmd/anubis/static/js/main.mjs"></script>'
)


@pytest.mark.parametrize(
    "html",
    [
        ANUBIS,
        ANUBIS.replace("Making sure you&#39;re not a bot!", "Stelle sicher, dass du kein Bot bist!"),
        "<title>Bitte warten</title><p>Gleich.</p><meta http-equiv=refresh content='1; url="
        "/.within.website/x/cmd/anubis/api/pass-challenge?id=1'>",
        "<title>Vercel Security Checkpoint</title><p>We're verifying your browser</p>"
        '<script src="/.well-known/vercel/security/static/challenge.v2.min.js"></script>',
    ],
)
def test_a_check_that_explains_itself_is_known_by_its_own_script(html: str) -> None:
    page = read(html, URL)
    assert page.judgement.kind == "challenge"
    assert page.markdown == ""


@pytest.mark.parametrize(
    "html",
    [
        "<title>Anubis</title><p>It serves /.within.website/x/cmd/anubis/ and asks for work.<script src=/a.js></script>",
        "<title>Making sure you are not a bottleneck</title><p>" + SENTENCE * 4,
        ANUBIS.replace("</details>", "</details>" + STORY + STORY),
        f"<title>Security check</title><h1>Security check</h1><p>{SENTENCE * 2}",
        f"<title>403 Forbidden - HTTP</title><h1>403 Forbidden</h1><p>{SENTENCE}",
    ],
)
def test_what_is_written_about_a_check_is_a_page(html: str) -> None:
    assert read(html, URL).judgement.kind == "page"


@pytest.mark.parametrize("status", [200, 202])
def test_a_bot_wall_is_noted_by_fetch_and_in_the_record_of_a_crawl(site: Site, tmp_path: Path, status: int) -> None:
    site.link("/", "/walled", "/page")
    site.set("/walled", ANUBIS, status=status)
    site.set("/page", f"<title>The lamp</title>{STORY}")
    answer = comity("fetch", site.url("/walled"), *ALLOW)
    assert (answer.returncode, answer.stdout) == (1, "")
    assert "no page, but a challenge: It runs a check of the visitor (/.within.website/x/cmd/anubis/)" in answer.stderr
    for form, name in (("jsonl", "challenge"), ("markdown", "challenge"), ("markdown", "reason")):
        folder = tmp_path / f"{form}-{name}"
        told = comity("crawl", site.url("/"), "-o", str(folder), "--delay", "0", "--format", form, *ALLOW)
        assert "challenges                     1  answers that check the visitor" in told.stdout
        pages = [json.loads(line) for line in (folder / "pages.jsonl").read_text().splitlines()]
        said = {page["url"].removeprefix(site.url("")): page[name] for page in pages}
        assert said["/walled"].startswith("It runs a check of the visitor")
        assert (said["/"], said["/page"]) == (None, None)
