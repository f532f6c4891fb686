"""Answers questions about robots.txt files with a Python parser: a line of JSON in, a line of JSON out.

usage: robots_peer.py NAME, for any Python from 3.6 on.
"""

import base64
import json
import sys
import time


def stdlib(text, body):
    from urllib.robotparser import RobotFileParser

    parser = RobotFileParser()
    parser.parse(text.splitlines())
    return lambda agent, url: parser.can_fetch(agent, url)


def protego(text, body):
    from protego import Protego

    parsed = Protego.parse(text)
    return lambda agent, url: parsed.can_fetch(url, agent)


def robotspy(text, body):
    from robots import RobotsParser

    parsed = RobotsParser.from_string(text)
    return lambda agent, url: parsed.can_fetch(agent, url)


def google(text, body):
    from robotstxt import RobotsMatcher

    matcher = RobotsMatcher()
    return lambda agent, url: matcher.is_allowed(text, agent, url)


def reppy(text, body):
    from reppy.robots import Robots

    parsed = {}  # it belongs to an origin

    def ask(agent, url):
        own = Robots.robots_url(url)
        if own not in parsed:
            parsed[own] = Robots.parse(own, text)
        return parsed[own].allowed(url, agent)

    return ask


def comity(text, body):
    import comity

    parsed = comity.parse(body)
    return lambda agent, url: parsed.allowed(url, agent)


def comity_google(text, body):
    import comity

    parsed = comity.parse(body, dialect="google")
    return lambda agent, url: parsed.allowed(url, agent)


def main(name):
    read = globals()[name]
    read("User-agent: *\n", b"User-agent: *\n")("a", "https://example.com/")  # what is imported late is there
    for line in sys.stdin:
        asked = json.loads(line)
        body = base64.b64decode(asked["body"])
        began = time.perf_counter()
        try:
            ask = read(body.decode("utf-8", "replace"), body)
        except Exception:
            ask = None
        answers = []
        for agent, url in asked["cases"]:
            try:
                answers.append(int(ask(agent, url)))
            except Exception:
                answers.append(-1)
        print(json.dumps({"answers": answers, "seconds": time.perf_counter() - began}), flush=True)


main(sys.argv[1])
