"""Questions about text that is no URL: the packages replaced here answer them, so that programs that ask them go on."""

import comity


def allowed(robots: comity.Robots, text: str, agent: str) -> bool:
    """As `robots.allowed`; text that is neither a URL nor a path counts as a path without its first slash."""
    try:
        return robots.allowed(text, agent)
    except comity.InvalidURL:
        return robots.allowed(f"/{text}", agent)
