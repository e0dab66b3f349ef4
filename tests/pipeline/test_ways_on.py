"""What is suggested is typed as it stands, in the very situation, and does what it says."""

from __future__ import annotations

import re
import shlex

import pytest

from tests.databases import take_ledger
from tests.fixtures import sandbox_fixture
from tests.programs import Desk, Finished, Sandbox, simple_sheet

pytestmark = pytest.mark.merge


#: A sandbox where things go wrong, for all tests of this file.
own_sandbox = sandbox_fixture("--credits", "1000000")


def follow(desk: Desk, line: str, **known: str) -> Finished:
    """Type a command that was suggested; `known` stands for its capitals.

    Says yes where it asks, by the option that it names then.
    """
    program, *words = shlex.split(line)
    assert program == "callsheet"
    typed = [known.get(word, word) for word in words]
    if typed[0] == "run":
        typed.append("--without-prefect")
    ended = desk.call(*typed)
    if ended.status == 4 and "`--yes`" in ended.err:
        ended = desk.call(*typed, *added(ended))
    return ended


def suggested(said: str, beginning: str) -> str:
    """Return the one suggestion in what was said that begins so."""
    found = [one for one in re.findall(r"`(callsheet [^`]*)`", said) if one.startswith(beginning)]
    assert len(set(found)) == 1, said
    return found[0]


def added(ended: Finished) -> list[str]:
    """Return the options with which the same command is to be run again."""
    found = re.search(r"run the same command again with `([^`]*)`", ended.err)
    assert found is not None, ended.err
    return shlex.split(found[1])


def way(desk: Desk, name: str, row: str, command: str) -> str:
    """Return what `explain` says can be typed about a row with one command."""
    told = desk.call("explain", name, row, "--json").json["commands"]
    return next(one["line"] for one in told if one["line"].startswith(f"callsheet {command} "))


def test_before_anything_was_run(desk: Desk, name: str) -> None:
    take_ledger(desk.folder)
    desk.sheet(f"{name}.csv", simple_sheet(1))

    made = follow(desk, suggested(desk.call("status").err, "callsheet run"), SHEET=f"{name}.csv")

    assert made.status == 0, made.err
    for line in ("rows nobody", "verify nobody", "export nobody", "explain nobody r001"):
        lost = desk.call(*line.split())
        assert lost.status == 2
        assert name in follow(desk, suggested(lost.err, "callsheet status")).out
    for line in (f"explain {name} r9", f"retake {name} r9", f"resolve {name} r9 --abandon"):
        lost = desk.call(*line.split())
        assert lost.status == 2
        assert "r001" in follow(desk, suggested(lost.err, "callsheet rows")).out
    settled = desk.call("resolve", name, "r001", "--abandon")
    assert follow(desk, suggested(settled.err, "callsheet explain")).status == 0
    first = next(iter(desk.rows(name)["r001"]["deliveries"]))["uri"]
    (desk.folder / first).unlink()
    gone = desk.call("verify", name)
    assert follow(desk, suggested(gone.out, "callsheet verify")).status == 0


def test_a_plan_that_does_not_fit_its_budget(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(3))

    planned = desk.call("plan", sheet, "--budget", "31", "-o", "saved.json")
    part = follow(desk, suggested(planned.err, f"callsheet run {sheet} --budget 31 --at-limit"))
    assert desk.rows(name)["r001"]["state"] == "delivered"
    assert part.status == 3
    stopped = desk.run(sheet, "--budget", "31")
    assert stopped.status == 4
    raised = added(stopped)
    assert raised == ["--budget", "45"]
    assert desk.run(sheet, *raised).status == 0


