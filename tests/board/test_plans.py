"""From a sheet to a run by the interface for programs, with a sandbox and real processes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from callsheet.deployments.board.sheet_reading import SheetReader
from callsheet.deployments.commands.review import decide
from callsheet.tasks.ledger.board_settings import set_on_board
from callsheet.tasks.ledger.campaigns import find_campaign
from callsheet.tasks.ledger.people import Person
from callsheet.tasks.ledger.plans import plans_of
from callsheet.tasks.ledger.values import rows_of, takes_of
from callsheet.tasks.sheet.read import FoundSheet
from tests.board.conftest import NAMES, OpenBoard, board_at, forked_run
from tests.board.stage import API, approved, ended, hand_in, made, plan_for, priced
from tests.databases import lay_ledger
from tests.fixtures import sandbox_fixture
from tests.programs import Sandbox, simple_sheet

service = sandbox_fixture("--credits", "1000000", "--time-scale", "600")


@pytest.fixture
async def board(tmp_path: Path, made_ledger: Path, service: Sandbox) -> AsyncIterator[OpenBoard]:
    lay_ledger(tmp_path, made_ledger)
    async with board_at(tmp_path, environ=service.environ, begin=forked_run) as opened:
        yield opened


@pytest.fixture
def name(tmp_path: Path) -> str:
    """A campaign no other test has: keys of the same video would be the same."""
    return f"c-{abs(hash(str(tmp_path))):x}"


async def states(board: OpenBoard, campaign: str) -> dict[str, str]:
    """Return the states of a campaign's rows."""
    found = await board.ledger.read(find_campaign, name=campaign)
    rows = await board.ledger.read(rows_of, campaign_id=found.id)
    return {row.row: row.state for row in rows}


async def paid(board: OpenBoard, service: Sandbox, campaign: str) -> int:
    """Return how many takes of a campaign were charged, by the service's own log."""
    found = await board.ledger.read(find_campaign, name=campaign)
    takes = await board.ledger.read(takes_of, campaign_id=found.id)
    return sum(service.charged([take.key for _, take in takes if take.key]).values())


@pytest.mark.merge
async def test_the_page_plans_the_rest_after_the_first_rows(board: OpenBoard, name: str) -> None:
    plan = await plan_for(board.reviewer, f"{name}.csv", simple_sheet(3), first=1)
    assert (await ended(board.viewer, await approved(board.approver, plan)))["exit"] == 0
    browser = await board.form("approver")

    page = await browser.get(f"/c/{name}")
    assert "2 rows are not approved yet" in page.text
    assert ">Plan the rest</button>" in page.text
    assert "Plan the rest" not in (await (await board.form("viewer")).get(f"/c/{name}")).text

    plan_id = (await browser.post(f"/c/{name}/again")).url.path.rpartition("/")[2]
    assert (await priced(board.viewer, plan_id))["counts"] == {"none": 1, "make": 2}


async def test_a_sheet_becomes_videos_once(board: OpenBoard, service: Sandbox, name: str) -> None:
    plan = await plan_for(board.reviewer, f"{name}.csv", simple_sheet(3), budget=100)
    assert plan["state"] == "ready"
    assert (plan["campaign"], plan["counts"], plan["budget"]) == (name, {"make": 3}, 100)
    assert plan["total"] == sum(row["credits"] for row in plan["rows"])
    run = await approved(board.approver, plan)
    # Whoever follows the answer finds the campaign, whether its run has begun or not.
    assert (await board.viewer.get(f"{API}/campaigns/{name}")).status_code == 200
    over = await ended(board.viewer, run)
    assert (over["exit"], over["started_by"]) == (0, "Ann")
    logs = [*(board.board.folder / "runs").glob("*.log")]
    assert [log.stat().st_mode & 0o777 for log in logs] == [0o600]
    assert set((await states(board, name)).values()) == {"delivered"}
    assert await paid(board, service, name) == 3
    again = await plan_for(board.reviewer, f"{name}.csv", simple_sheet(3))
    assert (again["counts"], again["total"]) == ({"none": 3}, 0)
    assert again["budget"] == 100


@pytest.mark.merge
@pytest.mark.parametrize(("before", "after"), [("{row}_a", "{row}_b"), ("{row}_a", None)])
async def test_a_plan_is_not_approved_under_other_names_than_it_showed(
    board: OpenBoard, service: Sandbox, name: str, before: str, after: str | None
) -> None:
    put = partial(board.ledger.write, set_on_board, name="names", by="Ada", at=1.0)
    await put(value=before)
    plan = await plan_for(board.reviewer, f"{name}.csv", simple_sheet(1))
    await put(value=after)

    refused = await board.approver.post(f"{API}/plans/{plan['plan']}/approve", json={})

    assert refused.status_code == 409, refused.text
    assert await board.ledger.read(find_campaign, name=name) is None
    now = await priced(board.viewer, refused.json()["plan"])
    assert (await ended(board.viewer, await approved(board.approver, now)))["exit"] == 0
    (video,) = (board.board.settings.home.parent / "deliveries" / name).rglob("*.mp4")
    assert video.name == ("r001_b.mp4" if after else "r001-take1.mp4")


