"""Text from outside, made fit to be shown to people: one line, nothing that steers a terminal, bounded."""

import unicodedata

MOST = 200  # characters


def shown(text: str, most: int = MOST) -> str:
    """A text with line ends, control characters and what turns the direction of writing escaped, and cut short.

    Marks that pile up over a letter are left out.
    """
    if len(text) > most:
        text = f"{text[: most - 3]}..."
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in unicodedata.normalize("NFC", text)
        if not unicodedata.combining(char)
    )
