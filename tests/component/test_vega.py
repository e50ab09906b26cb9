"""The script that draws figures is bundled once and kept whole."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import vl_convert

from skipline.report import vega


@pytest.fixture
def bundles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The versions that were bundled, in a cache folder of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made: list[str] = []

    def bundle(snippet: str, vl_version: str) -> str:
        made.append(vl_version)
        return f"vega {vl_version}\r\n\n{snippet}"

    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    vega.vega.cache_clear()
    yield made
    vega.vega.cache_clear()


def _again() -> str:
    vega.vega.cache_clear()
    return vega.vega()


def test_the_second_page_takes_the_kept_copy(bundles: list[str]) -> None:
    assert vega.vega() == _again()
    assert len(bundles) == 1


@pytest.mark.parametrize("left", [b"", b"\n", b"half a script", b"0" * 64 + b"\nother"])
def test_a_damaged_copy_is_made_again(bundles: list[str], tmp_path: Path, left: bytes) -> None:
    whole = vega.vega()
    (kept,) = tmp_path.rglob("*.js")
    kept.write_bytes(left)
    assert _again() == whole
    assert len(bundles) == 2
    assert _again() == whole
    assert len(bundles) == 2


def test_a_place_that_takes_no_file_costs_time_only(bundles: list[str], tmp_path: Path) -> None:
    (tmp_path / "skipline").write_text("a file where the folder would be")
    assert vega.vega() == _again()
    assert len(bundles) == 2
