"""The commands that documents name, in code spans and in blocks, and whether each can be run.

A command of a document is only looked up, never run: a target in the Makefile, an example of a
crate, a program's subcommand and its options.
"""

import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_PROGRAMS = ("make", "cargo", "python", "python3", "pytest")
_TOOLS = ("skipline", "skipline-host", "skipline-dsa")
_BLOCK = re.compile(r"^(?P<fence>```+)(?P<kind>\w*)\n(?P<text>.*?)^(?P=fence)", re.M | re.S)
_SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
# In source files a command is named in a code span; spans may go over comment marks.
_NAMED_IN_CODE = re.compile(r"`((?:make|cargo) [^`]+)`")
_COMMENT_MARK = re.compile(r"\n[ \t]*(?://[/!]?|#)?[ \t]*")
_PLACEHOLDER = re.compile(r"\[?<?[A-Z][A-Z_.|\[\]=…]+>?\]?…?|…|\.\.\.")
_SHELL_BLOCKS = ("", "console", "bash", "sh", "shell")
_KIND_OF_TARGET = {"--example": "examples", "--bin": "src/bin", "--bench": "benches"}
_KIND_OF_TARGET["--test"] = "tests"
# Options of cargo that are followed by a value of which nothing has to be there.
_VALUES = {"--target", "--target-dir", "--profile", "--features", "--manifest-path", "-s", "-j"}


@dataclass
class Subcommands:
    """A command with its long options and the commands below it, by name."""

    options: set[str] = field(default_factory=set)
    below: dict[str, "Subcommands"] = field(default_factory=dict)


def in_markdown(page: str) -> Iterator[list[str]]:
    """Yield the words of each command that a page names, in blocks first."""
    for block in _BLOCK.finditer(page):
        if block["kind"] in _SHELL_BLOCKS:
            for line in block["text"].replace("\\\n", " ").splitlines():
                yield from _of_line(line.strip().removeprefix("$ "))
    for span in _SPAN.findall(_BLOCK.sub("", page)):
        yield from _of_line(" ".join(span.split()))


def in_source(text: str) -> Iterator[list[str]]:
    """Yield the words of each command that a comment or docstring names in a code span."""
    for span in _NAMED_IN_CODE.findall(_COMMENT_MARK.sub(" ", text)):
        yield from _of_line(span)


def _of_line(line: str) -> Iterator[list[str]]:
    """Yield the commands of a line of shell that begin with a program known here."""
    try:
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|;&<>()")
        lexer.whitespace_split, lexer.commenters = True, "#"
        words = [*lexer, ";"]
    except ValueError:
        return
    command: list[str] = []
    for word in words:
        if not set(word) <= set("|;&<>()"):
            command.append(word)
            continue
        while command and (re.fullmatch(r"\w+=.*", command[0]) or command[0] in ("sudo", "time")):
            del command[0]
        if command:
            command[0] = command[0].removeprefix(".venv/bin/")
            if command[0] in (*_PROGRAMS, *_TOOLS) and len(command) > 1:
                yield command
        command = []


