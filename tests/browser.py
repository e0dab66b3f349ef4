"""The browser in which tests click through pages: Chromium or Chrome, wherever it is.

python -m tests.browser     finds one or installs it, and says which
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.async_api import Browser

#: Names on the path, then where a Mac keeps its programs.
PLACES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
OWN = "Playwright's own Chromium"
#: A download may hang where there is no network, in seconds.
LONGEST = 300


def find_browser() -> str | None:
    """Return where it is: what CHROMIUM says, else one that is installed; None: Playwright's."""
    named = os.environ.get("CHROMIUM")
    return named or next(filter(None, map(shutil.which, PLACES)), None)


@asynccontextmanager
async def open_browser() -> AsyncIterator[Browser]:
    """Run it without a window."""
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=find_browser(), args=["--no-sandbox"]
        )
        yield browser
        await browser.close()


def main() -> None:
    """Make sure that there is one: what is there, else Playwright's own, else apt's."""
    for get in (lambda: True, _from_playwright, lambda: from_apt("chromium")):
        if get() and (which := _starts()):
            print(f"pages are tested in {which}")
            return
    sys.exit("there is no browser for the tests: install Chromium or Chrome, or say where one is "
             "with CHROMIUM=/path/to/it")  # fmt: skip


def _starts() -> str | None:
    """Return the version of the browser that is found, or None when it does not start."""
    from playwright.sync_api import Error, sync_playwright

    path = find_browser()
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        except Error as error:
            if path:
                print(f"{path} does not start: {str(error).splitlines()[0]}", file=sys.stderr)
            return None
        version = browser.version
        browser.close()
    return f"{path or OWN} ({version})"


def _from_playwright() -> bool:
    print("no Chromium or Chrome is installed: trying Playwright's own", flush=True)
    return _ran(sys.executable, "-m", "playwright", "install", "chromium")


def from_apt(package: str) -> bool:
    """Install a package where there is apt; return whether that succeeded."""
    if not shutil.which("apt-get"):
        return False
    print(f"trying apt's {package}", flush=True)
    root = ["env"] if os.geteuid() == 0 else ["sudo", "env"]
    quiet = (*root, "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq")
    return _ran(*quiet, "update") and _ran(*quiet, "install", "-y", package)


def program_from_apt(package: str, program: str, to: Path) -> bool:
    """Take one program out of a package where there is apt; nothing is installed or started."""
    if not shutil.which("apt-get"):
        return False
    print(f"trying {program} from apt's {package}", flush=True)
    root = [] if os.geteuid() == 0 else ["sudo"]
    with tempfile.TemporaryDirectory() as name:
        download = ("env", "-C", name, "apt-get", "-qq", "download", package)
        # A new machine has no lists of packages yet.
        update = (*root, "apt-get", "-qq", "update")
        if not _ran(*download) and not (_ran(*update) and _ran(*download)):
            return False
        folder = Path(name)
        unpacked = [_ran("dpkg-deb", "-x", str(one), name) for one in folder.glob("*.deb")]
        found = folder / "usr" / "bin" / program
        if not any(unpacked) or not found.exists():
            return False
        # Renamed in its folder, so that no half of it is ever found.
        shutil.copy2(found, to / f".{program}.new")
        (to / f".{program}.new").replace(to / program)
    return True


def _ran(*words: str) -> bool:
    """Run a command without its talk; return whether it succeeded."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=LONGEST)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"  that failed: {error}", file=sys.stderr)
        return False
    if done.returncode:
        print(f"  that failed: {(done.stderr or done.stdout).strip()[-200:]}", file=sys.stderr)
    return done.returncode == 0


if __name__ == "__main__":
    main()
