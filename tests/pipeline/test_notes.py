"""How a sheet was understood is said once, by each command that reads it."""

from __future__ import annotations

from tests.programs import Desk, simple_sheet

NOTE = "is not UTF-8 and was read as Windows-1252"


def test_every_command_on_a_sheet_says_its_notes_once(desk: Desk, name: str) -> None:
    sheet = f"{name}.csv"
    (desk.folder / sheet).write_bytes(simple_sheet(1).replace("Video", "Fïlm").encode("cp1252"))

    said = [desk.call(*words, "--json") for words in (("check", sheet), ("plan", sheet))]
    run = desk.run(sheet)

    assert [one.err.count(f"note {name}.csv {NOTE}") for one in (*said, run)] == [1, 1, 1]
    assert [NOTE in " ".join(one.json["notes"]) for one in said] == [True, True]


def test_a_refused_sheet_says_its_notes_too(desk: Desk, name: str) -> None:
    (desk.folder / f"{name}.csv").write_bytes("id,tool,größe\nr1,t,5\n".encode("cp1252"))

    ended = desk.call("check", f"{name}.csv", "--json")

    assert ended.status == 2
    assert ended.err.count(f"note {name}.csv {NOTE}") == 1
    assert NOTE in " ".join(ended.json["notes"])
