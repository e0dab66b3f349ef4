"""A key or a signed address is nowhere but where it has to be."""

from __future__ import annotations

from pathlib import Path

from tests.programs import Desk, simple_sheet


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
    texts = {f"output {n}": call.out + call.err for n, call in enumerate(said)}
    texts |= {
        str(file): file.read_bytes().decode("latin-1")
        for file in tmp_path.rglob("*")
        if file.is_file() and file.suffix != ".mp4"
    }
    secrets = (desk.environ["CALLSHEET_API_KEY"], "signature=", "Bearer mav_")
    for where, text in texts.items():
        assert not [secret for secret in secrets if secret in text], where
