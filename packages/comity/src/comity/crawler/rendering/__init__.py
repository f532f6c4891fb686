"""A headless browser without a network, and the requests of a page in it."""
