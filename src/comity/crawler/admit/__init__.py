"""How URLs come into a crawl: found, cleaned, in scope, no trap, allowed by robots.txt; each once."""
