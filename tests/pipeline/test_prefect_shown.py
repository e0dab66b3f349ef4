"""What Prefect's pages show of a run: problems, plan, rows, tags and log, on a real server."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from callsheet.tasks.ledger.campaigns import ensure_campaign
from callsheet.tasks.ledger.ledger import open_ledger
from tests.leasing import acquire_lease
from tests.pipeline.served import call_flows
from tests.prefect_servers import PrefectServer
from tests.programs import Desk, Finished, Sandbox, simple_sheet

#: The server is one for all that ask for it.
pytestmark = [pytest.mark.prefect, pytest.mark.merge]

#: Runs campaigns as a deployment does: a line for each end, with the number of its flow run.
#: The last is of a run that hears of trouble.
PROGRAM = """
import asyncio, json, logging, sys
from prefect import flow
from callsheet.flows.campaign import run_campaign
from callsheet.flows.watch import showing
from callsheet.tasks.campaign.run import open_run
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.runtime.settings import load_settings

@flow
async def trouble():
    async with open_run(RunOptions(sheet="a.csv"), load_settings()) as run:
        run.say_wait("campaign a is being run by somebody since yesterday")
        async with showing(run):
            run.say("videos are found by looking for them: no receiver")
            logging.getLogger("callsheet.store").warning("slow, as mav_hidden says")
    logging.getLogger("callsheet.store").warning("of nobody's run")

async def main():
    ends = [await run_campaign(**one, return_state=True) for one in json.loads(sys.argv[1])]
    for state in (*ends, await trouble(return_state=True)):
        number = str(state.state_details.flow_run_id)
        print(json.dumps({"state": state.name, "words": state.message, "run": number}))

