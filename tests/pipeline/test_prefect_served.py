"""The flow as an engineer serves it: the price first, an answer on Prefect's page, then videos."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.pipeline.served import Server, errors_in_log, served
from tests.prefect_servers import PrefectServer
from tests.programs import Desk, Sandbox, simple_sheet

#: The server is one for all that ask for it.
pytestmark = [pytest.mark.prefect, pytest.mark.merge]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, service: Sandbox) -> Desk:
    return Desk(tmp_path_factory.mktemp("served"), dict(service.environ))


@pytest.fixture(scope="module")
def page(desk: Desk, server: PrefectServer) -> Iterator[Server]:
    with served(desk, server) as page:
        yield page


@pytest.mark.slow
def test_a_run_that_is_not_approved_shows_its_price_and_is_no_alarm(
    desk: Desk, page: Server, service: Sandbox, name: str
) -> None:
    before = service.calls().get("create", 0)
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2, title=name))

    run = page.rest(page.start("campaign", name="friday", sheet=sheet))

    assert (run["state_type"], run["state_name"]) == ("COMPLETED", "NotApproved")
    assert "30 credits for 2 videos are not approved" in run["state"]["message"]
    # A name that somebody typed stays.
    assert run["name"] == "friday"
    assert f"callsheet-{name}-plan" in page.artifacts(run["id"])
    assert service.calls().get("create", 0) == before


def test_somebody_answers_on_the_page_and_is_asked_again_once_the_plan_has_moved(
    desk: Desk, page: Server, service: Sandbox, name: str
) -> None:
    before = service.calls().get("create", 0)
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1, title=name))

    asked = page.rest(page.start("campaign", sheet=sheet, approve="ask", budget=20))
    keys = asked["state"]["state_details"]["run_input_keyset"]
    assert asked["state_name"] == "Suspended", asked["state"]
    assert asked["name"].startswith(name)
    assert "1 video for 15 credits" in page.input(asked["id"], keys["description"])
    # Nobody approves by pressing a button alone.
    assert page.resume(asked["id"], {})["status"] == "REJECT"
    desk.sheet(sheet, simple_sheet(2, title=name))
    assert page.resume(asked["id"], {"approve": "yes"})["status"] == "ACCEPT"
    again = page.rest(asked["id"], after=asked["state_id"])
    keys = again["state"]["state_details"]["run_input_keyset"]
    assert "2 videos for 30 credits" in page.input(again["id"], keys["description"])
    assert "this needs a budget of 30" in page.input(again["id"], keys["description"])
    assert service.calls().get("create", 0) == before
    answer = {"approve": "yes", "budget": 31, "note": "for Friday"}
    assert page.resume(asked["id"], answer)["status"] == "ACCEPT"
    over = page.rest(asked["id"], after=again["state_id"])

    assert over["state_name"] == "Completed", over["state"]
    assert over["name"] == asked["name"]
    # It was suspended twice, which is no trouble.
    assert errors_in_log(page.client, over["id"]) == []
    assert service.calls()["create"] == before + 2
    history = desk.call("explain", name, "r001").out
    assert "approved on Prefect's page: for Friday" in history
    status: dict[str, Any] = desk.call("status", name, "--json").json
    assert status["credits"]["budget"] == 31
