"""The recipes for a replacement policy and a placement policy, carried out.

`tests/recipes/replacement-policy.patch` adds the policy `clock` (second chance), and
`placement-policy.patch` the key `placement.spare_own_unread`: writes of a device spare the lines
that it wrote and no agent has read. Each edits the files that its table in CONTRIBUTING.md lists.
"""

from pathlib import Path

import pytest

from command_line import REPOSITORY
from recipe import cargo, carried_out, existing_files, listed_files

L2FWD = "experiments/ddio-bench/l2fwd.toml"
HIT_RATE = "pcie_write_hit_rate"
RECIPES = {
    "replacement-policy": (
        "Recipe: a replacement policy",
        ('hardware.llc.replacement="lru"', 'hardware.llc.replacement="clock"'),
        "replacement_",
    ),
    "placement-policy": (
        "Recipe: a placement policy",
        ("placement.spare_own_unread=false", "placement.spare_own_unread=true"),
        "placement::",
    ),
}


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_lists_the_files_that_it_edits(name: str) -> None:
    listed = listed_files(RECIPES[name][0])
    missing = [path for path in sorted(listed) if not (REPOSITORY / path).is_file()]
    assert not missing
    assert listed == existing_files(name)


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_applies_to_the_tree(name: str, tmp_path: Path) -> None:
    carried_out(name, tmp_path)


@pytest.mark.soak_long
@pytest.mark.parametrize("name", RECIPES)
def test_a_policy_compiles_and_takes_effect(name: str, tmp_path: Path) -> None:
    copy = carried_out(name, tmp_path)
    _, (without, with_policy), tests = RECIPES[name]
    cargo("check", "-p", "model", "-p", "scenario", "--all-targets", cwd=copy)
    cargo("test", "-p", "model", "--test", "all", tests, cwd=copy)

    def hit_rate(setting: str) -> str:
        example = ("run", "-p", "scenario", "--example", "metric", "--")
        return cargo(*example, L2FWD, HIT_RATE, setting, cwd=copy)

    assert hit_rate(without) != hit_rate(with_policy)
