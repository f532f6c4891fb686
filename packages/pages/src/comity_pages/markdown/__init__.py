"""A page's tree as Markdown."""
