"""`names`: what files are called, and that a new template moves none of those that are there."""

from __future__ import annotations

from pathlib import Path

from tests.here import Here

SHEET = """campaign: {name}
names: "{names}"
defaults: {{tool: product-launch, duration_seconds: 5, captions: {captions}}}
rows:
  - {{id: a, fields: {{product: Mug}}, x_brand: Acme}}
  - {{id: b, fields: {{product: Cup}}, x_brand: Bolt}}
"""


def made(here: Here, name: str, names: str, captions: str = "none") -> int:
    text = SHEET.format(name=name, names=names, captions=captions)
    (here.folder / "s.yaml").write_text(text)
    return here.call("run", "s.yaml", "--yes", "--without-prefect", "--json").status


def stored(here: Here, name: str) -> set[str]:
    found = Path(here.folder / "deliveries" / name).rglob("*.*")
    return {path.name for path in found if path.suffix in (".mp4", ".srt")}


def test_files_are_named_and_keep_their_names(here: Here, name: str) -> None:
    assert made(here, name, "{brand}_{id}_v{take}") == 0
    assert stored(here, name) == {"Acme_a_v1.mp4", "Bolt_b_v1.mp4"}

    again = made(here, name, "{id}-{brand}-{take:02}", captions="srt")
    assert (again, stored(here, name)) == (0, {"Acme_a_v1.mp4", "Bolt_b_v1.mp4"})

    # What is added to a take goes next to its video; a new take has the new name.
    assert here.call("verify", name, "--repair").status == 0
    assert stored(here, name) >= {"Acme_a_v1.srt", "Bolt_b_v1.srt"}
    retake = ("retake", name, "a", "--because", "logo", "--run", "--yes")
    assert here.call(*retake).status == 0
    assert {one for one in stored(here, name) if one.endswith("mp4")} == {
        "Acme_a_v1.mp4", "Bolt_b_v1.mp4", "a-Acme-02.mp4",
    }  # fmt: skip
    assert here.call("verify", name).status == 0


def test_a_new_ledger_finds_files_under_the_names_that_they_have(here: Here, name: str) -> None:
    assert made(here, name, "{brand}_{id}_v{take}") == 0
    before = stored(here, name)
    for file in (here.folder / ".callsheet").glob("ledger.db*"):
        file.unlink()

    assert made(here, name, "{id}") == 0

    assert stored(here, name) == before
    assert here.call("status", name, "--json").json["credits"]["charged"] == 30


def test_two_takes_never_share_a_name(here: Here, name: str) -> None:
    assert made(here, name, "{brand}") == 0
    retake = ("retake", name, "a", "--because", "logo", "--run", "--yes")
    assert here.call(*retake).status == 0
    assert stored(here, name) == {"Acme.mp4", "Acme-take2.mp4", "Bolt.mp4"}


def test_nothing_is_asked_of_the_service_while_two_files_have_one_name(
    here: Here, name: str
) -> None:
    here.work_with({"CALLSHEET_BASE_URL": "http://127.0.0.1:9/api/v1", "CALLSHEET_API_KEY": "k"})
    assert made(here, name, "video_v{take}") == 2
