"""Floor 2: our settings and what the site says -> one Decision. Pure."""
