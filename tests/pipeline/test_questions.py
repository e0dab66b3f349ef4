"""The question before credits are spent or work is thrown away, at a real pseudo-terminal."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tests.launcher import launcher
from tests.programs import Desk, Sandbox, simple_sheet

#: What may be typed; None is Ctrl-C.
NO, YES = b"n\n", b"yes\n"


def test_a_video_made_by_hand(desk: Desk, service: Sandbox, name: str) -> None:
    wanted = ("video", "create", "--tool", "product-launch", "--duration", "20", "--title", name)

    no = _answer(desk, wanted, NO)
    left = _answer(desk, wanted, None)
    created = service.calls().get("create", 0)
    yes = _answer(desk, wanted, YES)

    assert (no[0], left[0], yes[0]) == (4, 4, 0)
    assert "Spend 45 credits? [y/N]" in yes[2]
    assert "nothing was spent" in left[1]["error"]
    assert service.calls()["create"] == created + 1
    assert service.charged([yes[1]["key"]]) in ({}, {yes[1]["key"]: 1})


@pytest.mark.merge
@pytest.mark.parametrize(
    "how", [("--without-prefect",), pytest.param((), marks=pytest.mark.prefect)], ids=str
)
def test_a_run(desk: Desk, service: Sandbox, name: str, how: tuple[str, ...]) -> None:
    wanted = ("run", desk.sheet(f"{name}.csv", simple_sheet(1)), *how)
    before = service.calls().get("create", 0)

    left = _answer(desk, wanted, None)
    no = _answer(desk, wanted, NO) if how else left

    assert (left[0], no[0], service.calls().get("create", 0)) == (4, 4, before)
    assert "Spend 15 credits? [y/N]" in left[2]
    assert "nothing was spent" in left[1]["error"]
    if how:
        assert _answer(desk, wanted, YES)[0] == 0


@pytest.mark.merge
@pytest.mark.parametrize(
    ("text", "why", "ends"),
    [
        (simple_sheet(1).replace("Kettle", "Teapot"), "was changed", 4),
        (simple_sheet(1), None, 0),
        (None, "is not there any more", 4),
    ],
)
def test_a_sheet_that_is_saved_while_the_question_is_open(
    desk: Desk, service: Sandbox, name: str, text: str | None, why: str | None, ends: int
) -> None:
    sheet = desk.folder / desk.sheet(f"{name}.csv", simple_sheet(1))
    before = service.calls().get("create", 0)

    ended = _answer(
        desk,
        ("run", str(sheet), "--without-prefect"),
        YES,
        meanwhile=sheet.unlink if text is None else partial(sheet.write_text, text),
    )

    assert ended[0] == ends
    if why is not None:
        assert ended[1]["error"].endswith(
            f"{why} since its plan was made; nothing was approved, nothing was spent"
        )
    assert service.calls().get("create", 0) == before + (ends == 0)
    assert desk.rows(name)["r001"]["state"] == ("quoted" if ends else "delivered")


@pytest.mark.merge
def test_another_take_and_an_end(desk: Desk, service: Sandbox, name: str) -> None:
    assert desk.run(desk.sheet(f"{name}.csv", simple_sheet(1))).status == 0
    before = dict(service.calls())

    for words in (("retake", name, "r001"), ("cancel", name, "r001")):
        for keys in (None, NO):
            status, said, _ = _answer(desk, words, keys)
            assert (status, "nothing was done" in said["error"]) == (4, True)
        if words[0] == "retake":
            assert _answer(desk, words, YES)[0] == 0
    after = service.calls()
    assert after.get("create") == before.get("create")
    assert desk.rows(name)["r001"]["state"] == "approved"


@pytest.mark.merge
def test_rows_that_left_the_sheet_in_numbers(desk: Desk, name: str) -> None:
    assert desk.run(desk.sheet(f"{name}.csv", simple_sheet(5))).status == 0
    text = simple_sheet(1) + "new,product-launch,Lamp,Lamp,5,9:16\n"
    wanted = ("run", desk.sheet(f"{name}.csv", text), "--without-prefect", "--yes")

    no = _answer(desk, wanted, NO)
    before = desk.rows(name)
    yes = _answer(desk, wanted, YES)

    assert "Spend 15 credits, and retire 4 of 5 rows that left the sheet? [y/N]" in no[2]
    assert (no[0], yes[0]) == (4, 0)
    assert [row["state"] for row in before.values()].count("delivered") == 5
    assert yes[1]["rows"] == {"total": 6, "delivered": 2, "retired": 4}


@pytest.mark.merge
def test_what_else_a_run_changes_is_said_above_the_question(desk: Desk, name: str) -> None:
    assert desk.run(desk.sheet(f"{name}.csv", simple_sheet(2))).status == 0
    tree = f"campaign: {name}\nbudget: 90\nkeep_at_service: 30d\nrows:\n"
    tree += "- {id: new, tool: product-launch, title: Lamp, topic: Lamp, duration_seconds: 5}\n"
    sheet = desk.sheet(f"{name}.yaml", tree)
    wanted = ("run", sheet, "--without-prefect", "--same-campaign")

    saved = desk.call("plan", sheet, "--same-campaign", "-o", "plan.html")
    no = _answer(desk, wanted, NO)

    shown, asked, _ = no[2].partition("[y/N]")
    assert (no[0], bool(asked), saved.status) == (4, True, 0)
    page = (desk.folder / "plan.html").read_text()
    for words in (
        "2 rows left the sheet and are retired (r001, r002)",
        "delivered videos are deleted at the service after 30d",
        "the budget of the campaign becomes 90 credits (so far: none)",
    ):
        assert words in " ".join(shown.split())
        assert words in page


@pytest.mark.merge
def test_a_sheet_that_is_read_in_another_way(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1, columns=",Claim", cells=",Boils"))
    assert desk.run(sheet, "--map", "Claim=x_claim").status == 0
    other = ("run", sheet, "--without-prefect", "--map", "title=x_title", "--map", "Claim=title")

    no = _answer(desk, other, NO)
    again = _answer(desk, (*other, "--yes"), NO)
    yes = _answer(desk, other, YES, YES)

    assert (
        '"Video 1" of row r001 was title and is x_title now. Read it this way from now on?' in no[2]
    )
    assert (no[0], again[0], yes[0]) == (4, 4, 0)


@pytest.mark.merge
def test_hidden_rows_of_a_workbook(desk: Desk, name: str) -> None:
    sheet = desk.workbook(f"{name}.xlsx", simple_sheet(3), hidden=(3,))
    wanted = ("run", sheet, "--without-prefect")

    left = _answer(desk, wanted, None)
    no = _answer(desk, wanted, NO, YES)
    after_no = set(desk.rows(name))
    yes = _answer(desk, wanted, YES, YES)

    assert (left[0], no[0], yes[0]) == (4, 0, 0)
    assert "1 row is hidden (r002). Make a video of it too? [y/N]" in left[2]
    assert "nothing was spent" in left[1]["error"]
    assert after_no == {"r001", "r003"}
    assert desk.rows(name)["r002"]["state"] == "delivered"


def _answer(
    desk: Desk,
    words: tuple[str, ...],
    *keys: bytes | None,
    meanwhile: Callable[[], object] = bool,
) -> tuple[int, dict[str, Any], str]:
    """Run a command at a terminal and type `keys` at its questions; None interrupts it there.

    `meanwhile` is called while a question is open.

    Returns the exit status, the document on stdout and what the terminal showed.
    """
    ours, theirs = pty.openpty()
    process = launcher().start(
        (*words, "--json"),
        cwd=desk.folder,
        env=desk.environment(),
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    with open(ours, "r+b", buffering=0) as terminal:
        shown = b""
        for asked, key in enumerate(keys, start=1):
            while shown.count(b"[y/N]") < asked:
                shown += terminal.read(4096)
            meanwhile()
            if key is None:
                process.send_signal(signal.SIGINT)
            else:
                terminal.write(key)
        try:
            out, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    return process.returncode, json.loads(out) if out else {}, shown.decode()