@pytest.mark.merge
async def test_rows_of_a_plan_that_is_approved_are_not_approved_in_another_campaign(
    board: OpenBoard, service: Sandbox, name: str
) -> None:
    plans = [await plan_for(board.admin, f"{name}-{n}.csv", simple_sheet(3)) for n in "ab"]
    before = service.calls().get("create", 0)
    run = await approved(board.admin, plans[0])
    answer = await board.admin.post(f"{API}/plans/{plans[1]['plan']}/approve")
    assert answer.status_code == 409, answer.text
    new = await priced(board.admin, answer.json()["plan"])
    assert f"campaign {name}-a already" in new["refusal"]
    (other,) = new["elsewhere"]
    assert (other["campaign"], len(other["rows"])) == (f"{name}-a", 3)
    assert (await ended(board.viewer, run))["exit"] == 0
    assert service.calls()["create"] == before + 3


@pytest.mark.safeguard("deployments/board/board.py", "if not person.may(role):", "if False:")
async def test_somebody_below_an_approver_spends_nothing(board: OpenBoard, name: str) -> None:
    plan = await plan_for(board.reviewer, f"{name}.csv", simple_sheet(1))
    for who in (board.viewer, board.reviewer):
        answer = await who.post(f"{API}/plans/{plan['plan']}/approve")
        assert answer.status_code == 403, answer.text
    assert (await board.viewer.post(f"{API}/plans", json={"sheet": "x"})).status_code == 403
    assert (await board.nobody.get(f"{API}/plans/{plan['plan']}")).status_code == 401
    assert (await board.viewer.get(f"{API}/plans/{plan['plan']}")).json()["state"] == "ready"


async def test_the_first_page_lists_the_plans_that_wait_for_approval(
    board: OpenBoard, name: str
) -> None:
    await plan_for(board.reviewer, f"{name}.csv", simple_sheet(1))
    plan = await plan_for(board.reviewer, f"{name}.csv", simple_sheet(2))
    viewer = await board.form("viewer")
    before = (await viewer.get("/")).text
    await approved(board.admin, plan)
    after = (await viewer.get("/")).text

    waiting = before.partition("Waiting for approval")[2].partition("</section>")[0]
    assert re.findall(r"/plans/([\w-]+)", waiting) == [plan["plan"]]
    assert name in waiting
    assert ">30" in waiting
    assert "Rita" in waiting
    assert plan["plan"] not in after


@pytest.mark.merge
async def test_an_allowance_is_for_the_day(board: OpenBoard, name: str) -> None:
    text = simple_sheet(4)  # 60 credits; Ann may approve 100 a day.
    first = await plan_for(board.approver, f"{name}-a.csv", text)
    await approved(board.approver, first)
    second = await plan_for(board.approver, f"{name}-b.csv", text, new_campaign=True)
    answer = await board.approver.post(f"{API}/plans/{second['plan']}/approve")
    assert answer.status_code == 403
    assert "20 too many" in answer.json()["detail"]
    assert (await board.admin.post(f"{API}/plans/{second['plan']}/approve")).status_code == 202


async def test_an_allowance_counts_the_highest_price(
    tmp_path: Path, service: Sandbox, name: str
) -> None:
    more = {"QUOTE_TOLERANCE": "70%", "CREDIT_PRICE": "0.5 USD", "MONTH_BUDGET": "40"}
    environ = service.environ | {f"CALLSHEET_{name}": value for name, value in more.items()}
    async with board_at(tmp_path, environ=environ) as board:
        plan = await plan_for(board.approver, f"{name}.csv", simple_sheet(4))
        path = f"/plans/{plan['plan']}"
        answer = await board.approver.post(f"{API}{path}/approve")
        over = await board.admin.post(f"{API}{path}/approve", json={"budget": 20})
        page = (await (await board.form("viewer")).get(path)).text
    assert (answer.status_code, over.status_code, plan["total"]) == (403, 422, 60)
    # Every door says the same: in credits, and in money where a credit has a price.
    assert "the plan may cost up to 102 credits (51.00 USD)" in answer.json()["detail"]
    assert "100 credits (50.00 USD) a day" in answer.json()["detail"]
    assert "2 (1.00 USD) too many" in answer.json()["detail"]
    assert "the budget of the campaign is 20 credits (10.00 USD)" in over.json()["detail"]
    assert "40 (20.00 USD) too many" in over.json()["detail"]
    (limit,) = plan["limits"]
    assert limit.startswith("40 (20.00 USD) of the 40 credits (20.00 USD) of the budget of 20")
    assert limit.endswith("are left: rows that do not fit go on hold")
    assert limit in page


