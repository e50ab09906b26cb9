"""Write the list of the wheel's parts for programs: CycloneDX 1.6 in JSON.

    python packaging/bill_of_materials.py FILE

The same sources give the same bytes: its number is made of the parts, and it has no time.
"""

import json
import sys
import tomllib
import uuid
from pathlib import Path

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

from parts import REPOSITORY, Part, crates, python_libraries, scripts


def bill(root: Path = REPOSITORY) -> str:
    """Return the list; SystemExit if it does not fit the schema of CycloneDX."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    parts = [*crates(root), *scripts(root), *python_libraries(root)]
    whole = Bom(components=map(_component, parts))
    whole.metadata.component = main = Component(
        name="skipline",
        version=project["version"],
        type=ComponentType.APPLICATION,
        licenses=[LicenseExpression(project["license"])],
        purl=PackageURL("pypi", None, "skipline", project["version"]),
        bom_ref=f"pypi/skipline@{project['version']}",
    )
    whole.register_dependency(main, whole.components)
    text = _without_chance(JsonV1Dot6(whole).output_as_string(), parts)
    if fault := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        raise SystemExit(f"the list of parts is not valid CycloneDX: {fault}")
    return text


def _component(part: Part) -> Component:
    licence = part.licence.replace("/", " OR ")
    return Component(
        name=part.name,
        version=part.version,
        type=ComponentType.LIBRARY,
        licenses=[LicenseExpression(licence)] if licence else (),
        purl=PackageURL(part.kind, None, part.name, part.version),
        hashes=_hashes(part),
        bom_ref=f"{part.kind}/{part.name}@{part.version}",
    )


def _hashes(part: Part) -> list[HashType]:
    checksum = part.checksum
    return [HashType(alg=HashAlgorithm.SHA_256, content=checksum)] if checksum else []


def _without_chance(text: str, parts: list[Part]) -> str:
    """Replace the number made by chance by one made of the parts, and leave the time out."""
    found = json.loads(text)
    names = " ".join(f"{part.kind}/{part.name}@{part.version}" for part in parts)
    found["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, names)}"
    del found["metadata"]["timestamp"]
    return json.dumps(found, indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.write_text(bill(), encoding="utf-8")
    print(f"{target}: {target.stat().st_size:,} bytes")
