"""A crawl at a place, a folder or a store: what is written there, how it stands, orders to it."""
