"""What reading a sitemap gives, whatever arrives."""

from comity.signals.sitemaps import SitemapReader, SitemapRef, SitemapUrl, read


def test_a_urlset_gives_its_urls_in_order() -> None:
    body = b"<urlset><url><loc> http://h/a?x=1&amp;y=2 </loc></url><url><loc>http://h/b</loc></url></urlset>"
    assert list(read(body, "http://h/sitemap.xml")) == [SitemapUrl("http://h/a?x=1&y=2"), SitemapUrl("http://h/b")]


def test_an_index_gives_its_sitemaps() -> None:
    body = b"<sitemapindex><sitemap><loc>http://h/1.xml.gz</loc></sitemap></sitemapindex>"
    reader = SitemapReader("http://h/index.xml")
    assert [*reader.feed(body), *reader.close()] == [SitemapRef("http://h/1.xml.gz")]
    assert reader.kind == "sitemapindex"
