"""A key or a signed address is nowhere but where it has to be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path

import pytest

from tests.programs import Desk, Finished, simple_sheet
from tests.web import serving


@pytest.mark.merge
def test_no_file_and_no_output_holds_a_secret(desk: Desk, tmp_path: Path, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2))

    said = [
        desk.run(sheet, "-v"),
        desk.call("rows", name, "--json"),
        desk.call("explain", name, "r001", "--json"),
        desk.call("status", "--json"),
        desk.call("plan", sheet, "--json", "-o", "plan.json"),
    ]

    assert said[0].status == 0
    secrets = (desk.environ["CALLSHEET_API_KEY"], "signature=", "Bearer mav_")
    _none_in(tmp_path, said, secrets)


@pytest.mark.merge
def test_what_signs_the_address_of_a_sheet_is_kept_nowhere(
    desk: Desk, tmp_path: Path, name: str
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / f"{name}.csv").write_text(simple_sheet(1))
    with _site(tmp_path / "site") as address:
        signed = f"{address}/{name}.csv?X-Amz-Signature=canary0sheet"
        said = [
            desk.call("check", signed, "--json"),
            desk.call("plan", signed, "--json", "-o", "plan.json"),
            desk.run(signed, "-v"),
            desk.call("explain", name, "r001", "--json"),
        ]
    assert said[2].status == 0, said[2].err
    _none_in(tmp_path, said, ("canary0sheet",))


def _none_in(folder: Path, said: list[Finished], secrets: tuple[str, ...]) -> None:
    """Look for secrets in what was said, and in every file that was left."""
    texts = {f"output {n}": call.out + call.err for n, call in enumerate(said)}
    texts |= {
        str(file): file.read_bytes().decode("latin-1")
        for file in folder.rglob("*")
        if file.is_file() and file.suffix != ".mp4"
    }
    for where, text in texts.items():
        assert not [secret for secret in secrets if secret in text], where


@contextmanager
def _site(folder: Path) -> Iterator[str]:
    """Publish the files of a folder on this machine."""
    with serving(partial(_Quiet, directory=str(folder))) as url:
        yield url


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass
