"""`python -m comity` is the `comity` command."""

from comity.cli import main

main()