class Repository:
    """The things in the tree that commands name: targets, packages, programs, files."""

    def __init__(self, root: Path, tools: Callable[[str], Subcommands | None]) -> None:
        """Read the Makefile and the manifests below `root`; `tools` describes a program of ours."""
        self._root = root
        self._tools = tools
        makefile = (root / "Makefile").read_text()
        self._targets = set(re.findall(r"^([a-z][\w-]*):(?!=)", makefile, re.M))
        manifests = [*root.glob("crates/**/Cargo.toml"), *root.glob("tests/*/Cargo.toml")]
        self._packages = {
            tomllib.loads(path.read_text())["package"]["name"]: path.parent for path in manifests
        }
        fuzzed = tomllib.loads((root / "fuzz" / "Cargo.toml").read_text())
        self._fuzz_targets = {target["name"] for target in fuzzed["bin"]}

    def problem(self, command: Sequence[str]) -> str | None:
        """Say what a command names that is not there; None if all of it is."""
        program, *words = command
        if program in _TOOLS:
            return self._tool_problem(program, words)
        check = {"make": self._make, "cargo": self._cargo, "pytest": self._files}
        return check.get(program, self._script)(words)

    def _make(self, words: Sequence[str]) -> str | None:
        for word in words:
            if "=" in word or word.startswith("-") or _PLACEHOLDER.fullmatch(word):
                continue
            if word not in self._targets:
                return f"target {word} is not in the Makefile"
        return None

    def _cargo(self, words: Sequence[str]) -> str | None:
        words = [word for word in words if not word.startswith("+")]
        if words[:2] == ["fuzz", "run"]:
            return self._fuzz(words[2:])
        packages: list[str] = []
        targets: list[tuple[str, str]] = []
        rest = iter(words[1:])
        for word in rest:
            if word == "--":
                break
            option, _, value = word.partition("=")
            if option in ("-p", "--package"):
                packages.append(value or next(rest, ""))
            elif option in _KIND_OF_TARGET:
                targets.append((option, value or next(rest, "")))
            elif option in _VALUES and not value:
                next(rest, "")
        named = [package for package in packages if not _PLACEHOLDER.fullmatch(package)]
        if missing := [package for package in named if package not in self._packages]:
            return f"package {missing[0]} is not in the workspace"
        return self._missing_target(named, targets) if named else None

    def _missing_target(
        self, packages: Sequence[str], targets: Sequence[tuple[str, str]]
    ) -> str | None:
        for option, name in targets:
            if not _PLACEHOLDER.fullmatch(name) and not any(
                self._has_target(self._packages[package], option, name) for package in packages
            ):
                return f"{option} {name} is not a target of {', '.join(packages)}"
        return None

    @staticmethod
    def _has_target(crate: Path, option: str, name: str) -> bool:
        kind = _KIND_OF_TARGET[option]
        files = (f"{kind}/{name}.rs", f"{kind}/{name}/main.rs")
        manifest = tomllib.loads((crate / "Cargo.toml").read_text())
        own = [target["name"] for target in manifest.get(option.removeprefix("--"), [])]
        default = option == "--bin" and name == manifest["package"]["name"]
        return name in own or default or any((crate / file).is_file() for file in files)

    def _fuzz(self, words: Sequence[str]) -> str | None:
        named = [
            word
            for before, word in zip(["", *words], words, strict=False)
            if not word.startswith("-") and before not in _VALUES
        ]
        if named and named[0] not in self._fuzz_targets and not _PLACEHOLDER.fullmatch(named[0]):
            return f"fuzz target {named[0]} is not in fuzz/Cargo.toml"
        return None

    def _script(self, words: Sequence[str]) -> str | None:
        """Check the file that Python is given; modules and code are not looked at."""
        return self._files(words[:1])

    def _files(self, words: Sequence[str]) -> str | None:
        for word in words:
            path = word.split("::")[0]
            within = "/" in path and not path.startswith("/") and not path.startswith("-")
            if within and not _PLACEHOLDER.search(path) and not (self._root / path).exists():
                return f"file {path} is not in the repository"
        return None

    def _tool_problem(self, program: str, words: Sequence[str]) -> str | None:
        if program == "skipline" and words[0] == "host" and words[1:2] != ["compare"]:
            program, words = "skipline-host", words[1:]
        level = self._tools(program)
        if level is None:
            return None
        path, options = program, set(level.options)
        for word in words:
            if word == "--" or _PLACEHOLDER.fullmatch(word):
                break
            if word in level.below:
                path, level = f"{path} {word}", level.below[word]
                options |= level.options
            elif word.startswith("--"):
                name = word.split("=")[0].rstrip(",")
                if name not in options:
                    return f"{path} has no option {name}"
            elif level.below and re.fullmatch(r"[a-z][a-z-]+", word):
                return f"{path} has no command {word}"
        return None
