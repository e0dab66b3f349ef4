"""`--canary`, `--waves` and `--first`: a few videos before the others, and nobody pays for more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from callsheet.deployments.terminal import user_name
from callsheet.flows.executor import run_sheet
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.run import Run
from callsheet.tasks.campaign.values import Plan, RunOutcome
from callsheet.tasks.runtime.errors import OverBudget, SpendRefused
from callsheet.tasks.runtime.settings import load_settings
from tests.approvers import Approving
from tests.pipeline.nights import watching
from tests.programs import Desk, Sandbox, sandbox, simple_sheet

pytestmark = pytest.mark.merge

#: Approves every round.
LATER = Approving(later=True)
CLIP = "id,operation,image,tool,fields.product,title,duration_seconds,aspect_ratio\n"
DEAR = "b,image-to-video,https://img.example/x.png,,,,,\n"


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A sandbox whose videos are as long as they were asked for."""
    folder = tmp_path_factory.mktemp("real")
    with sandbox(folder, "--render", "real", "--time-scale", "100") as running:
        yield running


def delivered(desk: Desk, name: str) -> list[str]:
    return [row for row, state in desk.states(name).items() if state == "delivered"]


async def of_rounds(
    desk: Desk, real: Sandbox, sheet: str, approver: Approving = LATER, **options: Any
) -> RunOutcome:
    """Run a sheet in this process, where checks let one round after the other go on."""
    desk.environ |= real.environ
    settings = load_settings(environ=desk.environ, folder=desk.folder)
    hooks = {one: options.pop(one) for one in ("watch", "begins") if one in options}
    asked = {"sheet": str(desk.folder / sheet), "canary": "auto", **options}
    asked.setdefault("campaign", sheet.removesuffix(".csv"))
    return await run_sheet(RunOptions.of(asked), settings, approver, **hooks)


def test_one_video_is_made_and_the_others_once_it_is_kept(
    desk: Desk, service: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(4))
    planned = desk.call("plan", sheet, "--canary", "--json").json
    first = desk.run(sheet, "--canary", "--budget", "60")
    again = desk.run(sheet, "--canary")
    assert [row["action"] for row in planned["rows"]] == ["make", "wait", "wait", "wait"]
    assert (planned["credits"]["total"], planned["credits"]["later"]) == (15, 45)
    assert (first.status, first.json["credits"]["charged"]) == (3, 15)
    assert again.json["credits"]["charged_this_run"] == 0
    held = {row: one["reason"] for row, one in desk.rows(name).items() if one["state"] == "held"}
    waiting = "waits for the test video r001"
    assert held == dict.fromkeys(("r002", "r003", "r004"), waiting)
    for words in (
        "3 rows wait until you keep the first video of their kind, then 45 credits",
        "60 credits for all rounds",
        f"if these are good, `callsheet approve {name} --run` keeps them",
    ):
        assert words in first.err
    # All went as planned.
    assert "need attention" not in first.err
    desk.call("review", name, "r001", "keep")
    ended = desk.run(sheet, "--canary")
    assert (ended.status, ended.json["credits"]["charged"]) == (0, 60)
    assert desk.paid_once(name, service)


@pytest.mark.safeguard("tasks/aftercare/waiting.py", 'if verdict != "reject"}', "}")
def test_a_rejected_canary_stops_its_own_kind_alone(desk: Desk, name: str) -> None:
    text = simple_sheet(4, columns=",language", cells=",de").replace("Kettle 4", "Kettle 3")
    head, *lines = text.replace("Video 4", "Video 3").splitlines()
    english = [line.replace(",de", ",en") for line in lines[2:]]
    sheet = desk.sheet(f"{name}.csv", "\n".join([head, *lines[:2], *english]))
    desk.run(sheet, "--canary")
    desk.call("review", name, "r001", "reject", "--because", "voice")
    desk.call("review", name, "r003", "keep")
    ended = desk.run(sheet, "--canary")
    assert (ended.status, delivered(desk, name)) == (3, ["r001", "r003", "r004"])
    refused = desk.call("approve", name, "--yes", "--run", "--json")
    assert (refused.status, refused.json["approved"]) == (3, [])
    rejected = f"waits for the test video r001, which is rejected: `callsheet retake {name} r001"
    for said in (refused.err, ended.err):
        assert f"1 row {rejected}" in said
    assert "if these are good" not in ended.err


