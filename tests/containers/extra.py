"""`python -m tests.containers.extra NAME`: what an extra of pyproject.toml asks for, a line each.

What it takes from another extra of ours is left out: `make lock` pins each extra by itself.
"""

from __future__ import annotations

import sys
import tomllib

from tests.programs import ROOT


def lines_of(extra: str) -> list[str]:
    """Return the requirements that are the extra's own."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["optional-dependencies"][extra]
    return [line for line in wanted if not line.startswith(project["name"])]


if __name__ == "__main__":
    print("\n".join(lines_of(sys.argv[1])))
