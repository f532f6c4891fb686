"""comity inside other libraries' clients: httpx, requests, aiohttp, Scrapy, Playwright."""