@pytest.mark.safeguard(
    "tasks/aftercare/approval.py",
    "return None if wished == campaign.budget else wished",
    "return None",
)
@pytest.mark.safeguard(
    "tasks/aftercare/approval.py",
    "words = beyond_allowance(connection, asked.plan, approver)\n    if words",
    "words = None\n    if words",
)
@pytest.mark.merge
async def test_no_allowance_covers_what_else_a_plan_changes(board: OpenBoard, name: str) -> None:
    await made(board, f"{name}.csv", simple_sheet(3))
    tree = f"campaign: {name}\nkeep_at_service: 30d\nnames: 'x/{{id}}_v{{take}}'\n"
    row = "- {{id: r{n:03}, tool: product-launch, title: Video {n}, fields.product: Kettle {n}, "
    row += "duration_seconds: 5, aspect_ratio: '9:16'}}"
    tree += "rows:\n" + "\n".join(row.format(n=n) for n in (1, 2, 4)) + "\n"
    plan = await plan_for(board.reviewer, f"{name}.yaml", tree, same_campaign=True)

    assert plan["changes"] == [
        "1 row left the sheet and is retired (r003); videos and history stay",
        "delivered videos are deleted at the service after 30d",
        "new files of 3 rows get other names: x/r001_v{take}",
    ]
    page = (await (await board.form("approver")).get(f"/plans/{plan['plan']}")).text
    above, button, _ = page.partition("Approve 1 row for 15 credits")
    assert button
    assert all(words.split(" (")[0][1:] in above for words in plan["changes"])
    path = f"{API}/plans/{plan['plan']}/approve"
    limited = await board.approver.post(path)
    assert (limited.status_code, (await states(board, name))["r003"]) == (403, "delivered")
    assert "covers only making videos, and with this plan 1 row left" in limited.json()["detail"]
    assert (await ended(board.viewer, await approved(board.admin, plan)))["exit"] == 0
    assert (await states(board, name))["r003"] == "retired"

    # A plan that only changes such things can be approved on its page, too.
    only = await plan_for(board.reviewer, f"{name}.yaml", tree.replace("30d", "60d"))
    page = (await (await board.form("admin")).get(f"/plans/{only['plan']}")).text
    assert only["changes"] == [
        "delivered videos are deleted at the service after 60d (so far: after 30d)"
    ]
    assert "Apply the changes for 0 credits</button>" in page
    await ended(board.viewer, await approved(board.admin, only))
    found = await board.ledger.read(find_campaign, name=name)
    assert found.keep_at_service == 60 * 86400.0
    budget = await plan_for(board.approver, f"{name}.yaml", tree.replace("30d", "60d"), budget=900)
    limited = await board.approver.post(f"{API}/plans/{budget['plan']}/approve")
    assert limited.status_code == 403
    assert "sets the budget" in limited.json()["detail"]


@pytest.mark.merge
async def test_a_refusal_says_no_folder_of_the_machine(
    board: OpenBoard, name: str, tmp_path: Path
) -> None:
    await made(board, f"{name}.csv", simple_sheet(3))
    other = f"{name}.csv", simple_sheet(3).replace("\nr0", "\ns0")
    plan = await plan_for(board.reviewer, *other)
    path = f"/plans/{plan['plan']}/approve"
    browser = await board.form("approver")
    said = [
        (await hand_in(board.reviewer, *other))["refusal"],
        plan["refusal"],
        (await board.approver.post(API + path)).text,
        (await browser.post(path)).text,
    ]
    remedy = 'make a plan with another "campaign", or with "same_campaign": true'
    assert plan["remedy"] == remedy
    for words in said:
        assert f"{name}.csv" in words
        assert str(tmp_path) not in words
    assert str(tmp_path) in (await board.admin.post(API + path)).text


@pytest.mark.merge
async def test_two_who_approve_have_one_run(board: OpenBoard, service: Sandbox, name: str) -> None:
    plan = await plan_for(board.reviewer, f"{name}.csv", simple_sheet(2))
    path = f"{API}/plans/{plan['plan']}/approve"
    answers = await asyncio.gather(
        *(who.post(path) for who in (board.approver, board.admin) for _ in range(3))
    )
    assert [answer.status_code for answer in answers] == [202] * 6
    assert len({answer.json()["run"] for answer in answers}) == 1
    await ended(board.viewer, answers[0].json()["run"])
    assert await paid(board, service, name) == 2
    found = (await board.viewer.get(f"{API}/plans/{plan['plan']}")).json()
    assert (found["state"], found["run"]) == ("approved", answers[0].json()["run"])
    assert (await board.approver.post(path)).json() == answers[0].json()


class LateReader(SheetReader):
    """Has one person's sheet read late: once `goes_on` is set."""

    def __init__(self, late: str) -> None:
        super().__init__()
        self._late = late
        self.is_asked, self.goes_on = asyncio.Event(), asyncio.Event()

    async def find(self, *args: Any, person: Person | None) -> FoundSheet:
        if person is not None and person.name == self._late:
            self.is_asked.set()
            await self.goes_on.wait()
        return await super().find(*args, person=person)


