"""The frontier: every URL the crawl knows, and what became of it. Durable, whatever happens to the process."""
