"""Whether the packages that are imported are this program's: others may be called the same.

Knows no package of ours: it is asked before any is imported.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

#: The packages this program is made of, which lie beside each other.
PACKAGES = ("flows", "tasks", "deployments")
#: Where they lie.
ROOT = Path(__file__).resolve().parent.parent


def check_packages(*names: str) -> None:
    """Raise ImportError where another package hides one of these, naming its folder."""
    for name in names:
        if (found := place_of(name)) is not None and found != ROOT:
            raise ImportError(
                f'the package "{name}" in {found} hides Callsheet\'s own, which is in {ROOT}: '
                f"{REMEDY}",
                name=name,
            )


REMEDY = (
    "rename it, or keep its folder off Python's path (PYTHONPATH; python -P; PYTHONSAFEPATH=1 for "
    "a Prefect worker's runs)"
)


def place_of(name: str) -> Path | None:
    """Return the folder that a package would be imported from; None where there is none."""
    spec = find_spec(name)
    places = list(spec.submodule_search_locations or ()) if spec else []
    place = places[0] if places else spec and spec.origin
    return Path(place).resolve().parent if place else None


def hidden_in(folder: Path) -> list[str]:
    """Return what in a folder would hide packages of ours, were the folder on Python's path."""
    if folder.resolve() == ROOT:
        return []
    # A folder without Python in it hides nothing that is installed as files.
    return [
        name
        for name in PACKAGES
        if (folder / name / "__init__.py").is_file() or (folder / f"{name}.py").is_file()
    ]