@pytest.mark.safeguard(
    "deployments/board/services/approval.py", "raise _ApprovedMeanwhile(run)", "pass"
)
@pytest.mark.merge
async def test_who_approves_what_has_been_made_meanwhile_is_answered_with_its_run(
    tmp_path: Path, made_ledger: Path, service: Sandbox, name: str
) -> None:
    lay_ledger(tmp_path, made_ledger)
    reader = LateReader(NAMES["admin"])
    opening = board_at(tmp_path, environ=service.environ, begin=forked_run, reader=reader)
    async with opening as board:
        plan = await plan_for(board.reviewer, f"{name}.csv", simple_sheet(2))
        path = f"{API}/plans/{plan['plan']}/approve"
        second = asyncio.create_task(board.admin.post(path))
        await reader.is_asked.wait()
        first = (await board.approver.post(path)).json()
        await ended(board.viewer, first["run"])
        reader.goes_on.set()

        answer = await second

        assert (answer.status_code, answer.json()) == (202, first)
        plans = await board.ledger.read(plans_of, campaign=name, limit=9)
        assert [one.id for one in plans] == [plan["plan"]]
        assert await paid(board, service, name) == 2


@pytest.mark.merge
async def test_a_run_that_is_resumed_does_not_go_back_to_its_sheet_once_another_was_run(
    board: OpenBoard, service: Sandbox, name: str
) -> None:
    old = await approved(
        board.approver, await plan_for(board.reviewer, f"{name}.csv", simple_sheet(2))
    )
    await ended(board.viewer, old)
    newer = await plan_for(board.reviewer, f"{name}.csv", simple_sheet(3))
    await ended(board.viewer, await approved(board.approver, newer))

    assert (await board.approver.post(f"{API}/runs/{old}/carry-on")).status_code == 202
    over = await ended(board.viewer, old)

    assert (over["exit"], over["words"]) == (0, None)
    assert set((await states(board, name)).values()) == {"delivered"}
    assert await paid(board, service, name) == 3


@pytest.mark.merge
async def test_a_plan_overtaken_leads_to_a_new_one(
    board: OpenBoard, service: Sandbox, name: str
) -> None:
    one, other = [await plan_for(board.reviewer, f"{name}.csv", simple_sheet(2)) for _ in range(2)]
    await ended(board.viewer, await approved(board.approver, one))
    answer = await board.admin.post(f"{API}/plans/{other['plan']}/approve")
    assert answer.status_code == 409, answer.text
    new = await priced(board.viewer, answer.json()["plan"])
    page = (await (await board.form("viewer")).get(f"/plans/{new['plan']}")).text
    assert "<p>r001: it costs nothing now; r002: it costs nothing now.</p>" in page
    assert (new["counts"], new["total"], new["replaces"]) == ({"none": 2}, 0, other["plan"])
    old = (await board.viewer.get(f"{API}/plans/{other['plan']}")).json()
    assert (old["state"], old["replaced_by"]) == ("void", new["plan"])
    again = await board.admin.post(f"{API}/plans/{other['plan']}/approve")
    assert (again.status_code, again.json()["plan"]) == (409, new["plan"])
    assert await paid(board, service, name) == 2


async def test_of_two_plans_the_second_says_once_that_nothing_was_approved(
    board: OpenBoard, name: str
) -> None:
    one, other = [await plan_for(board.reviewer, f"{name}.csv", simple_sheet(2)) for _ in range(2)]
    approving = (board.admin.post(f"{API}/plans/{plan['plan']}/approve") for plan in (one, other))
    first, refused = sorted(await asyncio.gather(*approving), key=lambda one: one.status_code)
    assert refused.json()["detail"].count("nothing was approved or spent") == 1
    await ended(board.viewer, first.json()["run"])


async def test_risen_prices_spend_nothing(board: OpenBoard, service: Sandbox, name: str) -> None:
    plan = await plan_for(board.reviewer, f"{name}.csv", simple_sheet(2))
    service.plan_fault(on="estimate", do="rewrite", nth=[*range(1, 9)], set={"credits": 99})
    try:
        answer = await board.admin.post(f"{API}/plans/{plan['plan']}/approve")
        assert answer.status_code == 409, answer.text
        assert "r001: 15 credits then, 99 now" in answer.json()["detail"]
        new = await priced(board.viewer, answer.json()["plan"])
        assert new["total"] == 198
    finally:
        service.clear_faults()
    assert await board.ledger.read(find_campaign, name=name) is None


@pytest.mark.merge
async def test_a_budget_too_small_is_given_with_the_approval(board: OpenBoard, name: str) -> None:
    plan = await plan_for(board.reviewer, f"{name}.csv", simple_sheet(3), budget=20)
    path = f"{API}/plans/{plan['plan']}/approve"
    answer = await board.admin.post(path)
    assert answer.status_code == 422
    assert "25 too many" in answer.json()["detail"]
    assert (await board.admin.post(path, json={"budget": 44})).status_code == 422
    # On the page, what was typed stays: a second click must not approve without a budget.
    form = await board.form("admin")
    for typed in ("44", "lots"):
        refused = await form.post(f"/plans/{plan['plan']}/approve", data={"budget": typed})
        assert (refused.status_code, f'value="{typed}"' in refused.text) == (422, True)
    await ended(board.viewer, await approved(board.admin, plan, budget=45))
    found = await board.ledger.read(find_campaign, name=name)
    assert (found.budget, found.charged) == (45, 45)