def test_approving_what_waits_goes_on_with_the_first_video(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(3))
    studio.plan_fault(on="render", nth=1, do="slow", seconds=1800)
    assert desk.run(sheet, "--canary", "--max-wait", "2s").status == 5
    ended = desk.call("approve", name, "--yes", "--run", "--max-wait", "1s", "--json")
    assert (ended.status, ended.json["approved"]) == (5, [])
    assert ended.json["rows"] == {"total": 3, "rendering": 1, "held": 2}
    assert "2 rows wait for the test video r001, which is rendering" in ended.err


def test_what_waits_is_approved_without_its_sheet(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(3))
    desk.run(sheet, "--canary")
    (desk.folder / sheet).unlink()
    asked = desk.call("approve", name)
    done = desk.call("approve", name, "--yes", "--run", "--json")
    nothing = desk.call("approve", name, "--yes", "--json")
    assert asked.status == 4
    assert "by product-launch, length 5 s, ratio 9:16, lang: the service's choice" in asked.out
    assert "leave the length" not in asked.out
    assert (done.status, done.json["approved"]) == (0, ["r002", "r003"])
    assert done.json["credits"]["charged"] == 45
    assert "3 delivered; this run was charged 30 credits, the campaign has cost 45" in done.err
    assert delivered(desk, name) == ["r001", "r002", "r003"]
    first = desk.rows(name)["r001"]
    assert (first["review"], first["reviewed_by"]) == ("keep", user_name())
    assert (nothing.status, nothing.json["approved"]) == (0, [])


def test_a_sheet_that_was_edited_is_named_before_rows_are_made_without_it(
    desk: Desk, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
    desk.run(sheet, "--canary")
    commands = (("approve", name), ("retake", name, "r001"))
    before = [desk.call(*words) for words in commands]
    desk.sheet(sheet, simple_sheet(2).replace("Kettle 2", "Teapot"))

    for ended in (desk.call(*words) for words in commands):
        assert f"{sheet} was edited since its last run" in ended.out, ended.out
        assert f"`callsheet run {sheet}` shows what changed" in ended.out

    assert not any("was edited" in ended.out + ended.err for ended in before)


@pytest.mark.safeguard("tasks/campaign/steps.py", "whole = released(plan) if", "whole = plan if")
def test_the_checks_let_the_others_go_on_the_same_approval(
    desk: Desk, real: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(3))
    short, flagged = (
        desk.run(sheet, "--canary", "auto", "--budget", most) for most in ("40", "45")
    )
    desk.environ |= real.environ
    other = desk.sheet(f"{name}-b.csv", simple_sheet(3, title="Other").replace("Kettle", "Pot"))
    ended = desk.run(other, "--canary", "auto", "--budget", "45")
    # A video of another length than was asked for is looked at by somebody first.
    assert (short.status, flagged.status) == (4, 3)
    assert flagged.json["credits"]["charged"] == 15
    assert (ended.status, ended.json["rows"]) == (0, {"total": 3, "delivered": 3})
    assert "3 delivered; this run was charged 45 credits" in ended.err
    runs = desk.call("status", f"{name}-b", "--json").json["runs"]
    assert [(run["kind"], run["exit"]) for run in runs] == [("run", 0)], "its rounds are one run"
    history = desk.call("explain", f"{name}-b", "r002").out
    assert " with --yes, and the first videos passed their checks, plan " in history


@pytest.mark.safeguard("flows/executor.py", "if not self._shown.by:", "if False:")
@pytest.mark.parametrize("at", ["service: before the request", "service: after the answer"])
def test_a_run_that_was_killed_in_its_first_round_needs_one_more(
    desk: Desk, real: Sandbox, name: str, at: str
) -> None:
    desk.environ |= real.environ
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2, title=at))
    words = ("run", sheet, "--canary", "auto", "--without-prefect", "--json")
    killed = desk.kill(*words, "--yes", at=f"{at} (create)")
    # Whoever goes on with it is asked about the price of the others.
    asked = desk.call(*words)
    ended = desk.call(*words, "--yes")
    assert (killed.status, asked.status, ended.status) == (-9, 4, 0), asked.err + ended.err
    assert "15 credits are not approved" in asked.err
    assert ended.json["rows"] == {"total": 2, "delivered": 2}
    assert ended.json["credits"]["charged"] == 30


