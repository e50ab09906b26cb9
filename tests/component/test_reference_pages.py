"""Are the reference pages that are made of code and kept in the repository those of the code?

`make docs-tables` writes them. A test of the crate `dsa-cli` compares that of its commands.
"""

import key_reference
from command_line import REPOSITORY

PLATFORM_KEYS = REPOSITORY / "docs/reference/platform-keys.md"


def test_the_page_of_platform_keys_is_that_of_the_schema() -> None:
    assert PLATFORM_KEYS.read_text() == key_reference.platform_keys(), "make docs-tables"


def test_a_fact_is_shown_by_its_value_and_a_table_by_its_keys() -> None:
    page = PLATFORM_KEYS.read_text()
    assert "| `sets_per_slice` | whole number |" in page
    assert "\n## llc\n" in page and "| `llc` | table |" in page
    # Keys have no defaults: a file states or inherits them.
    assert "default |" not in page
