"""Every package that a release needs or offers, with its license: the SBOM, and what is allowed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any, NamedTuple

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from license_expression import (  # type: ignore[import-untyped]
    ExpressionError,
    get_spdx_licensing,
)
from packaging.utils import canonicalize_name

from tests.launcher import ROOT

#: The pins of everything that is installed for use, with all extras: none of the tests.
CONSTRAINTS = [
    ROOT / f"constraints{extra}.txt" for extra in ("", "-parquet", "-otel", "-sandbox", "-demo")
]
#: Licenses that let a company use, change and pass on the package without publishing what is its
#: own: as SPDX writes them, and as older packages do.
ALLOWED = {
    *("0BSD", "Apache-2.0", "Artistic-1.0-Perl", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0"),
    *("CNRI-Python", "HPND", "ISC", "LGPL-3.0-only", "MIT", "MIT-0", "MIT-CMU", "MPL-2.0"),
    *("PSF-2.0", "Python-2.0", "Unlicense", "Zlib"),
    "3-Clause BSD License",
    "Apache Software License",
    "BSD License",
    "ISC License (ISCL)",
    "MIT License",
    "Mozilla Public License 2.0 (MPL 2.0)",
    "Python Software Foundation License",
}
#: What a person read in packages that do not say it so that a program can read it.
READ_BY_A_PERSON = {
    "httpx-aiohttp": "BSD-3-Clause",
    "text-unidecode": "Artistic-1.0-Perl OR GPL-2.0-or-later",
}
_SPDX = get_spdx_licensing()


class Pin(NamedTuple):
    """One package of the constraints; `lines` are its line and hashes, for every platform."""

    name: str
    version: str
    lines: str


def all_pins() -> list[Pin]:
    """Return every package of the constraints once, in order."""
    found: dict[tuple[str, str], Pin] = {}
    for file in CONSTRAINTS:
        for lines in re.split(r"\n(?=\S)", file.read_text().strip()):
            one = re.match(r"([\w.-]+)(?:\[[\w,-]+\])?==(\S+)", lines)
            assert one, f"{file.name}: {lines}"
            everywhere = re.sub(r" ; .*? (?=\\$)", " ", lines, count=1, flags=re.MULTILINE)
            found.setdefault((one[1], one[2]), Pin(one[1], one[2], everywhere))
    return sorted(found.values())


def licenses_in(pins: Iterable[Pin], folders: Iterable[Path]) -> dict[Pin, str]:
    """Return the licenses of the packages that are installed in these folders."""
    there: dict[tuple[str, str], Distribution] = {
        (canonicalize_name(one.name), one.version): one
        for one in distributions(path=[str(folder) for folder in folders])
    }
    return {
        pin: READ_BY_A_PERSON.get(pin.name) or _license_of(there[pin[:2]])
        for pin in pins
        if pin[:2] in there
    }


def _license_of(package: Distribution) -> str:
    """Return what a package says of its license: an SPDX expression, else names, else a line."""
    said = package.metadata
    if "License-Expression" in said:
        return said["License-Expression"]
    names = [one.split(" :: ")[-1] for one in said.get_all("Classifier", []) if "License ::" in one]
    line = said["License"].partition("\n")[0] if "License" in said else ""
    return "; ".join(names) or line or "not said"


def forbidden(licenses: Mapping[Pin, str]) -> list[str]:
    """Return a line for each package whose license is not one that is allowed."""
    return [
        f"{pin.name} {pin.version}: {said}"
        for pin, said in licenses.items()
        if not all(one in ALLOWED for one in said.split("; ")) and not _is_allowed(_parsed(said))
    ]


def _parsed(said: str) -> Any:
    """Return an SPDX expression as a tree; None if it is none."""
    try:
        return _SPDX.parse(said, validate=True)
    except ExpressionError:
        return None


def _is_allowed(tree: Any) -> bool:
    if not getattr(tree, "args", ()):
        return str(tree) in ALLOWED
    decide = any if isinstance(tree, _SPDX.OR) else all
    return decide(_is_allowed(one) for one in tree.args)


def bill_of_materials(licenses: Mapping[Pin, str], *, at: int) -> str:
    """Return the SBOM of all pins: CycloneDX, with hashes and licenses, made at a Unix second."""
    project = ("--pyproject", str(ROOT / "pyproject.toml"), "--mc-type", "application")
    how = ("--output-reproducible", "--no-validate")
    made = subprocess.run(
        [sys.executable, "-m", "cyclonedx_py", "requirements", *project, *how, "-"],
        input="\n".join(pin.lines for pin in licenses),
        env={**os.environ, "SOURCE_DATE_EPOCH": str(at), "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
    )
    if made.returncode != 0:
        sys.exit(f"the SBOM could not be made:\n{made.stderr}")
    document = json.loads(made.stdout)
    said = {pin[:2]: one for pin, one in licenses.items()}
    for component in document["components"]:
        license = said[component["name"], component["version"]]
        # A line of the constraints, which the hashes below say again.
        del component["description"]
        component["licenses"] = (
            [{"license": {"name": license}}]
            if _parsed(license) is None
            else [{"expression": license}]
        )
    text = json.dumps(document, indent=1, sort_keys=True) + "\n"
    if trouble := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        sys.exit(f"the SBOM is not valid: {trouble}")
    return text
