"""Which URLs enter a crawl: discovery, scope, canonical URLs, traps, duplicates."""
