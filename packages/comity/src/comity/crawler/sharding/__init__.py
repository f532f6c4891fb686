"""One crawl over several shards: which shard has a host, and what one sends to another."""
