"""How a crawl stands, for those who look on: counted while it runs, put together when somebody asks."""