@pytest.mark.merge
async def test_an_expired_plan_is_quoted_again(tmp_path: Path, service: Sandbox, name: str) -> None:
    environ = {**service.environ, "CALLSHEET_QUOTE_AGE": "1s"}
    async with board_at(tmp_path, environ=environ) as board:
        plan = await plan_for(board.reviewer, f"{name}.csv", simple_sheet(1))
        await asyncio.sleep(1.1)
        found = (await board.viewer.get(f"{API}/plans/{plan['plan']}")).json()
        assert found["state"] == "expired"
        answer = await board.admin.post(f"{API}/plans/{plan['plan']}/approve")
        assert answer.status_code == 409
        assert answer.json()["plan"] != plan["plan"]


@pytest.mark.merge
async def test_other_takes_are_priced_and_made(
    board: OpenBoard, service: Sandbox, name: str
) -> None:
    await made(board, f"{name}.csv", simple_sheet(3), budget=100)
    path = f"{API}/campaigns/{name}/retakes"
    asked = {"rows": ["r001", "r002"], "because": "too dark"}
    plan = await priced(board.viewer, (await board.reviewer.post(path, json=asked)).json()["plan"])
    assert (plan["kind"], plan["counts"], plan["total"]) == ("retake", {"retake": 2}, 30)
    assert (plan["budget"], plan["left"]) == (100, 55)
    assert [line["action"] for line in plan["rows"]] == ["retake", "retake"]
    over = await ended(board.viewer, await approved(board.approver, plan))
    assert over["exit"] == 0
    assert await paid(board, service, name) == 5
    again = await board.approver.post(f"{API}/plans/{plan['plan']}/approve")
    assert again.json()["run"] == over["id"]
    assert await paid(board, service, name) == 5


@pytest.mark.safeguard(
    "tasks/campaign/plan.py", "cancelled_at=campaign.cancel_requested_at)", "cancelled_at=None)"
)
@pytest.mark.merge
@pytest.mark.parametrize("retake", [False, True])
async def test_rows_of_a_campaign_that_was_cancelled_since_are_asked_for_again(
    board: OpenBoard, service: Sandbox, name: str, retake: bool
) -> None:
    await made(board, f"{name}.csv", simple_sheet(1))
    path = f"{API}/campaigns/{name}"
    if retake:
        answer = await board.reviewer.post(f"{path}/retakes", json={"rows": ["r001"]})
        plan = await priced(board.viewer, answer.json()["plan"])
    else:
        plan = await plan_for(board.reviewer, f"{name}.csv", simple_sheet(2))
    cancelled = await board.approver.post(f"{path}/cancel", json={})
    assert cancelled.status_code == 202

    answer = await board.admin.post(f"{API}/plans/{plan['plan']}/approve")

    assert answer.status_code == 409, answer.text
    assert f"campaign {name} was cancelled meanwhile" in answer.json()["detail"]
    assert await paid(board, service, name) == 1
    new = await priced(board.viewer, answer.json()["plan"])
    assert (await ended(board.viewer, await approved(board.admin, new)))["exit"] == 0
    assert await paid(board, service, name) == 2


@pytest.mark.merge
async def test_a_kept_video_is_not_taken_again_by_a_bulk_act(board: OpenBoard, name: str) -> None:
    await made(board, f"{name}.csv", simple_sheet(2))
    who = Person(id=1, name="Rita", role="reviewer")
    said = partial(decide, replace(board.board, person=who), name, take=1)
    await said(row="r001", verdict="keep")
    await said(row="r002", verdict="reject", reason="wrong-text", note="says kettel")
    path = f"{API}/campaigns/{name}/retakes"
    answer = await board.reviewer.post(path, json={"select": "state:delivered"})
    plan = await priced(board.viewer, answer.json()["plan"])
    assert [line["row"] for line in plan["rows"]] == ["r002"]
    assert "says kettel" in plan["rows"][0]["why"]
    named = await board.reviewer.post(path, json={"rows": ["r001"]})
    assert (named.status_code, "kept" in named.json()["detail"]) == (422, True)
    # Kept between the price and the word.
    answer = await board.reviewer.post(path, json={"rows": ["r002"]})
    plan = await priced(board.viewer, answer.json()["plan"])
    await said(row="r002", verdict="keep", instead_of="reject")
    answer = await board.admin.post(f"{API}/plans/{plan['plan']}/approve")
    assert answer.status_code == 409, answer.text
    even = await board.reviewer.post(path, json={"rows": ["r001"], "even_kept": True})
    assert even.status_code == 202


