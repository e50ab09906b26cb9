"""The base of all commands: complete help that ends with examples."""

import inspect
from collections.abc import Sequence
from typing import Any

import click


class _Explained(click.Command):
    """A command whose help ends with examples: command lines that work as they stand."""

    def __init__(self, *arguments: Any, examples: Sequence[str] = (), **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.examples = tuple(examples)
        # Lists of commands have the first paragraph; click would cut it to what fits in a line.
        paragraph, _, _ = inspect.cleandoc(self.help or "").partition("\n\n")
        self.short_help = " ".join(paragraph.split())

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples as they are: they are there to be copied."""
        if self.examples:
            with formatter.section("Examples"):
                indentation = " " * formatter.current_indent
                for example in self.examples:
                    for line in example.splitlines():
                        formatter.write(f"{indentation}{line}\n")
        super().format_epilog(ctx, formatter)


class Command(_Explained):
    """A command without others below it."""


class Group(_Explained, click.Group):
    """A command with others below it, which its help lists in the order of their registration."""

    command_class = Command

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names in the order of their registration."""
        return list(self.commands)
