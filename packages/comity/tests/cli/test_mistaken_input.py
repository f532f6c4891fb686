"""An input that is not what it was taken for, or an option without effect, is said; nothing is answered in silence."""

import socket
from pathlib import Path

import pytest
from commands import comity, complaint


@pytest.mark.parametrize(
    "words",
    [
        ("serve", "--port", "{}"),
        ("mcp", "--http", "127.0.0.1:{}"),
        ("crawl", "http://127.0.0.1:9/", "-o", "out", "--metrics", "{}"),
        ("crawl", "http://127.0.0.1:9/", "-o", "out", "--dashboard", "{}"),
    ],
)
def test_a_port_in_use_has_the_same_exit_code_everywhere(words: tuple[str, ...], tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        answer = comity(*(word.format(port) for word in words), cwd=tmp_path)
    assert answer.returncode == 64
    assert f"{port} cannot be listened on" in complaint(answer)
    assert "choose another port" in complaint(answer)
    assert list(tmp_path.iterdir()) == []
