"""The command. Each subcommand is a module; what it does is a library call."""

from comity.cli.app import main

__all__ = ["main"]
