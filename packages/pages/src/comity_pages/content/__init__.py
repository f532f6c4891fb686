"""What of a page is its content: blocks, what is measured of them, and the fitted trees that decide."""
