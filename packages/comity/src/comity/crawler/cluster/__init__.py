"""A crawl on several processes: the one that starts them, the workers, and the shards that they work."""
