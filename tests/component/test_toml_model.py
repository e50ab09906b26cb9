"""Faults in TOML files become one line that names file, key, value and what is allowed."""

import pytest
from pydantic import BaseModel, ConfigDict, Field

from skipline import InputError
from skipline.text import toml_model


class Wheel(BaseModel):
    model_config = ConfigDict(extra="forbid")
    spokes: int = Field(ge=3)


class Car(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    wheel: list[Wheel] = []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = [\n'x'\n", "car.toml: not valid TOML: .*"),
        ("name = 'x' y", "car.toml: not valid TOML: .*line 1"),
        ("nmae = 'x'\nname = 'y'", "car.toml: key 'nmae': unknown.*'name'.*allowed: name, wheel"),
        ("wheel = []", "car.toml: key 'name': missing"),
        ("name = 'x'\n[[wheel]]\nspokes = 2", r"key 'wheel\.0\.spokes' = 2: at least 3"),
        ("name = 'x'\n[[wheel]]\nspoke = 9", r"key 'wheel\.0\.spoke': unknown.*'spokes'"),
    ],
)
def test_a_fault_names_file_key_value_and_what_is_allowed(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        toml_model.load(Car, text, "car.toml")


def test_good_input_is_read() -> None:
    car = toml_model.load(Car, "name = 'x'\n[[wheel]]\nspokes = 12", "car.toml")
    assert car.wheel[0].spokes == 12
