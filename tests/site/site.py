"""The docs as a site, built strictly: `make docs` runs `python -m tests.site.site FOLDER`.

A broken link, a missing anchor and a page that the navigation does not list fail the build. The
navigation is for users: CONTRIBUTING.md links the pages for contributors.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.programs import ROOT
from tests.repository import files_in

CONFIG = ROOT / "zensical.toml"
#: Pages for contributors, which the navigation leaves out.
CONTRIBUTORS = {"benchmarks.md", "decisions.md", "one-row.md", "releasing.md"}


def main(folder: Path) -> None:
    """Build the site into a folder; what was there before goes."""
    if missing := unlisted():
        sys.exit(f"list in the navigation of zensical.toml: {', '.join(missing)}")
    # In a copy: the builder keeps a cache beside its sources.
    with tempfile.TemporaryDirectory(prefix="callsheet-site-") as name:
        copy = Path(name)
        shutil.copytree(ROOT / "docs", copy / "docs")
        shutil.copy(CONFIG, copy)
        zensical = Path(sys.executable).with_name("zensical")
        built = subprocess.run(
            [zensical, "build", "--strict"],
            cwd=copy,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        if built.returncode:
            sys.exit((built.stdout + built.stderr).decode())
        shutil.rmtree(folder, ignore_errors=True)
        shutil.move(copy / "site", folder)
    print(f"open {folder / 'index.html'} in a browser. Its search needs a web server: "
          f"python3 -m http.server -d {folder}")  # fmt: skip


def unlisted() -> list[str]:
    """Return the pages of docs/ for users that the navigation does not list."""
    listed = set(listed_in(tomllib.loads(CONFIG.read_text(encoding="utf-8"))["project"]["nav"]))
    pages = {str(page.relative_to(ROOT / "docs")) for page in files_in("docs", of="**/*.md")}
    return sorted(pages - listed - CONTRIBUTORS)


def listed_in(part: Any) -> Iterator[str]:
    """Yield the pages in a part of the navigation, in order."""
    if isinstance(part, str):
        yield part
    for one in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from listed_in(one)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
