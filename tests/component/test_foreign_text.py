"""Text that others chose shows letters and does nothing else."""

import ast
import json
import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import REPOSITORY
from skipline.text import csv_text, foreign, html_card
from skipline.text.table import Column, TextTable

HOSTILE = "\x1b]0;PWN\x07\x1b[2J\x1b[31mred \u202ehidden\x9b8m\x7f\r\x00\u2028"
PACKAGE = REPOSITORY / "python" / "skipline"


def assert_harmless(text: str, allowed: str = "\n\t") -> None:
    wrong = [
        letter
        for letter in text
        if letter not in allowed and unicodedata.category(letter) in {"Cc", "Cf", "Cs", "Zl", "Zp"}
    ]
    assert wrong == [], text


@given(st.text())
def test_no_text_has_controls_when_it_is_printed(text: str) -> None:
    assert foreign.printable(foreign.printable(text)) == foreign.printable(text)
    for shown in (foreign.printable(text), foreign.in_cell(text), foreign.in_html(text)):
        for letter in shown:
            is_control = unicodedata.category(letter) in {"Cc", "Cs", "Zl", "Zp"}
            assert not is_control or letter in "\n\t"


def test_what_hides_or_turns_letters_is_replaced() -> None:
    assert_harmless(foreign.printable(HOSTILE))
    assert foreign.printable("a\tb\nc é 漢 🚀") == "a\tb\nc é 漢 🚀"
    assert foreign.in_cell("a\tb\nc\r") == "a b c\ufffd"


@pytest.mark.parametrize(
    "text",
    [
        "می\u200cخواهم",  # Persian: a letter that is not joined to the next one
        "क्\u200dष और क्\u200cष",  # Hindi: half letters
        "ශ්\u200dරී ലങ്ക",  # Sinhala, Malayalam
        "ᠮᠣᠩᠭᠣᠯ ᠬᠡᠯᠡᠨ\u180eᠠ",  # Mongolian
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",  # a family
        "\u2764\ufe0f\u200d\U0001f525 \U0001f1e9\U0001f1ea",
        "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",  # Scotland
        "e\u0301 n\u0303 o\u0308\u0323",  # combining marks
        "Silben\u00adtrennung",
        "漢字 かな 한글 缓存 \u845b\U000e0100",  # with a selector of the letter's form
        "עברית العربية ไทย ខ្មែរ",
    ],
)
def test_words_and_signs_of_all_languages_stay(text: str) -> None:
    assert foreign.printable(text) == text
    assert foreign.in_cell(text) == text
    assert foreign.in_html(text) == text
    assert foreign.in_json(text) == text
    assert csv_text.from_rows([text], []) == f"{text}\n"


@pytest.mark.parametrize(
    "mark",
    [
        *(chr(code) for code in (0x7F, 0x85, 0x9B, 0x61C, 0x200B, 0x200E, 0x200F, 0x2028, 0x2029)),
        *map(chr, range(0x202A, 0x202F)),
        *map(chr, range(0x2060, 0x2070)),
        *("\ufeff", "\U000e0001", "\U000e0041"),
    ],
)
def test_a_mark_that_is_no_part_of_a_word_is_replaced(mark: str) -> None:
    assert foreign.printable(f"a{mark}b") == "a\ufffdb"


def test_a_byte_of_a_name_that_is_no_text_is_shown_by_its_number() -> None:
    name = b"d\xff".decode(errors="surrogateescape")
    assert (foreign.printable(name), foreign.in_cell(name)) == (r"d\udcff", r"d\udcff")


@pytest.mark.parametrize(
    "tags",
    [
        "\U000e0067\U000e0062",  # too few for a flag
        "\U000e0067\U000e0062\U000e0073\U000e0063",  # without their end
        "\U000e0041" * 5 + "\U000e007f",  # capital letters
        "\U000e0061" * 30 + "\U000e007f",  # a hidden text
    ],
)
def test_tags_that_are_no_flag_are_replaced(tags: str) -> None:
    flag = "\U0001f3f4"
    assert foreign.printable(flag + tags) == flag + "\ufffd" * len(tags)
    assert foreign.printable(f"a{tags}") == "a" + "\ufffd" * len(tags)


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_json_keeps_its_values(value: object) -> None:
    shown = foreign.in_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(shown) == value
    assert "\x7f" not in shown and "\u202e" not in shown


def test_tables_cards_and_csv_are_harmless() -> None:
    table = TextTable([Column(HOSTILE, "key")], [[HOSTILE]], title=HOSTILE)
    assert_harmless(table.as_csv(), "\n")
    assert_harmless(table.as_html([HOSTILE]))
    assert_harmless(html_card.card(HOSTILE, [HOSTILE], [[HOSTILE]], [HOSTILE], []))
    assert_harmless(csv_text.from_rows([HOSTILE], [[HOSTILE]]), "\n")
    import polars as pl

    frame = pl.DataFrame({HOSTILE: [HOSTILE, None], "number": [1.5, 2.0]})
    written = csv_text.from_frame(frame)
    assert_harmless(written, "\n")
    assert [row[1] for row in csv_text.rows(written)] == ["number", "1.5", "2.0"]


def test_columns_of_a_table_stay_different() -> None:
    import polars as pl

    names = ["a\x01", "a\x02", "a\ufffd_2", "a\ufffd", "b\n", "b "]
    frame = pl.DataFrame({name: [f"{at}\x03"] for at, name in enumerate(names)})
    head, cells = csv_text.rows(csv_text.from_frame(frame))
    assert len(set(head)) == len(names)
    assert cells == [f"{at}\ufffd" for at in range(len(names))]


def test_drawings_are_harmless() -> None:
    tree = {HOSTILE: [HOSTILE, {"a": (HOSTILE, 1, None)}]}
    assert_harmless(json.dumps(foreign.in_tree(tree), ensure_ascii=False))


def sources() -> dict[str, str]:
    return {str(path.relative_to(PACKAGE)): path.read_text() for path in PACKAGE.rglob("*.py")}


def test_one_module_escapes_and_one_writes_to_the_terminal() -> None:
    uses = {
        "html.escape(": {"text/foreign.py"},
        "isprintable(": {"text/foreign.py"},
        "sys.stdout.write(": {"text/terminal.py"},
        ".write_csv(": {"text/csv_text.py"},
        "csv.writer(": {"text/csv_text.py"},
    }
    for call, allowed in uses.items():
        assert {name for name, text in sources().items() if call in text} == allowed, call


def test_one_module_writes_files() -> None:
    writing = re.compile(r"\.write_(text|bytes)\(|\.open\(\"[wxa]|shutil\.copy|os\.rename\(")
    assert {name for name, text in sources().items() if writing.search(text)} == {"atomic.py"}


def test_nothing_but_the_terminal_prints() -> None:
    printing = []
    for name, text in sources().items():
        for node in ast.walk(ast.parse(text)):
            is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            if is_call and node.func.id == "print":  # type: ignore[attr-defined]
                printing.append(name)
    assert printing == ["text/terminal.py"]
    assert Path(PACKAGE / "text" / "foreign.py").is_file()