@pytest.mark.merge
async def test_a_changed_sheet_of_the_inbox_is_planned_anew(
    tmp_path: Path, service: Sandbox, name: str
) -> None:
    (tmp_path / "inbox").mkdir()
    sheet = tmp_path / "inbox" / f"{name}.csv"
    sheet.write_text(simple_sheet(2))
    environ = {**service.environ, "CALLSHEET_INBOX": str(tmp_path / "inbox")}
    async with board_at(tmp_path, environ=environ) as board:
        answer = await board.reviewer.post(f"{API}/sheets", json={"inbox": sheet.name})
        asked = {"sheet": answer.json()["sheet"]}
        answer = await board.reviewer.post(f"{API}/plans", json=asked)
        plan = await priced(board.viewer, answer.json()["plan"])
        sheet.write_text(simple_sheet(3))
        answer = await board.admin.post(f"{API}/plans/{plan['plan']}/approve")
        assert answer.status_code == 409, answer.text
        new = await priced(board.viewer, answer.json()["plan"])
        assert (new["counts"], new["replaces"]) == ({"make": 3}, plan["plan"])
        run = await approved(board.admin, new)
        # What was approved is carried out, whatever lies in the inbox by now.
        sheet.write_text(simple_sheet(1))
        assert (await ended(board.viewer, run))["exit"] == 0
        assert set((await states(board, name)).values()) == {"delivered"}
        assert await paid(board, service, name) == 3


async def test_the_checked_rows_are_planned_alone(board: OpenBoard, name: str) -> None:
    plan = await plan_for(board.reviewer, f"{name}.csv", simple_sheet(4), budget=100)
    browser = await board.form("reviewer")
    sent = {"only": "yes", "chosen": "r004", "shown": "r001,r002", "row": ["r002"]}
    answer = await browser.post(f"/plans/{plan['plan']}/again", data=sent)
    new = await priced(board.viewer, answer.url.path.rpartition("/")[2])
    assert ([row["row"] for row in new["rows"]], new["total"]) == (["r002", "r004"], 30)
    assert new["budget"] == 100
    for rows, words in (({"row": ["r9"]}, "r9"), ({"row": [], "chosen": ""}, "row is checked")):
        refused = await browser.post(f"/plans/{plan['plan']}/again", data={**sent, **rows})
        assert (refused.status_code, words in refused.text) == (422, True)


NO_SENSE = [
    ("plans", {"sheet": "there-is-none"}, 404),
    ("plans", {"sheet": "x", "budget": -1}, 422),
    ("plans/none/approve", {}, 404),
    ("plans/none/approve", {"budget": "lots"}, 422),
    ("campaigns/none/retakes", {"select": "state:failed"}, 404),
    ("campaigns/none/retakes", {"rows": []}, 422),
    ("campaigns/none/cancel", {"rows": []}, 422),
    ("runs/none/carry-on", None, 404),
]


async def test_what_makes_no_sense_is_refused_in_words(open_board: OpenBoard) -> None:
    for path, asked, status in NO_SENSE:
        answer = await open_board.admin.post(f"{API}/{path}", json=asked)
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["detail"]


@pytest.mark.safeguard(
    "deployments/board/services/approval.py",
    "elif plan.made_by != board.by:",
    "elif plan.made_by is board:",
)
@pytest.mark.merge
async def test_an_approval_without_a_budget_raises_no_budget(board: OpenBoard, name: str) -> None:
    async def budget() -> Any:
        return (await board.viewer.get(f"{API}/campaigns/{name}")).json()["credits"]["budget"]

    async def approve(rows: int, **said: Any) -> int:
        plan = await plan_for(board.reviewer, f"{name}.csv", simple_sheet(rows), budget=500)
        path = f"{API}/plans/{plan['plan']}/approve"
        answer = await board.admin.post(path, json=said)
        if answer.status_code == 202:
            await ended(board.viewer, answer.json()["run"])
        return answer.status_code

    await made(board, f"{name}.csv", simple_sheet(1), budget=40)
    assert (await approve(2), await budget()) == (202, 40)
    assert (await approve(3), await budget()) == (422, 40)
    assert (await approve(3, budget=45), await budget()) == (202, 45)


@pytest.mark.safeguard(
    "deployments/board/services/plans.py", "if old.made_by != board.by:", "if False:"
)
async def test_a_budget_of_a_reviewer_is_not_given_by_approving_what_replaces_their_plan(
    board: OpenBoard, name: str
) -> None:
    async def budget() -> Any:
        return (await board.viewer.get(f"{API}/campaigns/{name}")).json()["budget"]

    await made(board, f"{name}.csv", simple_sheet(1), budget=40)
    asked = await plan_for(board.reviewer, f"{name}.csv", simple_sheet(2), budget=500)
    await made(board, f"{name}.csv", simple_sheet(2), budget=45)
    moved = await board.admin.post(f"{API}/plans/{asked['plan']}/approve")
    new = await priced(board.viewer, moved.json()["plan"])

    assert (new["made_by"], new["budget"], new["changes"]) == (NAMES["admin"], 45, [])
    path = f"{API}/plans/{new['plan']}/approve"
    limited = await board.approver.post(path, json={"budget": 60})
    assert "approve it with the budget of now, 45 credits, or ask" in limited.json()["remedy"]
    answer = await board.approver.post(path, json={"budget": 45})
    assert (answer.status_code, await budget()) == (202, 45)
    await ended(board.viewer, answer.json()["run"])


