"""Floor 1: everything else a site says: headers, metas, usage preferences, llms.txt, sitemaps. Pure."""
