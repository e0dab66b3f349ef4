"""`names`: what files are called, and that a new template moves none of those that are there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs import Desk

SHEET = """campaign: {name}
names: "{names}"
defaults: {{tool: product-launch, duration_seconds: 5, captions: {captions}}}
rows:
  - {{id: a, fields: {{product: Mug}}, x_brand: Acme}}
  - {{id: b, fields: {{product: Cup}}, x_brand: Bolt}}
"""


def made(desk: Desk, name: str, names: str, captions: str = "none") -> int:
    text = SHEET.format(name=name, names=names, captions=captions)
    (desk.folder / "s.yaml").write_text(text)
    return desk.call("run", "s.yaml", "--yes", "--without-prefect", "--json").status


def stored(desk: Desk, name: str) -> set[str]:
    found = Path(desk.folder / "deliveries" / name).rglob("*.*")
    return {path.name for path in found if path.suffix in (".mp4", ".srt")}


@pytest.mark.merge
def test_files_are_named_and_keep_their_names(desk: Desk, name: str) -> None:
    assert made(desk, name, "{brand}_{id}_v{take}") == 0
    assert stored(desk, name) == {"Acme_a_v1.mp4", "Bolt_b_v1.mp4"}

    again = made(desk, name, "{id}-{brand}-{take:02}", captions="srt")
    assert (again, stored(desk, name)) == (0, {"Acme_a_v1.mp4", "Bolt_b_v1.mp4"})

    # What is added to a take goes next to its video; a new take has the new name.
    assert desk.call("verify", name, "--repair").status == 0
    assert stored(desk, name) >= {"Acme_a_v1.srt", "Bolt_b_v1.srt"}
    retake = ("retake", name, "a", "--because", "logo", "--run", "--yes")
    assert desk.call(*retake, here=True).status == 0
    assert {one for one in stored(desk, name) if one.endswith("mp4")} == {
        "Acme_a_v1.mp4", "Bolt_b_v1.mp4", "a-Acme-02.mp4",
    }  # fmt: skip
    assert desk.call("verify", name).status == 0


@pytest.mark.merge
def test_a_new_ledger_finds_files_under_the_names_that_they_have(desk: Desk, name: str) -> None:
    assert made(desk, name, "{brand}_{id}_v{take}") == 0
    before = stored(desk, name)
    for file in (desk.folder / ".callsheet").glob("ledger.db*"):
        file.unlink()

    assert made(desk, name, "{id}") == 0

    assert stored(desk, name) == before
    assert desk.call("status", name, "--json").json["credits"]["charged"] == 30


@pytest.mark.merge
def test_two_takes_never_share_a_name(desk: Desk, name: str) -> None:
    assert made(desk, name, "{brand}") == 0
    retake = ("retake", name, "a", "--because", "logo", "--run", "--yes")
    assert desk.call(*retake, here=True).status == 0
    assert stored(desk, name) == {"Acme.mp4", "Acme-take2.mp4", "Bolt.mp4"}


def test_nothing_is_asked_of_the_service_while_two_files_have_one_name(
    desk: Desk, name: str
) -> None:
    desk.environ = {"CALLSHEET_BASE_URL": "http://127.0.0.1:9/api/v1", "CALLSHEET_API_KEY": "k"}
    assert made(desk, name, "video_v{take}") == 2
