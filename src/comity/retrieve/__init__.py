"""Floor 5: what an agent fetches: one URL, politely, as Markdown, with a score, warnings and evidence."""