async def test_videos_that_exist_are_adopted(board: OpenBoard, service: Sandbox, name: str) -> None:
    asked: dict[str, Any] = {
        "tool": "product-launch",
        "fields": {"product": "Kettle"},
        "title": f"{name} 1",
    }
    asked |= {"duration_seconds": 5, "start_generation": True}
    video = service.post("videos", asked)["id"]
    head, *rows = simple_sheet(3, title=name).splitlines()
    cells = ("", "", "vid_nope")
    sheet = "\n".join([f"{head},video_id", *map("{},{}".format, rows, cells)])

    plan = await plan_for(board.reviewer, f"{name}.csv", sheet, adopt=True)
    browser = await board.form("admin")
    page = await browser.get(f"/plans/{plan['plan']}")

    assert (plan["counts"], plan["total"]) == ({"adopt": 1, "person": 1}, 0)
    assert plan["rows"][0]["adopts"]["video_id"] == video
    assert "1 row without a video to take over (r002)" in plan["notes"][0]
    assert "Adopt 1 video for 0 credits" in page.text
    assert (await ended(board.viewer, await approved(board.admin, plan)))["exit"] == 0
    assert await states(board, name) == {"r001": "delivered", "r002": "planned", "r003": "held"}
    assert await paid(board, service, name) == 0


@pytest.mark.merge
async def test_what_changed_outside_is_found_and_repaired_on_the_board(
    board: OpenBoard, service: Sandbox, name: str, tmp_path: Path
) -> None:
    plan = await plan_for(board.admin, f"{name}.csv", simple_sheet(1))
    await ended(board.viewer, await approved(board.approver, plan))
    (captions,) = tmp_path.rglob(f"{name}/**/*.srt")
    captions.unlink()
    address = f"{API}/campaigns/{name}"

    (found,) = (await board.reviewer.get(f"{address}/drift")).json()["drift"]
    browser = await board.form("approver")
    page = await browser.get(f"/c/{name}/changes")
    refused = await board.viewer.get(f"{address}/drift")
    (repaired,) = (await board.approver.post(f"{address}/repair")).json()["drift"]

    assert (found["row"], found["where"], found["cost"]) == ("r001", "store", 0)
    assert "srt is missing" in found["what"]
    assert "Repair for 0 credits" in page.text
    assert refused.status_code == 403
    assert repaired["repaired"] == "fetched again"
    assert captions.exists()
    assert "Nothing changed outside" in (await browser.get(f"/c/{name}/changes")).text
    assert (await board.viewer.get(f"{API}/activity")).json()["acts"][0]["act"] == "repair"


@pytest.mark.merge
@pytest.mark.parametrize("asked", [{"canary": "yes"}, {"waves": ["30%"]}])
async def test_the_others_are_planned_once_the_first_video_is_kept(
    board: OpenBoard, service: Sandbox, name: str, asked: dict[str, Any]
) -> None:
    plan = await plan_for(board.reviewer, f"{name}.csv", simple_sheet(3), **asked)
    assert (plan["counts"], plan["total"]) == ({"make": 1, "wait": 2}, 15)
    assert (await ended(board.viewer, await approved(board.approver, plan)))["exit"] == 3
    assert await states(board, name) == {"r001": "delivered", "r002": "held", "r003": "held"}
    browser = await board.form("approver")
    early = (await browser.post(f"/c/{name}/again")).url.path.rpartition("/")[2]
    assert (await priced(board.viewer, early))["total"] == 0

    review = f"{API}/campaigns/{name}/rows/r001/review"
    await board.reviewer.post(review, json={"verdict": "keep", "take": 1})
    assert "2 rows are on hold" in (await browser.get(f"/c/{name}")).text
    plan_id = (await browser.post(f"/c/{name}/again")).url.path.rpartition("/")[2]
    rest = await priced(board.viewer, plan_id)
    assert (rest["counts"], rest["total"]) == ({"none": 1, "make": 2}, 30)
    assert (await ended(board.viewer, await approved(board.approver, rest)))["exit"] == 0
    assert await paid(board, service, name) == 3


@pytest.mark.merge
async def test_an_edit_is_approved_at_its_limit_and_a_retake_of_it_at_the_price_of_a_video(
    board: OpenBoard, name: str
) -> None:
    text = "id,title,topic,script,max_credits\na,{},Topic,Words here.,{}\n"
    made = await plan_for(board.admin, f"{name}.csv", text.format("One", 99))
    await ended(board.admin, await approved(board.admin, made))

    edit = await plan_for(board.admin, f"{name}.csv", text.format("Two", 98))
    end = await ended(board.admin, await approved(board.admin, edit))
    body = {"rows": ["a"], "because": "again"}
    asked = await board.admin.post(f"{API}/campaigns/{name}/retakes", json=body)
    retake = await priced(board.admin, asked.json()["plan"])

    assert (edit["rows"][0]["edit_of"], edit["total"], end["exit"]) == ("title", 98, 0)
    assert retake["total"] == made["total"] != 98
    assert (await ended(board.admin, await approved(board.admin, retake)))["exit"] == 0


