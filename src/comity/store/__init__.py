"""Floor 3: durable state behind small protocols."""
