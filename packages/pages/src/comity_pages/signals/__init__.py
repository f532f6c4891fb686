"""Everything else a site says: headers, metas, usage preferences, llms.txt, sitemaps. Pure."""
