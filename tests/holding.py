"""What a pathological text does to whoever reads it: it holds the interpreter for longer than anybody waits."""

import ctypes
import os


def hold(*_: object) -> None:
    if os.name == "nt":
        ctypes.PyDLL("kernel32").Sleep(600_000)
    else:
        ctypes.PyDLL(None).sleep(600)  # with the interpreter's lock


def hold_text(text: str) -> None:
    hold(text)
