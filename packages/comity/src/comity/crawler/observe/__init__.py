"""How a crawl is doing: counts, snapshots, metrics, traces, webhooks."""
