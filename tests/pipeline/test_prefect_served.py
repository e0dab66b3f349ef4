"""The flow as an engineer serves it: the price first, an answer on Prefect's page, then videos."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.pipeline.served import Server, errors_in_log, served
from tests.prefect_servers import PrefectServer
from tests.programs import Desk, Sandbox, simple_sheet

#: The server is one for all that ask for it.
pytestmark = [pytest.mark.prefect, pytest.mark.merge]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, service: Sandbox) -> Desk:
    environ = {**service.environ, "CALLSHEET_AT_ONCE": "1"}
    return Desk(tmp_path_factory.mktemp("served"), environ)


@pytest.fixture(scope="module")
def page(desk: Desk, server: PrefectServer) -> Iterator[Server]:
    with served(desk, server) as page:
        yield page


@pytest.mark.slow
def test_a_run_that_is_not_approved_shows_its_price_and_is_no_alarm(
    desk: Desk, page: Server, service: Sandbox, name: str
) -> None:
    before = service.creates()
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2, title=name))
    run = page.rest(page.start("campaign", name="friday", sheet=sheet))
    assert (run["state_type"], run["state_name"]) == ("COMPLETED", "NotApproved")
    assert "30 credits for 2 videos are not approved" in run["state"]["message"]
    # A name that somebody typed stays.
    assert run["name"] == "friday"
    assert f"callsheet-{name}-plan" in page.artifacts(run["id"])
    assert service.creates() == before


def ended_as(desk: Desk, campaign: str) -> tuple[int, str]:
    """Return how the run of a campaign ended, once its process has noted that."""
    for _ in range(60):
        (run,) = desk.call("status", campaign, "--json").json["runs"]
        if run["state"] == "ended":
            return run["exit"], run["words"]
        time.sleep(0.5)
    raise TimeoutError("the run has not ended")


@pytest.mark.safeguard(
    "flows/consent.py", 'key = f"{QUESTION}{digest_of(plan)}"', 'key = f"{QUESTION}any"'
)
def test_somebody_answers_on_the_page_and_is_asked_again_once_the_plan_has_moved(
    desk: Desk, page: Server, service: Sandbox, name: str
) -> None:
    before = service.creates()
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1, title=name))
    asked = page.rest(page.start("campaign", sheet=sheet, approve="ask", budget=20))
    assert asked["state_name"] == "Suspended", asked["state"]
    assert asked["name"].startswith(name)
    assert "1 video for 15 credits" in page.question(asked)
    # Nobody approves by pressing a button alone.
    assert page.resume(asked["id"], {})["status"] == "REJECT"
    desk.sheet(sheet, simple_sheet(2, title=name))
    assert page.resume(asked["id"], {"approve": "yes"})["status"] == "ACCEPT"
    again = page.rest(asked["id"], after=asked["state_id"])
    assert "2 videos for 30 credits" in page.question(again)
    assert "this needs a budget of 30" in page.question(again)
    words = "it is suspended until someone answers on its page in Prefect"
    assert ended_as(desk, name) == (4, words)
    assert service.creates() == before
    answer = {"approve": "yes", "budget": 31, "note": "for Friday"}
    assert page.resume(asked["id"], answer)["status"] == "ACCEPT"
    over = page.rest(asked["id"], after=again["state_id"])
    assert (over["state_name"], over["name"]) == ("Completed", asked["name"]), over["state"]
    # It was suspended twice, which is no trouble.
    assert errors_in_log(page.client, over["id"]) == []
    assert service.creates() == before + 2
    history = desk.call("explain", name, "r001").out
    assert "approved on Prefect's page: for Friday" in history
    assert desk.call("status", name, "--json").json["credits"]["budget"] == 31


@pytest.mark.slow
def test_what_a_run_has_priced_is_approved_without_its_sheet(
    desk: Desk, page: Server, service: Sandbox, name: str
) -> None:
    before = service.creates()
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2, title=name))
    planned = page.rest(page.start("plan", sheet=sheet, budget=20))
    assert planned["state_name"] == "Completed", planned["state"]
    assert "2 videos for 30 credits" in planned["state"]["message"]
    assert "10 too many" in planned["state"]["message"]
    page.rest(page.start("campaign", sheet=sheet))
    (desk.folder / sheet).unlink()
    ends = [
        page.rest(page.start("approve", campaign=name, at_most=at_most, note="as agreed"))
        for at_most in (29, 30, 30)
    ]
    assert [run["state_name"] for run in ends] == ["NotApproved", "Completed", "Completed"]
    assert service.creates() == before + 2
    assert "approve: as agreed" in desk.call("explain", name, "r001").out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ends", "words"),
    [("failed", "raised, {'total': 1, 'held': 1}"), ("completed", "1 rows, 0 credits, 3")],
)
def test_a_flow_that_calls_it_hears_of_rows_that_need_a_person_as_it_asked(
    ends: str, words: str, desk: Desk, page: Server, name: str
) -> None:
    # A row that costs more than its sheet allows is for a person.
    dear = simple_sheet(1, title=name, columns=",max_credits", cells=",1")
    sheet = desk.sheet(f"{name}.csv", dear)
    run = page.rest(page.start("mine", sheet=sheet, approve="yes", needs_person=ends))
    assert run["state"]["message"] == words


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "end"), [("yes", "1 rows, 15 credits, 0"), ("no", None)])
def test_a_run_that_another_flow_called_waits_for_its_answer_in_its_process(
    desk: Desk, page: Server, service: Sandbox, name: str, answer: str, end: str | None
) -> None:
    before = service.creates()
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1, title=name))
    parent = page.start("mine", sheet=sheet, approve="ask")
    asked = page.rest(page.child(parent)["id"])
    assert asked["state_name"] == "Paused", asked["state"]
    said = {"approve": answer, "note": "too dear"}
    assert page.resume(asked["id"], said)["status"] == "ACCEPT"
    over = page.rest(parent)
    if end is None:
        child = page.rest(asked["id"], after=asked["state_id"])
        assert child["state_name"] == "NotApproved"
        assert "not approved: too dear" in child["state"]["message"]
    else:
        assert over["state"]["message"] == end
    assert service.creates() == before + (end is not None)


@pytest.mark.slow
def test_an_approved_run_that_begins_anew_keeps_the_budget_of_its_approval(
    desk: Desk, page: Server, service: Sandbox, name: str
) -> None:
    before = service.balance()
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2, title=name))
    asked = page.rest(page.start("campaign", sheet=sheet, approve="ask", budget=20, max_wait="5s"))
    # The first create is told to come later, and the run parks before either is begun.
    service.plan_fault(on="create", nth=1, do="limited", retry_after=6)
    assert page.resume(asked["id"], {"approve": "yes", "budget": 30})["status"] == "ACCEPT"
    parked = page.rest(asked["id"], after=asked["state_id"])
    assert parked["state_name"] == "Parked", parked["state"]
    page.retry(asked["id"])
    over = page.rest(asked["id"], after=parked["state_id"])
    assert over["state_name"] == "Completed", over["state"]
    assert service.balance() == before - 30
    assert desk.call("status", name, "--json").json["credits"]["charged"] == 30
