"""`skipline completion`."""

import click

from skipline.commands.command import Command
from skipline.text import terminal


@click.command(
    cls=Command,
    examples=[
        'eval "$(skipline completion bash)"',
        "skipline completion zsh > ~/.zfunc/_skipline",
        "skipline completion fish > ~/.config/fish/completions/skipline.fish",
    ],
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), help="The shell that asks.")
def completion(shell: str) -> None:
    """Print a script that makes a shell complete commands, options, names and keys.

    With the line `eval "$(skipline completion bash)"` in ~/.bashrc, each new bash has it. zsh finds
    the script as _skipline in a folder of its $fpath, fish in ~/.config/fish/completions.
    """
    from skipline.commands.shells import SHELLS

    terminal.emit(SHELLS[shell].script)
