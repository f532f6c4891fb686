"""The workbench in a real browser, used as people use it."""

import json
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from pages import check_for_all
from sites import Site

HOSTILE = "User-agent: *\nDisallow: /<img src=x onerror=alert(1)>\nDisallow: /</script><script>alert(2)</script>\n"
EXAMPLE = (
    "User-agent: *\nDisallow: /search\nAllow: /search/about\nDisallow: /*.pdf$\nCrawl-delay: 2\n\n"
    "User-agent: GPTBot\nUser-agent: ClaudeBot\nDisallow: /blog/\n"
)
ASKED = {"agents": "Googlebot\nGPTBot\nMyBot", "urls": "/\n/blog/lamps\n/search/about", "tests": "GPTBot not /blog/"}
FILL = "([id, text]) => { const e = document.getElementById(id); e.value = text; e.dispatchEvent(new Event('input')) }"


@pytest.fixture
def tab(page: Any, chromium: Any) -> Iterator[Any]:
    """The workbench in a tab; what the browser complains of fails the test."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    opened = context.new_page()
    wrong: list[str] = []
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    begun(opened, page.url)
    write(opened, EXAMPLE)
    for name, text in ASKED.items():
        opened.evaluate(FILL, [name, text])
    see(opened, "urls")
    cell(opened, "GPTBot", "/blog/lamps").wait_for()
    yield opened
    context.close()
    assert not wrong


def begun(tab: Any, url: str) -> None:
    tab.goto(url)
    tab.wait_for_selector("html[data-ready]")


def see(tab: Any, name: str) -> None:
    tab.locator(f"#tab-{name}").click()


def write(tab: Any, text: str) -> None:
    tab.evaluate("text => { document.querySelector('robots-editor').value = text }", text)


def cell(tab: Any, agent: str, url: str) -> Any:
    return tab.locator(f"#matrix button[aria-label^={json.dumps(f'{agent}, {url}: ', ensure_ascii=False)}]")


def test_it_answers_as_one_types_and_says_which_line_decides(tab: Any) -> None:
    write(tab, "")
    tab.locator("robots-editor .cm-content").click()
    tab.keyboard.type("User-agent: GPTBot\nDisallow: /blog\nAllow: /blog/lamps")
    cell(tab, "GPTBot", "/blog/lamps").click()
    tab.wait_for_selector("#why >> text=GPTBot may fetch /blog/lamps")  # not before all is typed
    assert "line 3" in tab.inner_text("#why")
    tab.get_by_role("button", name="show").click()  # the line can be changed at once
    tab.keyboard.press("End")
    tab.keyboard.type("es")
    tab.wait_for_selector("#why >> text=GPTBot may not fetch /blog/lamps")
    for _ in "es":
        tab.keyboard.press("Backspace")
    tab.wait_for_selector("#why >> text=GPTBot may fetch /blog/lamps")
    assert "Disallow: /blog lost" in tab.inner_text("#why")
    assert tab.locator("robots-editor .deciding").inner_text() == "Allow: /blog/lamps"


@pytest.mark.long
def test_a_cell_that_is_chosen_while_an_answer_is_on_its_way_stays_the_one_that_is_explained(tab: Any) -> None:
    write(tab, "User-agent: GPTBot\nDisallow: /blog")
    tab.wait_for_selector("#matrix button[aria-label='GPTBot, /blog/lamps: disallowed']")
    held: list[Any] = []
    tab.route("**/api/check", lambda route: held.append(route))
    with tab.expect_request("**/api/check"):
        write(tab, "User-agent: GPTBot\nDisallow: /blog\nAllow: /blog/lamps")
    with tab.expect_response("**/api/explain"):
        cell(tab, "GPTBot", "/blog/lamps").click()
    held[0].continue_()
    tab.wait_for_selector("#why >> text=GPTBot may fetch /blog/lamps")


@pytest.mark.long
def test_what_was_explained_of_an_older_file_does_not_replace_the_answer_to_the_newer_one(tab: Any) -> None:
    write(tab, "User-agent: GPTBot\nDisallow: /blog")
    tab.wait_for_selector("#matrix button[aria-label='GPTBot, /blog/lamps: disallowed']")
    check: list[Any] = []
    explain: list[Any] = []
    tab.route("**/api/check", lambda route: check.append(route))
    tab.route("**/api/explain", lambda route: route.continue_() if explain else explain.append(route))
    with tab.expect_request("**/api/check"):
        write(tab, "User-agent: GPTBot\nDisallow: /blog\nAllow: /blog/lamps")
    with tab.expect_request("**/api/explain"):
        cell(tab, "GPTBot", "/blog/lamps").click()
    check[0].continue_()
    tab.wait_for_selector("#why >> text=GPTBot may fetch /blog/lamps")
    with tab.expect_response("**/api/explain"):
        explain[0].continue_()
    tab.wait_for_timeout(50)  # no sign says that an answer was not shown
    assert "GPTBot may fetch /blog/lamps" in tab.inner_text("#why")


@pytest.mark.long
def test_what_is_no_url_has_nothing_explained(tab: Any) -> None:
    tab.fill("#urls", "http://[::1/x")
    tab.wait_for_selector("#matrix >> text=not a URL")
    tab.wait_for_function("document.getElementById('why').textContent === ''")


@pytest.mark.long
def test_a_cell_is_chosen_though_it_is_drawn_anew_while_it_is_pressed(tab: Any) -> None:
    write(tab, "User-agent: GPTBot\nDisallow: /blog")
    cell(tab, "GPTBot", "/blog/lamps").hover()
    tab.mouse.down()
    write(tab, "User-agent: GPTBot\nDisallow: /blog\nAllow: /blog/lamps")
    tab.wait_for_selector("#matrix button[aria-label='GPTBot, /blog/lamps: allowed']")
    tab.mouse.up()
    tab.wait_for_selector("#why >> text=line 3")
    assert tab.evaluate("document.activeElement.getAttribute('aria-label')") == "GPTBot, /blog/lamps: allowed"


@pytest.mark.parametrize("page_file", ["", "dashboard.html", "api.html"])
def test_a_page_that_cannot_begin_says_so(page: Any, chromium: Any, page_file: str) -> None:
    opened = chromium.new_page()
    opened.route("**/api/**", lambda route: route.fulfill(status=500, body="no JSON"))
    opened.goto(f"{page.url}/{page_file}")
    opened.wait_for_selector("#error:not(:empty)")
    opened.close()


def test_it_can_be_used_by_keys_alone(tab: Any) -> None:
    cell(tab, "GPTBot", "/blog/lamps").focus()
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#why >> text=GPTBot may not fetch /blog/lamps")
    assert cell(tab, "GPTBot", "/blog/lamps").get_attribute("aria-pressed") == "true"
    assert tab.evaluate("document.activeElement.getAttribute('aria-label')").startswith("GPTBot, /blog/lamps")


def test_a_finding_is_mended_by_one_click_and_the_change_is_told_by_meaning(tab: Any) -> None:
    see(tab, "findings")
    write(tab, "User-agent: GPTBot\nDisalow: /blog\n")
    tab.get_by_role("button", name="Fix line 2").click()
    tab.wait_for_selector("#counts >> text=none")
    assert tab.evaluate("document.querySelector('robots-editor').value") == "User-agent: GPTBot\nDisallow: /blog\n"
    see(tab, "changes")
    tab.locator("#keep").click()
    write(tab, "User-agent: GPTBot\nDisallow: /blog\nDisallow: /shop\n")
    tab.wait_for_selector("#changes >> text=GPTBot loses /shop")


@pytest.mark.long
def test_a_use_that_is_stated_otherwise_is_named(tab: Any) -> None:
    before = "User-agent: *\nContent-Signal: search=yes, ai-train=yes\nUser-agent: GPTBot\nCrawl-delay: 2\n"
    write(tab, before)
    see(tab, "changes")
    tab.locator("#keep").click()
    write(
        tab,
        before.replace("ai-train=yes", "ai-train=no\nContent-Usage: /blog train-ai=n").replace("delay: 2", "delay: 3"),
    )
    tab.wait_for_selector("#changes >> text=everybody else: train-ai: allowed → disallowed (Content-Signal)")
    said = tab.inner_text("#changes")
    assert "train-ai on /blog: not stated → disallowed (Content-Usage)" in said
    assert "GPTBot: Crawl-delay 2 → 3" in said
    assert "search" not in said
    write(tab, before.replace("search=yes, ", "") + "License: https://e.example/rsl.xml\n")
    tab.wait_for_selector("#changes >> text=everybody else: search: allowed → not stated (Content-Signal)")
    assert "+ https://e.example/rsl.xml" in tab.inner_text("#changes")


def test_tests_go_red_and_say_why(tab: Any) -> None:
    see(tab, "tests")
    tab.fill("#tests", "GPTBot yes /blog/a\nGooglebot yes /\nBing yes /")
    tab.wait_for_selector("#results >> text=did you mean bingbot?")
    assert "1 of 3 fail" in tab.inner_text("#test-count")
    assert "line 9" in tab.inner_text("#results")
    assert not tab.inner_text("#names")
    see(tab, "urls")
    tab.fill("#agents", "GPTBot\nBing")
    tab.wait_for_selector("#names >> text=no group or known crawler is called Bing; did you mean bingbot?")


def test_a_link_holds_all_that_was_asked(tab: Any, page: Any) -> None:
    write(tab, "User-agent: *\nDisallow: /灯台/\nDisallow: /Grüße\n")
    tab.fill("#agents", "Bot")
    tab.fill("#urls", "/灯台/一\n/Grüße")
    tab.locator("#share").click()
    tab.wait_for_selector("#said.on >> text=link")  # "Link copied", or where it is instead
    link = tab.url
    tab.goto("about:blank")
    begun(tab, link)
    see(tab, "urls")
    assert [cell(tab, "Bot", url).inner_text() for url in ("/灯台/一", "/Grüße")] == ["✗ l. 2", "✗ l. 3"]
    see(tab, "changes")
    tab.wait_for_selector("#changes li")  # what it was compared with is in it


@pytest.mark.long
def test_a_link_that_is_opened_in_the_same_tab_is_read(tab: Any) -> None:
    write(tab, "User-agent: *\nDisallow: /one\n")
    tab.fill("#urls", "/one")
    tab.locator("#share").click()
    tab.wait_for_selector("#said.on >> text=link")
    link = tab.url
    tab.fill("#urls", "/two")
    tab.evaluate("location.hash = ''")
    tab.evaluate("link => { location.href = link }", link)
    tab.wait_for_selector("#matrix th >> text=/one")


@pytest.mark.long
def test_a_fix_is_not_written_into_a_line_that_has_moved(tab: Any) -> None:
    write(tab, "User-agent: *\nDisalow: /keep\n")
    tab.wait_for_selector("#findings button[aria-label^=Fix]", state="attached")
    tab.evaluate(
        "() => { const e = document.querySelector('robots-editor'); e.value = '# note\\n' + e.value;"
        " document.querySelector('#findings button[aria-label^=Fix]').click() }"
    )
    assert tab.evaluate("document.querySelector('robots-editor').value") == "# note\nUser-agent: *\nDisalow: /keep\n"


@pytest.mark.long
def test_characters_that_turn_the_writing_are_shown(tab: Any) -> None:
    tab.fill("#urls", "/\u202ecod")
    tab.wait_for_selector("#matrix th >> text=/\\u202ecod")


def test_what_a_site_wrote_is_never_markup(tab: Any) -> None:
    asked = []
    tab.on("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    write(tab, HOSTILE)
    tab.fill("#agents", "<img src=x onerror=alert(3)>")
    tab.fill("#urls", "/<img src=x onerror=alert(1)>")
    see(tab, "tests")
    tab.fill("#tests", "<b>Bot</b> not /<i>a</i>")
    tab.wait_for_selector("#results >> text=<b>Bot</b>")
    tab.wait_for_selector("#why >> text=may not fetch")
    assert not asked
    assert tab.locator("main img, main b, main i, main script").count() == 0


@pytest.mark.long
def test_a_file_that_is_not_utf_8_is_opened_with_a_word_about_its_bytes(tab: Any, tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes(b"# \xe9tudes\nUser-agent: *\nDisallow:\n")
    tab.set_input_files("#open", tmp_path / "latin.txt")
    tab.wait_for_selector("#fetched >> text=latin.txt (bytes that are not UTF-8 are shown and saved as \ufffd)")


@pytest.mark.long
def test_a_file_that_is_dropped_or_opened_is_read(tab: Any, tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_text("User-agent: Opened\nDisallow: /opened\n")
    tab.set_input_files("#open", tmp_path / "robots.txt")
    tab.fill("#agents", "Opened")
    tab.fill("#urls", "/opened/1")
    tab.wait_for_selector("#why >> text=Opened may not fetch /opened/1")
    with tab.expect_download() as saving:
        tab.locator("#save").click()
    assert saving.value.suggested_filename == "robots.txt"
    assert Path(saving.value.path()).read_text().startswith("User-agent: Opened")


def test_nothing_of_the_example_is_left_once_a_real_file_is_pasted(tab: Any) -> None:
    tab.locator("#example").click()
    tab.wait_for_selector("#matrix th >> text=/manual.pdf")
    paste = """text => { const data = new DataTransfer(); data.setData('text', text);
        const event = new ClipboardEvent('paste', { clipboardData: data, cancelable: true });
        document.getElementById('site').dispatchEvent(event) }"""
    tab.evaluate(paste, "User-agent: *\nDisallow: /cart\n")
    tab.wait_for_selector("#matrix th >> text=/manual.pdf", state="detached")
    assert (tab.input_value("#tests"), tab.input_value("#urls")) == ("", "/")
    tab.fill("#site", "/cart/1")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#why >> text=may not fetch /cart/1")
    see(tab, "changes")
    tab.wait_for_selector("#changes >> text=Both mean the same")


@pytest.mark.long
def test_the_sitemaps_that_the_file_names_say_what_may_not_be_fetched_of_them(tab: Any, site: Site) -> None:
    locs = "".join(f"<url><loc>{site.url(path)}</loc></url>" for path in ("/a", "/no/1", "/no/2"))
    site.set("/pages.xml", f"<urlset>{locs}</urlset>", content_type="application/xml")
    names = "".join(f"<sitemap><loc>{site.url(path)}</loc></sitemap>" for path in ("/pages.xml", "/lost.xml"))
    site.set("/index.xml", f"<sitemapindex>{names}</sitemapindex>", content_type="application/xml")
    text = f"User-agent: *\nDisallow: /no\nSitemap: {site.url('/index.xml')}\n"
    write(tab, text)
    tab.fill("#agents", "GPTBot")
    tab.locator("#read-sitemaps").click()
    tab.wait_for_selector("#sitemaps >> text=/lost.xml")
    assert "2 more sitemaps" in tab.inner_text("#sitemaps")
    assert "HTTP status 404" in tab.inner_text("#sitemaps")
    tab.locator("#sitemaps summary", has_text="GPTBot may not fetch 2 of them").click()
    assert f"{site.url('/no/2')}\nline 2" in tab.inner_text("#sitemaps details")
    assert sorted(site.paths()) == ["/index.xml", "/lost.xml", "/pages.xml", "/robots.txt"], "no page is fetched"
    write(tab, text.replace("/no", "/nothing"))
    tab.wait_for_selector("#sitemaps-said >> text=before the change")


def test_a_switch_edits_the_file_in_the_fewest_lines_and_the_work_survives_a_reload(tab: Any) -> None:
    see(tab, "bots")
    write(tab, "User-agent: GPTBot\nDisallow: /\n\nUser-agent: *\nDisallow: /x\n")
    tab.wait_for_selector("#bots [role=switch][aria-label=GPTBot][aria-checked=false]")
    tab.evaluate("document.getElementById('keep').click()")
    tab.get_by_role("switch", name="ClaudeBot").click()
    tab.wait_for_selector("#bots [role=switch][aria-label=ClaudeBot][aria-checked=false]")
    assert tab.evaluate("document.querySelector('robots-editor').value").startswith(
        "User-agent: GPTBot\nUser-agent: ClaudeBot\nDisallow: /\n"
    )
    see(tab, "changes")
    tab.wait_for_selector("#changes >> text=ClaudeBot loses /")
    for name, text in (
        ("tests", "ClaudeBot not /"),
        ("urls", "/\n/y"),
    ):  # at once: not only what the file's change saved
        tab.evaluate(FILL, [name, text])
    see(tab, "urls")
    cell(tab, "MyBot", "/y").click()
    see(tab, "tests")
    tab.reload()
    tab.wait_for_selector("html[data-ready]")
    tab.wait_for_selector("#results >> text=ClaudeBot not /")
    assert "MyBot may fetch /y" in tab.inner_text("#why")
    see(tab, "changes")
    assert tab.inner_text("#against") == "the file as it was"
    see(tab, "bots")
    tab.wait_for_selector("#bots [role=switch][aria-label=ClaudeBot][aria-checked=false]")


@pytest.mark.long
def test_what_may_come_next_stands_beside_the_answer_and_all_of_it_is_one_page(tab: Any, tmp_path: Path) -> None:
    text = "User-agent: bingbot\r\nDisallow: /\r\nUser-agent: *\r\nDisallow: /<b>x\r\n"
    (tmp_path / "robots.txt").write_bytes(text.encode())
    tab.set_input_files("#open", tmp_path / "robots.txt")
    tab.fill("#agents", "Bingbot")
    tab.fill("#urls", "/blog/2024")
    tab.get_by_role("button", name="Let Bingbot in").click()
    tab.get_by_role("button", name="Block /blog/2024 for all").click()
    tab.wait_for_selector("#why >> text=Bingbot may not fetch /blog/2024")
    see(tab, "changes")
    tab.wait_for_selector("#changes >> text=everybody else loses /blog/2024")
    with tab.expect_download() as saving:
        tab.locator("#save").click()
    saved = Path(saving.value.path()).read_bytes()
    assert saved.count(b"\r\n") == saved.count(b"\n") == 5, "line ends stay as they were"
    with tab.expect_download() as saving:
        tab.locator("#freeze").click()
    saving.value.save_as(tmp_path / "page.html")
    asked: list[str] = []
    frozen = tab.context.new_page()
    frozen.on("request", lambda request: asked.append(request.url))
    frozen.goto((tmp_path / "page.html").as_uri())
    assert "everybody else loses /blog/2024" in frozen.inner_text("main")
    assert "Disallow: /<b>x" in frozen.inner_text("pre")
    assert frozen.locator("button, script, b").count() == 0
    check_for_all(frozen)
    assert len(asked) == 1, "it asks nothing of any server"


@pytest.mark.long
def test_nobody_is_left_out(tab: Any, page: Any) -> None:
    for path in ("/", "/api.html", "/lint.html"):
        tab.goto(f"{page.url}{path}")
        tab.wait_for_load_state("networkidle")
        for name in ("bots", "urls", "findings", "changes", "tests") if path == "/" else ("",):
            if name:
                see(tab, name)
            check_for_all(tab)


WATCH = """() => {
  window.judged = []; window.shown = [];
  let key = 0;
  document.addEventListener("keydown", ({ timeStamp }) => {
    key = timeStamp;
    requestAnimationFrame(() => setTimeout(() => shown.push(performance.now() - timeStamp)));
  }, true);
  new MutationObserver(() => {
    const began = key;
    key = 0;
    if (began) requestAnimationFrame(() => judged.push(performance.now() - began));
  }).observe(document.getElementById("matrix"), { childList: true });
}"""
"""Milliseconds from a key to the end of the frame that shows it, and to the one with its verdicts."""


@pytest.mark.long
def test_a_file_of_five_hundred_kilobytes_is_judged_while_one_types(tab: Any) -> None:
    """The figures are printed (-s); what is asserted is only that each key has an answer of its own."""
    text = "".join(f"User-agent: bot{n}\nDisallow: /a{n}/\nAllow: /a{n}/b*c$\n\n" for n in range(8600))
    assert 490_000 < len(text) < 512_000
    write(tab, text)
    tab.fill("#agents", "bot7\nGPTBot")
    tab.fill("#urls", f"/a7/{'z' * 20}")
    cell(tab, "bot7", f"/a7/{'z' * 20}").wait_for()
    tab.evaluate("document.querySelector('robots-editor').show(30)")  # Disallow: /a7/
    tab.keyboard.press("End")
    tab.evaluate(WATCH)
    for number in range(20):
        tab.keyboard.press("z")
        tab.wait_for_selector(f'#matrix button[title*="Disallow: /a7/{"z" * (number + 1)}\'"]')
        tab.wait_for_timeout(100)
    judged, shown = tab.evaluate("[judged, shown]")
    assert len(judged) == len(shown) == 20
    for what, took in (("shown", shown), ("judged", judged)):
        print(f"{len(text) // 1000} KB, {what}: {median(took):.0f} ms after a key, nine in ten {sorted(took)[17]:.0f}")
