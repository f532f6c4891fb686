"""`comity completion`: what completes commands and options in a shell."""

from pathlib import Path
from typing import Final

import click

from comity.cli.exits import Exit
from comity.cli.options import argument, command, option
from comity.cli.terminal import print_err, print_out
from comity.files import write_where_named
from comity.frontier.durable import writing_to

_FILES: Final = {
    "bash": "~/.local/share/bash-completion/completions/comity",
    "zsh": "~/.zfunc/_comity",
    "fish": "~/.config/fish/completions/comity.fish",
}
_MORE: Final = {"zsh": "; in ~/.zshrc there must be: fpath+=~/.zfunc; autoload -Uz compinit; compinit"}


@command("Set up and serve")
@argument("shell", "bash|zsh|fish", type=click.Choice(tuple(_FILES)))
@option("--install", None, "Write it where the shell looks for it.")
def completion(shell: str, install: bool) -> Exit:
    """Print or install completion for bash, zsh or fish.

    It completes commands, options and their values. To try it: eval "$(comity completion bash)".
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(click.get_current_context().find_root().command, {}, "comity", "_COMITY_COMPLETE").source()
    if not install:
        print(script)
        return Exit.DONE
    file = Path(_FILES[shell]).expanduser()
    with writing_to(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_where_named(file, script.encode("utf-8"))
    print_out(f"written to {file}")
    print_err(f"open a new shell{_MORE.get(shell, '')}")
    return Exit.DONE