asyncio.run(main())
"""
BOARD = "https://board.example"
#: A title that would be drawn as more than letters, and tags, of which rows have several.
TITLE, COLUMNS = "Video *for two*", ",tags"
BAD_SHEET = """id,tool,fields.product,title,duration_seconds,aspect_ratio
r001,product-launch,Kettle,One,abc,9:16
r002,product-launch,Kettle,Two,5,16:10
"""
Log = Sequence[tuple[int, str]]


@dataclass(frozen=True)
class Shown:
    """How the runs ended, and what the server has to show."""

    name: str
    ends: Mapping[str, Mapping[str, Any]]
    client: httpx.Client
    by_hand: Finished

    def log(self, run: str) -> Log:
        """Return level and words of each line that a run said itself."""
        return _log(self.client, self.ends[run]["run"])

    def said(self, run: str) -> str:
        return "\n".join(words for _, words in self.log(run))

    def artifact(self, run: str, key: str) -> Any:
        """Return the artifact of a key that a run published: of a table its lines."""
        which = {"key": {"any_": [key]}, "flow_run_id": {"any_": [self.ends[run]["run"]]}}
        body = {"artifacts": which, "sort": "CREATED_DESC", "limit": 1}
        (found,) = self.client.post("/artifacts/filter", json=body).json()
        data = found["data"]
        return json.loads(data) if found["type"] == "table" else data


@pytest.fixture(scope="module")
def shown(
    tmp_path_factory: pytest.TempPathFactory, service: Sandbox, server: PrefectServer
) -> Shown:
    """One process for the flow runs: it takes seconds to start. And one run from a terminal."""
    folder = tmp_path_factory.mktemp("shown")
    # Videos of other tests have the same texts: they might be these rows'.
    service.empty_list()
    desk = Desk(folder, {**service.environ, "CALLSHEET_BOARD_URL": BOARD})
    name = f"c-{abs(hash(str(folder))):x}"
    text = simple_sheet(3, title=TITLE, columns=COLUMNS, cells=",launch|tv")
    good = desk.sheet(f"{name}.csv", text.replace("Kettle 2,Video *for two* 2,5", "K,Two,5000"))
    bad = desk.sheet(f"{name}-bad.csv", BAD_SHEET)
    held = desk.sheet(f"{name}-held.csv", simple_sheet(1, title="Held"))
    asyncio.run(_hold(folder, held, f"{name}-held"))
    orders: dict[str, dict[str, Any]] = {
        "bad": {"sheet": bad},
        "plan": {"sheet": good, "budget": 100},
        "good": {"sheet": good, "approve": True, "budget": 100},
        "held": {"sheet": held, "approve": True, "max_wait": "1s"},
    }
    ends = _call(desk, server, list(orders.values()))
    desk.environ["PREFECT_API_URL"] = server.url
    by_hand = desk.call("run", desk.sheet(f"{name}-2.csv", simple_sheet(1, title="T")), "--yes")
    client = httpx.Client(base_url=server.url)
    return Shown(name, dict(zip((*orders, "trouble"), ends, strict=True)), client, by_hand)


def test_every_problem_of_a_sheet_is_there_with_its_cell(shown: Shown) -> None:
    end, log = shown.ends["bad"], shown.log("bad")
    table = shown.artifact("bad", f"callsheet-{shown.name}-bad-problems")

    assert [(line["line"], line["row"], line["cell"], line["it says"]) for line in table] == [
        (2, "r001", "duration_seconds", "abc"),
        (3, "r002", "aspect_ratio", "16:10"),
    ]
    told = [words for level, words in log if level == logging.ERROR]
    for words in (end["words"], "\n".join(told)):
        assert 'row "r001", column duration_seconds: "abc" is not a whole number' in words
        assert 'row "r002", column aspect_ratio: "16:10" is not one of 9:16, 1:1, 16:9' in words


def test_a_plan_that_nobody_approved_is_shown_with_its_prices(shown: Shown) -> None:
    table = shown.artifact("plan", f"callsheet-{shown.name}-plan")
    words = shown.artifact("plan", f"callsheet-{shown.name}-plan-summary")

    prices = {line["row"]: (line["action"], line["price"]) for line in table}
    assert prices == {"r001": ("make", 15), "r002": ("person", None), "r003": ("make", 15)}
    assert "duration_seconds" in next(line["why"] for line in table if line["row"] == "r002")
    # A cell is drawn by Markdown.
    assert r"Video \*for two\* 1" in {line["video"] for line in table}
    for said in ("2 videos for 30 credits", "budget of the campaign, over every run: 100 credits",
                 "the service's account has", "What to do", "`approve`"):  # fmt: skip
        assert said in words
    assert "2 videos for 30 credits" in shown.said("plan")


def test_the_table_has_every_row_with_what_it_cost_and_where_it_is_seen(shown: Shown) -> None:
    table = shown.artifact("good", f"callsheet-{shown.name}-rows")
    summary = shown.artifact("good", f"callsheet-{shown.name}-summary")

    assert [line["row"] for line in table] == ["r002", "r001", "r003"]
    money = [[line[name] for name in ("charged", "quoted", "set aside")] for line in table]
    assert money == [[None, None, 0], [15, 15, 0], [15, 15, 0]]
    assert "duration_seconds" in table[0]["reason"]
    assert f"({BOARD}/c/{shown.name}/rows/r002)" in table[0]["video"]
    assert f"({BOARD}/c/{shown.name}/videos?open=r001)" in table[1]["video"]
    for words in ("| delivered | 2 |", "This run was charged 30 credits.",
                  "## What needs attention",
                  "is rejected: the service refused", "/artifacts/artifact/"):  # fmt: skip
        assert words in summary


def test_the_log_says_what_becomes_of_the_run_and_who_is_needed(shown: Shown) -> None:
    log = shown.log("good")
    needed = [words for level, words in log if level == logging.WARNING]

    assert len(needed) == 1
    assert needed[0].startswith("row r002 is rejected: the service refused duration_seconds")
    said = shown.said("good")
    for words in ("2 videos for 30 credits", "2 of 2 rows; 2 delivered, 1 rejected",
                  "2 delivered, 1 rejected; this run was charged 30 credits"):  # fmt: skip
        assert words in said
    assert f"campaign {shown.name}-held is being run by" in shown.said("held")


def test_what_befalls_a_run_is_in_its_log_and_what_befalls_others_is_not(shown: Shown) -> None:
    assert shown.log("trouble")[1:-1] == [
        (logging.INFO, "campaign a is being run by somebody since yesterday"),
        (logging.INFO, "videos are found by looking for them: no receiver"),
        (logging.WARNING, "slow, as mav_*** says"),
    ]


def test_a_run_is_found_by_the_tags_of_its_sheet(shown: Shown) -> None:
    run = shown.client.get(f"/flow_runs/{shown.ends['good']['run']}").json()
    assert set(run["tags"]) == {shown.name, "launch", "tv"}


def test_a_run_from_the_command_line_says_as_much_on_its_page_and_no_more_on_the_terminal(
    shown: Shown,
) -> None:
    body = {"flow_runs": {"name": {"like_": f"{shown.name}-2 "}}}
    (run,) = shown.client.post("/flow_runs/filter", json=body).json()
    said = "\n".join(words for _, words in _log(shown.client, run["id"]))

    assert shown.by_hand.status == 0, shown.by_hand.err
    for words in ("plan for", "1 video for 15 credits", "1 of 1 row; 1 delivered",
                  "this run was charged 15 credits"):  # fmt: skip
        assert words in said
    assert "INFO" not in shown.by_hand.out + shown.by_hand.err


def _call(
    desk: Desk, server: PrefectServer, orders: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Run campaigns one after the other; return how each ended."""
    done = call_flows(PROGRAM, orders, desk=desk, server=server)
    assert "Prefect does not show" not in done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def _log(client: httpx.Client, run: str) -> Log:
    body = {"logs": {"flow_run_id": {"any_": [run]}}, "sort": "TIMESTAMP_ASC", "limit": 200}
    return [(one["level"], one["message"]) for one in client.post("/logs/filter", json=body).json()]


async def _hold(folder: Path, sheet: str, name: str) -> None:
    """Have another process at work on a campaign."""
    async with await open_ledger(f"sqlite:///{folder}/.callsheet/ledger.db") as ledger:
        campaign = await ledger.write(
            ensure_campaign, name=name, sheet=sheet, sheet_digest="", at=time.time()
        )
        held = partial(acquire_lease, campaign=campaign, owner="elsewhere:1:1:there:1")
        await ledger.write(held, seconds=600)
