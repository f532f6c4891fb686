"""Floor 6: a small web site on loopback, to crawl without bothering anybody."""
