"""Drop-in replacements for other packages that read a robots.txt, without their fetching: `comity.compat` adds that."""

from comity_robots.errors import ComityError, InvalidURL
from comity_robots.robots import Robots


def allowed(robots: Robots, text: str, agent: str) -> bool:
    """As `robots.allowed`; the packages replaced here answer questions about text that is neither a URL nor a path,
    too: it counts as a path without its first slash, so that programs that ask them go on.
    """
    try:
        return robots.allowed(text, agent)
    except InvalidURL:
        return robots.allowed(f"/{text}", agent)


class NeedsNetwork(ComityError, NotImplementedError):
    """A method that fetches was called where no network is used."""

    def __init__(self, method: str, module: str) -> None:
        hint = f"pip install comity, and import it from comity.compat.{module}, which fetches politely"
        super().__init__(f"{method} needs the network, which comity_robots does not use", hint=hint)