@pytest.mark.safeguard(
    "flows/executor.py",
    "check_valid(released(self._shown), plan, tolerance=self._tolerance, look=again_with())",
    "",
)
async def test_what_is_let_go_is_not_paid_for_at_another_price(
    desk: Desk, real: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(3))

    async def edited() -> None:
        desk.sheet(sheet, simple_sheet(3).replace("r003", "r004"))

    with pytest.raises(SpendRefused, match="r004: not in the plan"):
        await of_rounds(desk, real, sheet, begins=edited)
    assert len(delivered(desk, name)) == 1


def stopped(run: Run) -> None:
    run.stop("Ctrl-C")


def lost(run: Run) -> None:
    run.lose("another run has the campaign")


def interrupted(run: Run) -> None:
    run.interrupted = "stopped in Prefect"


@pytest.mark.safeguard("flows/executor.py", "or run.is_stopped or", "or")
@pytest.mark.parametrize("end", [stopped, lost, interrupted])
async def test_a_run_that_is_stopped_starts_no_second_round(
    desk: Desk, real: Sandbox, name: str, end: Callable[[Run], None]
) -> None:
    """It is stopped when its canary is delivered."""

    def listen(run: Run) -> None:
        run.listeners.append(lambda seen: end(run) if seen.rows.get("delivered") else None)

    sheet = desk.sheet(f"{name}.csv", simple_sheet(3))
    outcome = await of_rounds(desk, real, sheet, watch=watching(listen))
    assert outcome.charged_this_run == 15
    assert sorted(desk.states(name).values()) == ["delivered", "held", "held"]


@pytest.mark.safeguard("flows/executor.py", "if not run.approver.approves_later or", "if")
async def test_who_was_not_shown_the_price_of_a_second_round_approves_none(
    desk: Desk, real: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(3))
    outcome = await of_rounds(desk, real, sheet, Approving())
    assert (outcome.charged_this_run, outcome.exit_status) == (15, 3)


@pytest.mark.safeguard("flows/executor.py", "options = options.but(run_id=uuid4().hex)", "pass")
async def test_both_rounds_share_the_budget_of_the_run(
    desk: Desk, real: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(3))
    outcome = await of_rounds(desk, real, sheet, run_budget="30", at_limit="fit")
    assert outcome.charged_this_run == 30


@pytest.mark.safeguard("flows/executor.py", "options = options.but(keep_budget=True)", "pass")
async def test_a_second_round_keeps_the_budget_that_was_approved(
    desk: Desk, real: Sandbox, name: str
) -> None:
    class Raised(Approving):
        async def approve(self, plan: Plan) -> Plan:
            return replace(await super().approve(plan), budget=Decimal(50))

    sheet = desk.sheet(f"{name}.csv", simple_sheet(3))
    await of_rounds(desk, real, sheet, Raised(later=True), budget="45")
    assert desk.call("status", name, "--json").json["credits"]["budget"] == 50


