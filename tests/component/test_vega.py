"""The script that draws figures is the one that the locked libraries bundle."""

import gzip
import runpy
from importlib.resources import files

from command_line import REPOSITORY

PACKAGED = files("skipline.report") / "vega.js.gz"


def test_the_package_has_the_script_that_the_libraries_bundle() -> None:
    bundled = runpy.run_path(str(REPOSITORY / "packaging" / "bundle_vega.py"))["script"]()
    again = "run: python packaging/bundle_vega.py"
    assert gzip.decompress(PACKAGED.read_bytes()).decode() == bundled, again


def test_specifications_name_the_version_of_the_script() -> None:
    from altair import SCHEMA_URL

    from skipline.report import vega_lite

    drawn = vega_lite.specification([], vega_lite.layer({"type": "bar"}))
    major = SCHEMA_URL.rsplit("/", 1)[-1].split(".")[0]
    assert drawn["$schema"].rsplit("/", 1)[-1].split(".")[0] == major
