"""What was met lately: which URLs a crawl need not ask its frontier about."""

from comity.crawler.finding.recently_seen import RecentlySeen


def test_the_urls_met_last_are_remembered_whatever_their_hashes() -> None:
    met = RecentlySeen(1000)
    urls = [f"http://a.example/{number}" for number in range(1000)]
    assert not any(met.meet(url) for url in urls)
    assert met.unmet(urls) == []
    assert all(met.meet(url) for url in urls)


def test_the_oldest_leave_one_by_one_and_no_more_than_asked_for_are_kept() -> None:
    met = RecentlySeen(3)
    for number in range(10):
        met.meet(str(number))
        assert len(met.unmet(map(str, range(10)))) == 10 - min(number + 1, 3)
    assert met.unmet(map(str, range(10))) == list("0123456")


def test_a_url_that_was_forgotten_is_unmet_until_it_is_met_again() -> None:
    met = RecentlySeen(3)
    for url in "ab":
        met.meet(url)
    met.forget("a")
    met.forget("not found")
    assert met.unmet("ab") == ["a"]
    assert not met.meet("a")
    assert met.unmet("ab") == []
    for url in "cdefgh":
        met.meet(url)
    assert met.unmet("abcdefgh") == list("abcde")


def test_nothing_is_met_after_all_was_forgotten() -> None:
    met = RecentlySeen(3)
    for url in "abcd":
        met.meet(url)
    met.clear()
    assert met.unmet("abcd") == list("abcd")
    for url in "defg":
        assert not met.meet(url)
    assert met.unmet("abcdefg") == list("abcd")