@pytest.mark.safeguard("flows/executor.py", "options = options.but(keep_budget=True)", "pass")
async def test_a_second_round_gives_no_budget_back_that_was_lowered_meanwhile(
    desk: Desk, real: Sandbox, name: str
) -> None:
    text = simple_sheet(3, columns=",language", cells=",en").replace("9:16,en", "9:16,de", 1)
    sheet = desk.sheet(f"{name}.csv", text)
    desk.environ |= real.environ
    assert desk.run(sheet, "--first", "1", "--budget", "90").status == 0
    other = replace(desk, may_be_here=False)

    async def lowered() -> None:
        words = ("retake", name, "r001", "--yes", "--budget", "45", "--json")
        assert (await asyncio.to_thread(other.call, *words)).status == 0

    with pytest.raises(OverBudget, match="45 credits for the campaign"):
        await of_rounds(desk, real, sheet, budget="90", begins=lowered)
    assert desk.call("status", name, "--json").json["credits"]["budget"] == 45
    assert desk.states(name) == {"r001": "delivered", "r002": "delivered", "r003": "quoted"}
    keys = [row["key"] for row in desk.rows(name).values() if row["key"]]
    assert sum(real.charged(keys).values()) == 2


def test_the_first_rows_alone_are_made_however_often(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(4))
    first, again, wrong = (desk.run(sheet, "--first", count) for count in ("2", "2", "none"))
    assert first.json["credits"]["charged"] == 30
    assert again.json["credits"]["charged_this_run"] == 0
    assert delivered(desk, name) == ["r001", "r002"]
    assert wrong.status == 2
    assert '"none" for first is not a number of rows' in wrong.err


