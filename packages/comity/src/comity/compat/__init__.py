"""Drop-in replacements for other packages that read a robots.txt."""

from comity.errors import InvalidURL
from comity_robots import Robots


def allowed(robots: Robots, text: str, agent: str) -> bool:
    """As `robots.allowed`; the packages replaced here answer questions about text that is neither a URL nor a path,
    too: it counts as a path without its first slash, so that programs that ask them go on.
    """
    try:
        return robots.allowed(text, agent)
    except InvalidURL:
        return robots.allowed(f"/{text}", agent)
