"""An afternoon with a workbook that was made for people: mapped, tried, released, changed."""

from __future__ import annotations

import json
import shlex
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.programs import Desk, Sandbox

pytestmark = pytest.mark.merge

ROWS = 12
HEADERS = ["Video ID", "Headline", "Script", "matrix.aspect_ratio", "Length", "Max cost",
           "x_brand", "matrix.language", "Comments", "Anmerkung"]  # fmt: skip
MAPS = ["Video ID=id", "Headline=title", "Length=duration_seconds", "Max cost=max_credits",
        "Comments=notes"]  # fmt: skip


def workbook(path: Path, **changes: Any) -> None:
    """Write the workbook: a title over merged cells, a blank row, headers of its own, rows."""
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    sheet.merge_cells("A1:F1")
    sheet["A1"] = "Spring campaign, second draft"
    sheet.append([])
    sheet.append(HEADERS)
    numbers = range(1, ROWS + 1)
    for n in reversed(numbers) if changes.get("sorted") else numbers:
        told = {"title": f"Kettle {n}", "ending": "And it is quiet.", **changes.get(f"k{n}", {})}
        script = json.dumps({"scenes": [f"Kettle {n} boils fast.", told["ending"]]})
        sheet.append([f"k{n:02}", told["title"], script, changes.get("ratios", "9:16"), "10s", 40,
                      "Acme" if n % 2 else "Bolt", changes.get("languages", "en"),
                      "", "rush"])  # fmt: skip
    book.save(path)


def test_an_afternoon(desk: Desk, service: Sandbox, name: str) -> None:
    file = f"{name}.xlsx"
    workbook(desk.folder / file)

    # Its headers are its own: `check` proposes what they mean, and one command confirms that.
    proposed = desk.call("check", file, "--json")
    told = {one["header"]: one["proposed"] for one in proposed.json["columns"] if one["proposed"]}
    assert (proposed.status, told) == (2, dict(one.split("=") for one in MAPS))
    assert "Anmerkung -> x_anmerkung, a column that you keep for yourself" in proposed.err
    mapped = desk.call(*shlex.split(proposed.err.splitlines()[-1])[1:])
    assert (mapped.status, (desk.folder / "columns.toml").exists()) == (0, True), mapped.err

    # Three are made first, then the others, each once.
    first = desk.run(file, "--first", "3", "--budget", "4000")
    assert (first.status, first.json["rows"]["delivered"]) == (0, 3), first.err
    rest = desk.run(file)
    assert (rest.status, rest.json["rows"]) == (0, {"total": ROWS, "delivered": ROWS}), rest.err
    assert rest.json["credits"]["charged_this_run"] == (ROWS - 3) * 20

    # Three languages in three formats: nothing that is made is made again.
    many = {"languages": "en|de|fr", "ratios": "9:16|1:1|16:9"}
    workbook(desk.folder / file, **many)
    plan = desk.call("plan", file, "--json").json
    assert plan["credits"]["total"] == ROWS * 8 * 20
    wide = desk.run(file)
    assert wide.json["rows"] == {"total": ROWS * 9, "delivered": ROWS * 9}, wide.err

    # A title and the narration of one scene change, in every variant of their rows: edits.
    changed = {"k2": {"title": "Kettle two"}, "k5": {"ending": "And it whistles."}}
    workbook(desk.folder / file, **many, **changed)
    desk.call("plan", file, "-o", "plan.html")
    plan = json.loads(desk.call("show-plan", "plan.html", "--json").out)
    edits = [row["edit_of"] for row in plan["rows"] if row["action"] == "edit"]
    assert sorted(edits) == ["scene"] * 9 + ["title"] * 9
    # The price that is approved is a limit; what the service charged is less.
    edited = desk.call("run", "--plan", "plan.html", "--yes", "--json", "--without-prefect")
    assert edited.status == 0, edited.err
    assert 0 < edited.json["credits"]["charged_this_run"] < plan["credits"]["total"] == 18 * 40

    # The file gets another name and another order: the campaign goes on, for nothing.
    other = f"{name} final.xlsx"
    workbook(desk.folder / other, **many, **changed, sorted=True)
    (desk.folder / file).unlink()
    again = desk.run(other, "--campaign", name, "--same-campaign")
    assert (again.status, again.json["credits"]["charged_this_run"]) == (0, 0), again.err

    # All videos in one file, and what each brand has cost.
    taken = desk.call("export", name, "--zip", "all.zip")
    assert taken.status == 0, taken.err
    with zipfile.ZipFile(desk.folder / "all.zip") as found:
        kinds = [Path(one).suffix for one in found.namelist()]
    assert (kinds.count(".mp4"), kinds.count(".srt"), kinds.count(".csv")) == (108, 108, 1)
    costs = desk.call("costs", "--by", "brand", "--json").json
    assert {line["name"]: line["videos"] for line in costs["costs"]} == {"Acme": 54, "Bolt": 54}

    # The ledger has what the service charged, and every video was bought once.
    ids = {row["video_id"] for row in desk.rows(name).values()}
    charged = [one for one in service.charges() if one["video_id"] in ids]
    total = sum(one["credits"] for one in charged if one["event"] == "charge")
    assert len(ids) == 108
    assert costs["total"]["charged"] == again.json["credits"]["charged"] == total
