"""The shells that complete command lines of `skipline`, and what they ask it for.

A script sets `_SKIPLINE_COMPLETE`, COMP_WORDS and COMP_CWORD and calls `skipline`, which prints a
line for each completion: the word and, behind a tab, what it means.
"""

import re

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
)

from skipline.commands import known_names
from skipline.text import foreign

_BASH = """\
_skipline_completion() {
    local IFS=$'\\n' program=${BASH_ALIASES[$1]:-$1}
    mapfile -t COMPREPLY < <(COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD \\
        _SKIPLINE_COMPLETE=bash_complete "$program" 2>/dev/null)
    # A folder, a table or a key goes on without a space.
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[/.=] ]] && compopt -o nospace
    return 0
}
complete -o nosort -F _skipline_completion skipline
"""
_ZSH = """\
#compdef skipline
_skipline_completion() {
    local -a whole open
    local text meaning program=${(Q)${aliases[$words[1]]:-$words[1]}}
    while IFS=$'\\t' read -r text meaning; do
        if [[ $text == *[/.=] ]]; then
            open+=("${text//:/\\\\:}${meaning:+:$meaning}")
        else
            whole+=("${text//:/\\\\:}${meaning:+:$meaning}")
        fi
    done < <(COMP_WORDS="${words[1,CURRENT-1]} $PREFIX" COMP_CWORD=$((CURRENT - 1)) \\
        _SKIPLINE_COMPLETE=zsh_complete "$program" 2>/dev/null)
    # A folder, a table or a key goes on without a space.
    (( $#open )) && _describe -V open open -S ''
    (( $#whole )) && _describe -V whole whole
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _skipline_completion "$@"
else
    compdef _skipline_completion skipline
fi
"""
_FISH = """\
function __skipline_completion
    set -lx COMP_WORDS (commandline -cp | string collect)
    set -lx COMP_CWORD (commandline -ct | string collect)
    _SKIPLINE_COMPLETE=fish_complete skipline 2>/dev/null
end
complete --command skipline --no-files --keep-order --arguments '(__skipline_completion)'
"""
# Characters with a meaning for bash, which takes completions as they are.
_SPECIAL = re.compile(r"([^\w@%+=:,./~-])")


class _Shell(ShellComplete):
    """A shell that replaces the whole word at the cursor."""

    script: str

    def source(self) -> str:
        """Return the script that makes the shell ask."""
        return self.script

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """Return the words that may stand at the cursor; paths are among them."""
        option, equals, value = incomplete.partition("=")
        if not (equals and option.startswith("-")):
            option, equals, value = "", "", incomplete
        found: list[CompletionItem] = []
        for item in super().get_completions(args, incomplete):
            if item.type in ("file", "dir"):
                paths = known_names.paths(value, folders_only=item.type == "dir")
                found += [CompletionItem(option + equals + path) for path in paths]
            else:
                found.append(CompletionItem(f"{option}{equals}{item.value}", help=item.help))
        # What a terminal cannot show is not offered.
        return [item for item in found if item.value == foreign.in_cell(str(item.value))]

    def format_completion(self, item: CompletionItem) -> str:
        """Write a word and its meaning."""
        meaning = " ".join(foreign.printable(item.help or "").split())
        return f"{item.value}\t{meaning}" if meaning else str(item.value)


class Bash(_Shell, BashComplete):
    """Bash, which shows no meanings, splits words at `=` and replaces what is behind it."""

    script = _BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the cursor, and the one at it, put together again."""
        words, typed = super().get_completion_args()
        joined: list[str] = []
        for word in [*words, typed]:
            if joined and (word == "=" or joined[-1].endswith("=")):
                joined[-1] += word
            else:
                joined.append(word)
        return joined[:-1], joined[-1]

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """Return what may follow the last `=`."""
        begin = incomplete.rfind("=") + 1
        items = super().get_completions(args, incomplete)
        return [CompletionItem(str(item.value)[begin:]) for item in items]

    def format_completion(self, item: CompletionItem) -> str:
        """Write a word, quoted."""
        return _SPECIAL.sub(r"\\\1", str(item.value))


class Zsh(_Shell, ZshComplete):
    """Zsh, which shows meanings beside words."""

    script = _ZSH


class Fish(_Shell, FishComplete):
    """Fish, which shows meanings beside words."""

    script = _FISH


SHELLS: dict[str, type[_Shell]] = {"bash": Bash, "zsh": Zsh, "fish": Fish}
for _name, _shell in SHELLS.items():
    add_completion_class(_shell, _name)