@pytest.mark.merge
async def test_takes_of_rows_that_moved_on_are_not_approved(
    board: OpenBoard, service: Sandbox, name: str
) -> None:
    await made(board, f"{name}.csv", simple_sheet(2))
    path = f"{API}/campaigns/{name}/retakes"
    plans = []
    for _ in range(2):
        answer = await board.reviewer.post(path, json={"select": "state:delivered"})
        plans.append(await priced(board.viewer, answer.json()["plan"]))
    await ended(board.viewer, await approved(board.admin, plans[0]))
    answer = await board.admin.post(f"{API}/plans/{plans[1]['plan']}/approve")
    assert answer.status_code == 409
    assert await paid(board, service, name) == 4
    new = await priced(board.viewer, answer.json()["plan"])
    assert (new["kind"], new["counts"]) == ("retake", {"retake": 2})


@pytest.mark.merge
async def test_what_was_approved_and_has_not_begun_is_cancelled_with_the_rest(
    board: OpenBoard, service: Sandbox, name: str
) -> None:
    plan = await plan_for(board.reviewer, f"{name}.csv", simple_sheet(2))
    run = await approved(board.admin, plan)
    answer = await board.approver.post(f"{API}/campaigns/{name}/cancel", json={})
    assert (answer.status_code, answer.json()["asked"]) == (202, 2)
    over = await ended(board.viewer, run)
    assert (over["exit"], over["words"]) == (4, "cancelled by Ann before its run began")
    # Its process may have been on its way already.
    await asyncio.sleep(3)
    answer = await board.admin.post(f"{API}/runs/{run}/carry-on")
    assert answer.status_code == 202
    assert (await ended(board.viewer, run))["exit"] == 4
    assert set((await states(board, name)).values()) == {"cancelled"}
    page = (await (await board.form("approver")).get(f"/c/{name}")).text
    assert "ended early" not in page, "there is nothing to resume"
    again = await plan_for(board.reviewer, f"{name}.csv", simple_sheet(2))
    assert (again["counts"], again["total"]) == ({"person": 2}, 0)


@pytest.mark.merge
async def test_the_rest_is_cancelled(board: OpenBoard, name: str) -> None:
    plan = await plan_for(board.reviewer, f"{name}.csv", simple_sheet(2))
    path = f"{API}/campaigns/{name}/cancel"
    assert (await board.admin.post(path, json={})).status_code == 404
    run = await approved(board.admin, plan)
    await ended(board.viewer, run)
    assert (await board.reviewer.post(path, json={})).status_code == 403
    answer = await board.approver.post(path, json={})
    done = answer.json()
    assert (answer.status_code, done["asked"], done["cancelled"], done["released"]) == (
        202,
        0,
        0,
        0,
    )
    assert [(row["row"], row["from"], row["to"]) for row in done["rows"]] == [
        ("r001", "delivered", "delivered"), ("r002", "delivered", "delivered"),
    ]  # fmt: skip
    unknown = await board.approver.post(path, json={"rows": ["nobody"]})
    assert (unknown.status_code, "nobody" in unknown.json()["detail"]) == (422, True)


@pytest.mark.merge
async def test_a_row_above_its_limit_is_on_hold_and_not_in_the_button(
    board: OpenBoard, service: Sandbox, name: str
) -> None:
    text = simple_sheet(3, columns=",max_credits", cells=",15").replace("9:16,15", "9:16,14", 1)
    plan = await plan_for(board.reviewer, f"{name}.csv", text)
    assert (plan["total"], plan["counts"]) == (30, {"make": 2, "person": 1})
    assert (plan["rows"][0]["state"], plan["rows"][0]["action"]) == ("held", "person")
    assert "set max_credits in line 2 of the sheet to 15 or more" in plan["rows"][0]["why"]
    page = (await (await board.form("approver")).get(f"/plans/{plan['plan']}")).text
    assert "Approve 2 rows for 30 credits" in page
    assert "on hold</span>" in page
    await ended(board.viewer, await approved(board.approver, plan))
    assert await paid(board, service, name) == 2
    again = await plan_for(board.reviewer, f"{name}.csv", text)
    assert (again["total"], again["counts"]) == (0, {"none": 2, "person": 1})


async def test_a_plan_of_the_sandbox_is_no_plan_of_the_service(
    tmp_path: Path, service: Sandbox, name: str
) -> None:
    async with board_at(tmp_path, environ=service.environ, sandbox=True) as board:
        plan = await plan_for(board.reviewer, f"{name}.csv", simple_sheet(1))
    async with board_at(tmp_path, environ=service.environ) as board:
        answer = await board.admin.post(f"{API}/plans/{plan['plan']}/approve")
        assert (answer.status_code, "--sandbox" in answer.json()["detail"]) == (409, True)


async def test_a_plan_that_finds_no_video_to_adopt_leads_to_another_upload(
    board: OpenBoard, name: str
) -> None:
    plan = await plan_for(board.reviewer, f"{name}.csv", simple_sheet(1, title=name), adopt=True)
    page = await (await board.form("approver")).get(f"/plans/{plan['plan']}")
    assert "No row is in this plan." in page.text
    assert "Upload another sheet" in page.text
    assert f'href="/c/{name}"' not in page.text