def test_a_saved_plan_and_one_that_has_moved_on(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
    saved = desk.call("plan", sheet, "--select", "r001", "-o", "saved plan.json")
    desk.sheet(sheet, simple_sheet(2, title="Other"))

    late = follow(desk, suggested(saved.err, "callsheet run"))
    assert late.status == 4
    new = follow(desk, suggested(late.err, "callsheet plan"), SHEET=sheet, FILE="new.json")
    assert new.status == 0
    assert follow(desk, suggested(new.err, "callsheet run")).status == 0


def test_rows_that_failed_were_refused_or_are_held(desk: Desk, studio: Sandbox, name: str) -> None:
    studio.plan_fault(on="render", do="fail", nth=1)
    studio.plan_fault(on="create", do="status", status=400, nth=2)
    text = simple_sheet(3, columns=",max_credits", cells=",15").replace("9:16,15", "9:16,14", 1)
    sheet = desk.sheet(f"{name}.csv", text)
    ended = desk.run(sheet)
    assert ended.json["rows"] == {"total": 3, "held": 1, "failed": 1, "rejected": 1}
    assert "held" in follow(desk, suggested(ended.err, "callsheet rows")).out
    of = {line["state"]: row for row, line in desk.rows(name).items()}
    told = suggested(ended.err, "callsheet explain")
    assert "callsheet retake" in follow(desk, told, ROW=of["failed"]).out

    failed = desk.rows(name)[of["failed"]]["reason"]
    made = follow(desk, suggested(failed, "callsheet retake"))
    assert made.status == 0, made.err
    desk.sheet(sheet, text.replace("9:16,14", "9:16,15").replace("Video 2", "Two").replace(
        "Video 3", "Three"))  # fmt: skip
    assert follow(desk, way(desk, name, of["rejected"], "run")).status == 0
    assert {line["state"] for line in desk.rows(name).values()} == {"delivered"}


def test_a_stalled_row_and_a_retake(desk: Desk, studio: Sandbox, name: str) -> None:
    desk.environ["CALLSHEET_DEADLINE"] = "1s"
    studio.plan_fault(on="render", do="never", nth=1)
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1))
    assert desk.run(sheet).json["rows"] == {"total": 1, "stalled": 1}

    assert follow(desk, way(desk, name, "r001", "run")).status == 3
    differs = follow(desk, way(desk, name, "r001", "reconcile"))
    assert differs.status == 3
    assert follow(desk, suggested(differs.out, "callsheet reconcile")).status in (0, 3)
    assert desk.run(sheet).json["rows"] == {"total": 1, "stalled": 1}
    # Without --run it is approved, and how it is made is told.
    approved = desk.call("retake", name, "r001", "--yes")
    assert "may still finish and be charged" in approved.out
    assert "nothing is made yet" in approved.out
    again = desk.call("retake", name, "r001")
    assert again.out.count("approved already") == 1
    assert follow(desk, suggested(approved.out, "callsheet retake")).status == 0
    assert desk.rows(name)["r001"]["take"] == 2
    assert follow(desk, suggested(approved.out, "callsheet run")).status == 0


def test_calls_without_a_key_whose_answers_were_lost(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    desk.environ["CALLSHEET_EVIDENCE_WAIT"] = "1s"
    studio.plan_fault(on="image-to-video", do="drop-before")
    image = "https://images.example/k.png,image-to-video,5"
    text = f"id,title,image,operation,duration_seconds\na,{name} a,{image}\nb,{name} b,{image}\n"
    ended = desk.run(desk.sheet(f"{name}.csv", text))
    assert ended.json["rows"] == {"total": 2, "uncertain": 2}, ended.err
    studio.clear_faults()

    for row, option, state in (("a", "--resend", "planned"), ("b", "--abandon", "cancelled")):
        reason = desk.rows(name)[row]["reason"]
        lines = re.findall(r"`(callsheet resolve [^`]*)`", reason)
        assert len(lines) == 3
        (line,) = [one for one in lines if option in one]
        assert follow(desk, line).status == 0
        assert desk.rows(name)[row]["state"] == state
    assert desk.run(f"{name}.csv").json["rows"] == {"total": 2, "delivered": 1, "cancelled": 1}


def test_a_word_that_is_a_campaign_and_a_row(desk: Desk, name: str) -> None:
    desk.run(desk.sheet(f"{name}.csv", simple_sheet(1)))
    text = simple_sheet(1).replace("r001", name)
    desk.run(desk.sheet(f"{name}-2.csv", text))

    for beginning in (f"callsheet retake {name}-2 {name}", f"callsheet retake {name} --select"):
        asked = desk.call("retake", name)
        assert asked.status == 2
        assert follow(desk, suggested(asked.err, beginning)).status == 0


def test_credits_that_run_out_and_every_suggestion_names_the_profile(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    service = studio.environ
    (desk.folder / "key").write_text(service["CALLSHEET_API_KEY"])
    profile = f'base_url = "{service["CALLSHEET_BASE_URL"]}"\napi_key_file = "key"\n'
    (desk.folder / "studio.toml").write_text(profile)
    desk.environ.clear()
    studio.plan_fault(on="create", do="no-credits")
    of = ("--profile", "studio.toml")
    ended = desk.run(desk.sheet(f"{name}.csv", simple_sheet(2)), *of)
    assert ended.json["rows"] == {"total": 2, "held": 2}, ended.err

    told = follow(desk, suggested(ended.err, "callsheet explain"), ROW="r001")
    assert "402" in told.out
    assert "add credits, then run again" in told.out
    studio.clear_faults()
    lines = re.findall(r"(?<!\.)callsheet [a-z]+ .*", ended.err + told.out)
    assert len(lines) >= 3
    assert all("--profile studio.toml" in line for line in lines)
    run = re.search(r"callsheet run .*studio\.toml", told.out)
    again = follow(desk, run[0])
    assert again.status == 0, again.err
    shown = follow(desk, suggested(ended.err, "callsheet rows"))
    assert shown.out.count("delivered") == 2
