"""What a crawl writes: the schema of its records, the ledger, the graph of links."""
