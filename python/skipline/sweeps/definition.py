"""Definition of a sweep: scenario, axes, settings of all points, seeds; also as a TOML file."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from skipline import _core, resources
from skipline._core import InputError
from skipline.scenarios.settings import toml_literal
from skipline.sweeps import axis as axes_of
from skipline.sweeps import design
from skipline.sweeps.axis import Axis
from skipline.text import toml_model
from skipline.text.nearest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

# A file with this key is a sweep: the key names a scenario.
MARK = "sweep"
_KEYS = ("sweep", "title", "axis", "axis_file", "set", "random", "sobol", "repeats", "seed")


@dataclass(frozen=True)
class Definition:
    """A sweep; `sample` points are drawn with `sampling`, or every combination is one.

    Each point runs with `repeats` consecutive seeds from `seed` on, the same for all points.
    """

    scenario: str
    axes: tuple[Axis, ...] = ()
    fixed: tuple[tuple[str, str], ...] = ()
    sampling: design.Sampling | None = None
    sample: int | None = None
    repeats: int = 1
    seed: int = field(default=_core.DEFAULT_SEED)
    title: str = ""

    @property
    def keys(self) -> list[str]:
        """The keys that the axes set, in their order."""
        return [key for axis in self.axes for key in axis.keys]

    @property
    def seeds(self) -> range:
        """The seeds of each point."""
        return range(self.seed, self.seed + self.repeats)

    def points(self) -> "Iterator[design.Settings]":
        """Yield the settings of each point, without the fixed ones; each once."""
        found = design.combinations(self.axes, self.sampling, self.sample, self.seed)
        return iter(dict.fromkeys(found))

    def check(self) -> int:
        """Return the number of runs; InputError for what no run could tell any better."""
        if not self.axes:
            raise InputError(f"{self.scenario}: the sweep has no axis; {axes_of.HOW}")
        _require_once([*self.keys, *(key for key, _ in self.fixed)])
        runs = design.count(self.axes, self.sample, self.repeats)
        _core.check_scenario(self.scenario, list(self.fixed))
        for axis in self.axes:
            self._require_known(axis)
        return runs

    def _require_known(self, axis: Axis) -> None:
        """Refuse keys that no scenario has; values may be good only together with others."""
        first = axis.values[0] if axis.values else (axis.spread.at(0.0) if axis.spread else "",)
        for key, value in zip(axis.keys, first, strict=True):
            try:
                _core.check_scenario(self.scenario, [*self.fixed, (key, value or "")])
            except InputError as error:
                if "unknown key" in str(error):
                    raise InputError(f"axis {axis.name}: {error}") from error


def _require_once(keys: list[str]) -> None:
    for at, key in enumerate(keys):
        if key in keys[:at]:
            raise InputError(f"key '{key}': stated twice, as an axis or a setting; state it once")


def is_sweep(path: str) -> bool:
    """Return whether the TOML file at `path` is a sweep."""
    return MARK in toml_model.top_level(resources.read_keys(path), path)


def read(path: str) -> Definition:
    """Read a sweep file; a scenario is a sweep that has no axes yet."""
    text = resources.read_keys(path)
    if not is_sweep(path):
        if "scenario" in toml_model.top_level(text, path):
            raise InputError(
                f"{path}: this is an experiment, not a scenario or a sweep; "
                f"to run it: skipline experiment run {path}"
            )
        return Definition(path)
    return _of_file(path, toml_model.parse(text, path))


def _of_file(path: str, table: Mapping[str, Any]) -> Definition:
    for key in table:
        if key not in _KEYS:
            raise InputError(
                f"{path}: key '{key}': unknown{did_you_mean(key, _KEYS)}; allowed: "
                f"{', '.join(_KEYS)}"
            )
    found = Definition(
        resources.path_beside(path, _typed(path, table, "sweep", str, "")),
        title=_typed(path, table, "title", str, ""),
        repeats=_typed(path, table, "repeats", int, 1),
        seed=_typed(path, table, "seed", int, _core.DEFAULT_SEED),
        axes=tuple(_axes(path, table)),
        fixed=tuple(
            (key, setting(value)) for key, value in _typed(path, table, "set", dict, {}).items()
        ),
    )
    if found.repeats < 1 or found.seed < 0:
        raise InputError(f"{path}: repeats: from 1; seed: from 0")
    samples = {kind: _typed(path, table, kind, int, 0) for kind in ("random", "sobol")}
    return with_sample(found, samples["random"] or None, samples["sobol"] or None, path)


def _axes(path: str, table: Mapping[str, Any]) -> "Iterator[Axis]":
    for key, values in _typed(path, table, "axis", dict, {}).items():
        where = f"{path}: axis '{key}'"
        if isinstance(values, str):
            yield axes_of.from_values(key, values, where)
        elif isinstance(values, list):
            yield axes_of.listed(key, [setting(value) for value in values], where)
        else:
            raise InputError(f"{where}: a list of values, or a text such as '256..4096:log:5'")
    file = _typed(path, table, "axis_file", str, "")
    if file:
        yield design.from_table(resources.path_beside(path, file))


def setting(value: object) -> str:
    """Write a value of TOML or Python as `--set` takes it: a text is what would be typed."""
    return value if isinstance(value, str) else toml_literal(value)


def with_sample(
    definition: Definition, random: int | None, sobol: int | None, where: str
) -> Definition:
    """Return the sweep with points drawn at random or from a Sobol sequence, if asked to."""
    if random is not None and sobol is not None:
        raise InputError(f"{where}: random and sobol exclude each other; state one")
    for number in (random, sobol):
        if number is not None and number < 1:
            raise InputError(f"{where}: {number} samples: at least 1")
    if random is not None:
        return replace(definition, sampling="random", sample=random)
    if sobol is not None:
        return replace(definition, sampling="sobol", sample=sobol)
    return definition


def extend(
    definition: Definition, axes: Iterable[Axis], fixed: Iterable[tuple[str, str]]
) -> Definition:
    """Return the sweep with further axes and settings."""
    return replace(definition, axes=(*definition.axes, *axes), fixed=(*definition.fixed, *fixed))


def with_seeds(definition: Definition, seed: int | None, repeats: int | None) -> Definition:
    """Return the sweep with another first seed and another number of seeds, if given."""
    if repeats is not None and repeats < 1:
        raise InputError(f"repeats {repeats}: at least 1")
    return replace(
        definition,
        seed=definition.seed if seed is None else seed,
        repeats=definition.repeats if repeats is None else repeats,
    )


def _typed(path: str, table: Mapping[str, Any], key: str, kind: type, otherwise: Any) -> Any:
    value = table.get(key, otherwise)
    if not isinstance(value, kind) or isinstance(value, bool):
        names = {str: "a text", int: "a whole number", dict: "a table"}
        raise InputError(f"{path}: key '{key}' = {value!r}: {names[kind]}")
    return value
