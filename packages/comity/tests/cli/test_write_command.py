"""`comity write`: a robots.txt from what its owner wants."""

from pathlib import Path

from commands import comity


def test_a_file_is_written_with_its_tests_and_what_it_changes_by_meaning(tmp_path: Path) -> None:
    robots = tmp_path / "robots.txt"
    done = comity("write", "--allow-search", "--block-training", "--block", "/checkout", "-o", str(robots))
    assert (done.returncode, done.stdout) == (0, "")
    assert "everybody else: may no longer fetch /checkout" in done.stderr
    assert comity("test", str(tmp_path / "robots.expectations"), "--robots", str(robots)).returncode == 0
    before = robots.read_text()
    again = comity("write", "--allow-training", "-o", str(robots))
    assert (again.returncode, robots.read_text() == before) == (64, True)  # no file is lost
    done = comity("write", "--allow-agent", "CCBot", "--from", str(robots))
    assert done.stdout == before.replace("User-agent: CCBot\n", "")
    assert "CCBot: may now fetch" in done.stderr


def test_a_wish_that_is_none_is_refused() -> None:
    assert "nothing is wished for" in comity("write").stderr
    assert "both name CCBot" in comity("write", "--allow-agent", "CCBot", "--block-agent", "CCBot").stderr
