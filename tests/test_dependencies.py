"""The pinned set: complete, hashed, and one that is known to work together."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.version import Version

from tests.repository import grep

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(
    "name", ["constraints.txt", "constraints-dev.txt", "constraints-peers.txt"]
)
def test_every_package_is_pinned_with_hashes(name: str) -> None:
    pins = re.split(r"\n(?=\S)", (ROOT / name).read_text().strip())

    assert len(pins) > 60
    for pin in pins:
        assert re.match(r"[\w.-]+(\[[\w,-]+\])?==\S+", pin), pin.splitlines()[0]
        assert "--hash=sha256:" in pin


def test_the_installed_set_is_one_that_works() -> None:
    # fastapi 0.151 and later answer 422 to Prefect's own client, 0.155 does not import.
    assert Version("0.139") <= Version(version("fastapi")) < Version("0.151")
    assert Version("3.8.3") <= Version(version("prefect")) < Version("3.10")
    assert Version("1.0.1") <= Version(version("starlette")) < Version("2")


def test_what_is_installed_is_what_is_pinned() -> None:
    text = "".join((ROOT / f"constraints{one}.txt").read_text() for one in ("", "-parquet"))
    pins = dict(re.findall(r"^([\w.-]+)==(\S+) \\$", text, re.M))
    for name in ("fastapi", "sqlalchemy", "httpx", "aiohttp", "boto3", "pyarrow"):
        assert version(name) == pins[name]


def test_prefect_is_pinned_to_what_every_index_can_install_and_tested_with_the_newest() -> None:
    files = ("constraints.txt", "constraints-dev.txt", "constraints-prefect-3.9.txt")
    found = [re.findall(r"^prefect==(\S+) \\$", (ROOT / name).read_text(), re.M) for name in files]
    assert found == [["3.8.8"], ["3.8.8"], ["3.9.1"]]
    assert "--hash=sha256:" in (ROOT / files[-1]).read_text()
    assert version("prefect") in ("3.8.8", "3.9.1")


def test_no_file_names_a_package_registry() -> None:
    hosts = "|".join(("py" + "pi.org", "python" + "hosted", "registry.npm" + "js"))
    assert grep("-I", "-l", "-E", hosts) == []
