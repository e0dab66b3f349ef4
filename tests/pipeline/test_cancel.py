"""`callsheet cancel`: nothing new begins, what renders is released, what is made is delivered."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.programs import Desk, Sandbox, sandbox, simple_sheet, wait_until

pytestmark = pytest.mark.merge


@pytest.fixture
def studio(studio: Sandbox) -> Sandbox:
    """Renders take long enough to cancel them."""
    studio.plan_fault(on="render", do="slow", seconds=30)
    return studio


def bought(desk: Desk, service: Sandbox, name: str) -> list[str]:
    """The keys of this campaign that cost something in the end."""
    keys = {row["key"] for row in desk.rows(name).values()}
    return [e["idempotency_key"] for e in service.bought() if e["idempotency_key"] in keys]


def test_a_run_in_another_process_obeys(desk: Desk, studio: Sandbox, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(3))
    process = desk.start("run", sheet, "--yes", "--json", "--without-prefect")
    wait_until(lambda: name in desk.call("status", "--json").out)
    wait_until(lambda: list(desk.states(name).values()) == ["rendering"] * 3)
    ended = desk.call("cancel", name, "--yes", "--json")
    out, err = process.communicate(timeout=90)
    assert (ended.status, ended.json["credits"]) == (0, {"released": 45}), ended.err
    assert {(row["from"], row["to"]) for row in ended.json["rows"]} == {("rendering", "cancelled")}
    assert process.returncode == 0, err
    assert json.loads(out)["rows"] == {"total": 3, "cancelled": 3}
    assert json.loads(out)["credits"]["charged"] == 0
    assert bought(desk, studio, name) == []
    # It stays cancelled, and asking again changes nothing.
    creates = studio.creates()
    assert desk.run(sheet).json["rows"] == {"total": 3, "cancelled": 3}
    assert desk.call("cancel", name, "--yes").out == "nothing to cancel\n"
    assert studio.creates() == creates


@pytest.mark.safeguard(
    "tasks/aftercare/cancel.py", "check_same_money(campaign, sandbox=at.settings.sandbox)", ""
)
def test_a_sandbox_is_not_asked_to_cancel_what_a_service_makes(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    desk.leave_under_way(desk.sheet(f"{name}.csv", simple_sheet(1)))
    # What it does not know would be taken for gone, and its credits for free again.
    tried = Desk(desk.folder).call("cancel", name, "--yes", "--sandbox")
    left = desk.states(name)
    ended = desk.call("cancel", name, "--yes", "--json")
    assert (tried.status, left) == (4, {"r001": "rendering"})
    assert "was made with the real service" in tried.err
    assert (ended.status, ended.json["credits"]) == (0, {"released": 15})
    assert bought(desk, studio, name) == []


def test_without_a_run_the_command_does_it_itself(desk: Desk, studio: Sandbox, name: str) -> None:
    desk.leave_under_way(desk.sheet(f"{name}.csv", simple_sheet(2)))
    # Its answer is lost once: what became of it is looked for.
    studio.plan_fault(on="cancel", do="drop-after", nth=1)
    one = desk.call("cancel", name, "r001", "--yes", "--json")
    refused = desk.call("cancel", name)
    assert one.status == 0, one.err
    (told,) = one.json["rows"]
    assert (told["row"], told["to"], told["credits"]) == ("r001", "cancelled", 15)
    assert (refused.status, "nothing was done" in refused.err) == (4, True)
    assert desk.states(name) == {"r001": "cancelled", "r002": "rendering"}
    assert desk.call("cancel", name, "--yes").status == 0
    assert bought(desk, studio, name) == []


def test_rows_that_wait_for_a_rate_limit_are_cancelled_and_nothing_is_asked_early(
    tmp_path: Path, name: str
) -> None:
    with sandbox(tmp_path / "limited", "--rate", "1", "--rate-window", "600") as limited:
        limited.plan_fault(on="render", do="never")
        desk = Desk(tmp_path, {**limited.environ, "CALLSHEET_AT_ONCE": "2"})
        sheet = desk.sheet(f"{name}.csv", simple_sheet(5))
        process = desk.start("run", sheet, "--yes", "--without-prefect")
        wait_until(lambda: limited.creates() >= 2)
        wait_until(lambda: {"rendering", "submitting"} <= set(desk.states(name).values()))
        ended = desk.call("cancel", name, "--yes", "--json")
        # The service asked not to be called for ten minutes: that holds for a cancel, too.
        assert ended.status == 5, ended.err
        assert sorted(desk.states(name).values()) == ["cancelled"] * 4 + ["rendering"]
        assert limited.calls().get("cancel", 0) == 0
        assert [e["event"] for e in limited.charges()] == ["reserve"]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=90)
        assert desk.call("status", name, "--json").json["credits"]["reserved"] == 15


def test_a_video_that_is_there_by_then_is_delivered_instead(tmp_path: Path, name: str) -> None:
    with sandbox(tmp_path / "quick") as quick:
        desk = Desk(tmp_path, dict(quick.environ))
        # The video is made while nobody looks: every look is answered with 500.
        quick.plan_fault(on="get", do="error-before", status=500)
        desk.leave_under_way(desk.sheet(f"{name}.csv", simple_sheet(1)))
        quick.clear_faults()
        ended = desk.call("cancel", name, "--yes", "--json")
        assert ended.status == 0, ended.err
        (row,) = ended.json["rows"]
        assert (row["from"], row["to"], row["credits"]) == ("rendering", "delivered", 0)
        assert "delivered instead" in row["words"]
        assert desk.rows(name)["r001"]["charged"] == 15


def test_a_create_of_unknown_outcome_stays_until_a_run_has_asked_again(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    studio.plan_fault(on="create", do="drop-after")
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1))
    desk.leave_under_way(sheet)
    creates = studio.creates()
    ended = desk.call("cancel", name, "--yes", "--json")
    (row,) = ended.json["rows"]
    assert (ended.status, row["to"], row["credits"]) == (5, "submitting", 0)
    assert "not known" in row["words"]
    assert studio.creates() == creates
    studio.clear_faults()
    assert desk.run(sheet).json["rows"] == {"total": 1, "cancelled": 1}
    assert bought(desk, studio, name) == []


def test_rows_that_have_not_begun_need_no_service(tmp_path: Path, name: str) -> None:
    with sandbox(tmp_path / "poor", "--credits", "20") as poor:
        desk = Desk(tmp_path, {**poor.environ, "CALLSHEET_AT_ONCE": "1"})
        desk.run(desk.sheet(f"{name}.csv", simple_sheet(3)))
    offline = Desk(tmp_path)
    ended = offline.call("cancel", name, "--select", "state:held", "--yes", "--json")
    assert ended.status == 0
    assert [(r["from"], r["to"]) for r in ended.json["rows"]] == [("held", "cancelled")] * 2
    states = {"r001": "delivered", "r002": "cancelled", "r003": "cancelled"}
    assert offline.states(name) == states
    unknown = offline.call("cancel", name, "r9", "--yes")
    assert (unknown.status, 'no row "r9"' in unknown.err) == (2, True)
    assert offline.call("cancel", "--yes").status == 0
