"""python examples/with_aiohttp.py https://example.com/"""

import asyncio
import sys

import aiohttp

import comity
from comity.middleware.aiohttp import ComityMiddleware


async def main(base: str) -> None:
    middleware = ComityMiddleware(comity.Policy(agent="MyBot/1.0 (+https://example.org/bot)"))
    async with aiohttp.ClientSession(base, middlewares=(middleware,)) as session:
        for path in ("/open", "/private"):
            try:
                async with session.get(path) as response:
                    print(response.status, response.url, "-", response.comity.why)
            except comity.RobotsDisallowed as error:
                print("refused:", error.url, "-", error.decision.why)


asyncio.run(main(sys.argv[1]))