def test_what_is_paid_for_is_fetched_though_a_price_is_missing(
    desk: Desk, name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    options = ("--render", "real", "--time-scale", "3")
    with sandbox(tmp_path_factory.mktemp("slow"), *options) as slow:
        desk.environ |= slow.environ
        text = simple_sheet(3)
        sheet = desk.sheet(f"{name}.csv", text)
        words = ("--canary", "auto", "--budget", "45")
        made = f"a,,,product-launch,Kettle,{name},5,9:16\n"
        mixed = desk.sheet(f"{name}-b.csv", f"{CLIP}{made}{DEAR}")
        desk.leave_under_way(sheet, *words)
        desk.leave_under_way(mixed, "--select", "a", "--budget", "45")
        # A row that waits for the canary is edited: its new price is not known yet.
        desk.sheet(sheet, text.replace("Kettle 3", "Pot 3"))
        fetched = desk.run(sheet, *words)
        assert fetched.status in (0, 3), fetched.err
        assert "r001" in delivered(desk, name)
        ended = desk.run(sheet, *words)
        assert (ended.status, ended.json["credits"]["charged"]) == (0, 45), ended.err
        # Nothing new is paid for while a price cannot be read under a budget.
        refused = desk.run(mixed, "--budget", "45")
        assert (refused.status, "no readable price" in refused.err) == (4, True), refused.err
        assert desk.states(f"{name}-b") == {"a": "delivered", "b": "quoted"}
        assert sum(one["event"] == "charge" for one in slow.charges()) == 4


@pytest.mark.safeguard("flows/executor.py", 'UNDER_WAY - {"submitting"}', "UNDER_WAY")
def test_a_refused_run_sends_no_request_that_may_not_have_left(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    made = f"a,,,product-launch,Kettle,{name},5,9:16\n"
    sheet = desk.sheet(f"{name}.csv", f"{CLIP}{made}{DEAR}")
    before = len(studio.charges())
    studio.plan_fault(on="create", do="drop-before")
    parked = desk.run(sheet, "--select", "a", "--budget", "45", "--max-wait", "1s")
    studio.clear_faults()
    refused = desk.run(sheet, "--budget", "45")
    assert (parked.status, parked.json["rows"]["submitting"]) == (5, 1), parked.err
    assert (refused.status, "no readable price" in refused.err) == (4, True), refused.err
    assert desk.states(name)["a"] == "submitting"
    assert len(studio.charges()) == before


def test_each_wave_is_made_once_the_one_before_is_kept(
    desk: Desk, service: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(5))
    waves = ("--waves", "20%,60%")
    planned = desk.call("plan", sheet, *waves, "--json").json
    first = desk.run(sheet, *waves, "--budget", "75")
    again = desk.run(sheet, *waves)
    status = desk.call("status", name, "--json").json
    assert [row["action"] for row in planned["rows"]] == ["make", *["wait"] * 4]
    assert (first.status, first.json["credits"]["charged"]) == (3, 15)
    assert again.json["credits"]["charged_this_run"] == 0
    assert "2 rows wait until you keep the videos of wave 1, then 30 credits" in first.err
    assert status["waiting"] == {"waits for wave 1 of 3": 2, "waits for wave 2 of 3": 2}
    for kept, charged in ((("r001",), 30), (("r002", "r003"), 30), ((), 0)):
        for row in kept:
            desk.call("review", name, row, "keep")
        ended = desk.run(sheet, *waves)
        assert ended.json["credits"]["charged_this_run"] == charged
        if "r001" in kept:
            assert delivered(desk, name) == ["r001", "r002", "r003"]
    assert (ended.status, ended.json["credits"]["charged"]) == (0, 75)
    assert desk.paid_once(name, service)


@pytest.mark.safeguard("tasks/aftercare/waiting.py", " and good.issuperset(videos):", ":")
def test_the_next_wave_is_approved_without_its_sheet(desk: Desk, name: str) -> None:
    desk.run(desk.sheet(f"{name}.csv", simple_sheet(4)), "--waves", "25%,50%")
    asked = desk.call("approve", name)
    second = desk.call("approve", name, "--yes", "--run", "--json")
    desk.call("review", name, "r001", "reject", "--because", "voice", "--instead-of", "keep")
    refused = desk.call("approve", name, "--yes", "--json")
    desk.call("review", name, "r001", "keep", "--instead-of", "reject")
    third = desk.call("approve", name, "--yes", "--run", "--json")
    assert (asked.status, third.status) == (4, 0)
    approved = [one.json["approved"] for one in (second, refused, third)]
    assert approved == [["r002"], [], ["r003", "r004"]]
    assert [desk.rows(name)[row]["review"] for row in ("r001", "r002")] == ["keep", "keep"]


@pytest.mark.always
def test_rows_are_made_once_their_date_has_come(desk: Desk, name: str) -> None:
    later, before = (
        simple_sheet(2, columns=",deliver_after", cells=f",{day}")
        for day in ("2099-01-01", "2020-01-01")
    )
    sheet = desk.sheet(f"{name}.csv", later)
    early, again = desk.run(sheet), desk.run(sheet)
    status = desk.call("status", name, "--json").json
    assert (early.status, again.status) == (0, 0)
    assert early.json["rows"] == again.json["rows"] == {"total": 2, "planned": 2}
    assert early.json["credits"]["charged"] == 0
    assert "2 rows wait for their dates" in early.err
    assert status["waiting"] == {"waits until 2099-01-01": 2}
    for text, charged in ((before, 30), (later, 0)):
        ended = desk.run(desk.sheet(sheet, text))
        assert ended.json["rows"] == {"total": 2, "delivered": 2}
        assert ended.json["credits"]["charged_this_run"] == charged


@pytest.mark.always
@pytest.mark.parametrize("said", ["50%,10%", "0%", "110%", "some"])
def test_parts_that_cannot_be_meant_are_refused(desk: Desk, name: str, said: str) -> None:
    ended = desk.run(desk.sheet(f"{name}.csv", simple_sheet(2)), "--waves", said)
    assert (ended.status, f'"{said}" for waves' in ended.err) == (2, True)


@pytest.mark.parametrize(("later", "charged"), [(True, 75), (False, 15)])
async def test_checks_release_every_wave_on_one_approval(
    desk: Desk, real: Sandbox, name: str, later: bool, charged: int
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(5))
    outcome = await of_rounds(desk, real, sheet, Approving(later=later), waves="20%,60%")
    assert outcome.charged_this_run == charged
