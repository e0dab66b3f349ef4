"""`python -m tests.release [FOLDER]`: build a release of the commit into a folder, and check it.

Wheel, sdist, what the image is built from, SBOM, licenses, and their sha256. Some minutes; nothing
is uploaded. The folder is `dist`, and is only replaced by a release that is as it has to be.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.launcher import ROOT
from tests.release import check
from tests.release.build import build_release
from tests.release.licenses import Pin, all_pins, forbidden, licenses_in
from tests.release.pythons import PYTHONS, of_other_systems, with_all
from tests.release.sources import committed_files
from tests.release.version import project_version


def main(folder: Path) -> None:
    """Build and check; raise SystemExit with a sentence where the release must not go out."""
    files = committed_files()
    check.check_changelog()
    check.check_promises()
    with tempfile.TemporaryDirectory(prefix="callsheet-release-") as made:
        work = Path(made)
        _say(f"Callsheet {project_version()}: the licenses of what it needs")
        licenses = _licenses(work / "all")
        _say(f"{len(licenses)} packages, all with a license that companies may use")
        built = []
        for name in ("first", "second"):
            (work / name).mkdir()
            built.append(build_release(work / name, files, licenses))
        release = built[0]
        check.check_same(work / "first", work / "second")
        _say("two builds are the same")
        check.check_description(release["wheel"], release["sdist"])
        check.check_contents(release["wheel"], release["sdist"], files)
        check.check_image(release["image"])
        check.check_sdist(release["sdist"], release["wheel"], work / "of-sdist")
        _say("wheel, sdist and image hold the program alone; the sdist builds the same wheel")
        for version in PYTHONS:
            check.check_install(version, release["wheel"], work / version)
            _say(f"Python {version}: installed, the demo delivered")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(work / "first", folder)
    _say(*(f"{folder / one.name}" for one in sorted(folder.iterdir())))


def _licenses(work: Path) -> Mapping[Pin, str]:
    """Return the license of every package; raise SystemExit if one is not allowed."""
    pins = all_pins()
    folders = [with_all(work / version, version) for version in PYTHONS]
    other = [pin for pin in pins if pin not in licenses_in(pins, folders)]
    licenses = licenses_in(pins, [*folders, of_other_systems(work / "other", other)])
    if lacking := [pin.name for pin in pins if pin not in licenses]:
        sys.exit(f"these packages could not be installed to read their licenses: {lacking}")
    if wrong := forbidden(licenses):
        sys.exit(
            "these licenses are not among those that tests/release/licenses.py allows. Replace the "
            "package, or read its license and add it there:\n" + "\n".join(wrong)
        )
    return licenses


def _say(*lines: str) -> None:
    print(*lines, sep="\n", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist")
