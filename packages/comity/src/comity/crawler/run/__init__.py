"""One run of a crawl: whose turn it is, the fetch, its outcome, and the commit."""
