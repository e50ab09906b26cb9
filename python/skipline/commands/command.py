"""The base of all commands: complete help that ends with examples."""

import inspect
from collections.abc import Sequence
from typing import Any

import click

from skipline import extras


class _Explained(click.Command):
    """A command whose help ends with examples: command lines that work as they stand.

    `extra` names what has to be installed beside Skipline itself.
    """

    def __init__(
        self,
        *arguments: Any,
        examples: Sequence[str] = (),
        extra: str | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(*arguments, **settings)
        self.examples = tuple(examples)
        self.extra = extra
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

    def invoke(self, ctx: click.Context) -> Any:
        """Refuse to begin what lacks a library; what is wrong in the command line comes first."""
        if self.extra is not None:
            extras.require(self.extra, f"`{ctx.command_path}`")
        return super().invoke(ctx)


class Group(_Explained, click.Group):
    """A command with others below it, which its help lists in the order of their registration."""

    command_class = Command

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Register a command, which needs the extra of this group unless it names its own."""
        if isinstance(cmd, _Explained) and cmd.extra is None:
            cmd.extra = self.extra
        super().add_command(cmd, name)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names in the order of their registration."""
        return list(self.commands)
