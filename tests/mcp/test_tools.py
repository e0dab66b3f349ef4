"""What the tools answer, in both versions of the protocol; what they refuse, in words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError
from mcp_types import INVALID_PARAMS

from callsheet.deployments.board.logins import admin_token
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.services.approval import approve
from callsheet.deployments.commands.people import revoke_person
from callsheet.tasks.ledger.people import find_person
from tests.board.conftest import by_test
from tests.databases import lay_ledger
from tests.mcp.conftest import AGENT, ROW, OpenDesk, call, desk_at, finished, refused, sheet_of
from tests.programs import Sandbox

#: Every tool: its arguments (those that are needed with a mark), and what a client is told of it.
TOOLS = {
    "sheet_columns": ("", "reads"),
    "check_sheet": ("sheet!", "reads"),
    "plan": ("sheet! budget campaign select first canary waves edits retry_failed adopt", "reads"),
    "run_plan": ("plan!", "destroys, again is the same"),
    "status": ("campaign!", "reads"),
    "rows": ("campaign! state select after", "reads"),
    "explain_row": ("campaign! row!", "reads"),
    "list_campaigns": ("after", "reads"),
    "costs": ("by since until", "reads"),
    "retake": ("campaign! rows! because!", "reads"),
    "cancel": ("campaign! rows", "destroys, again is the same"),
    "record_review": ("campaign! row! verdict! reason take", "writes, again is the same"),
    "service_capabilities": ("", "reads"),
    "show_videos": ("campaign! review select after", "reads"),
}


def told(tool: Any) -> tuple[str, str]:
    """Return what a client is told of a tool."""
    schema, hints = tool.input_schema, tool.annotations
    needed = schema.get("required", ())
    names = " ".join(f"{name}{'!' * (name in needed)}" for name in schema.get("properties", {}))
    if hints.read_only_hint:
        return names, "reads"
    does = "destroys" if hints.destructive_hint else "writes"
    return names, does + ", again is the same" * bool(hints.idempotent_hint)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_these_are_the_tools(desk: OpenDesk, mode: str) -> None:
    async with desk.client(mode=mode) as client:
        tools = (await client.list_tools()).tools
    assert {tool.name: told(tool) for tool in tools} == TOOLS
    # None approves; each says in its description what it spends.
    assert all("pend" in (tool.description or "") or "harge" in (tool.description or "")
               for tool in tools)  # fmt: skip
    # A model knows of each argument what it is, and that there are no others.
    for tool in tools:
        assert tool.input_schema["additionalProperties"] is False
        for name, said in tool.input_schema["properties"].items():
            assert said.get("description"), (tool.name, name)


UNKNOWN = [
    ("plan", {"sheet": sheet_of(1), "campaign": "typo", "budjet": 1}, "did you mean budget?"),
    ("run_plan", {"plan": "x", "answer": {"approve": True}}, "no argument answer"),
    ("show_videos", {"campaign": "typo", "reviews": "keep"}, "did you mean review?"),
    ("record_review", {"campaign": "c", "row": "r", "verdict": "keep", "take": 10**20}, "take"),
    ("cancel", {"campaign": "c", "rows": []}, "rows"),
    ("retake", {"campaign": "c", "rows": [], "because": "x"}, "rows"),
]


@pytest.mark.safeguard(
    "deployments/mcp/server.py", "check_names(name, tool.parameters, arguments)", "pass"
)
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_an_argument_that_no_tool_has_is_refused(desk: OpenDesk, mode: str) -> None:
    async with desk.client("accept", mode=mode) as client:
        for tool, given, words in UNKNOWN:
            assert words in (await refused(client, tool, **given))["refusal"]
        assert (await call(client, "list_campaigns"))["campaigns"] == []
        columns = await call(client, "sheet_columns")
        sheet = columns["example"]
        assert (await call(client, "check_sheet", sheet=sheet))["problems"] == []
    assert {"id", "title", "max_credits", "fields.NAME", "COLUMN.LANGUAGE"} <= {
        one["column"] for one in columns["columns"] if one["about"]
    }
    assert desk.asked == []


@pytest.mark.merge
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_yes_in_the_client_pays_once(desk: OpenDesk, service: Sandbox, mode: str) -> None:
    before = service.balance()
    async with desk.client("accept", mode=mode) as client:
        plan = await call(client, "plan", sheet=sheet_of(2), campaign=f"yes-{mode}")
        assert (plan["credits"], plan["approved"]) == (2 * ROW, False)
        assert plan["approve_at"] == f"http://board/plans/{plan['plan']}"
        runs = [await call(client, "run_plan", plan=plan["plan"]) for _ in range(3)]
        assert len({run["run"] for run in runs}) == 1
        said = await finished(client, f"yes-{mode}")
    assert said["rows"] == {"total": 2, "delivered": 2}
    assert desk.asked == [
        f"Approve 2 rows of campaign yes-{mode} for 120 credits? Plan {plan['plan']}."
    ]
    assert before - service.balance() == 2 * ROW


@pytest.mark.safeguard("deployments/mcp/plans.py", "and not answer.data.approve", "and False")
@pytest.mark.safeguard(
    "deployments/mcp/plans.py",
    'write(void_plan, plan_id=view.plan.id, old="ready"',
    'write(void_plan, plan_id=view.plan.id, old="void"',
)
@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("answer", ["no", "decline"])
async def test_a_no_is_final(desk: OpenDesk, service: Sandbox, mode: str, answer: Any) -> None:
    before = service.balance()
    async with desk.client(answer, mode=mode) as client:
        plan = (await call(client, "plan", sheet=sheet_of(1), campaign="no"))["plan"]
        assert "final" in (await refused(client, "run_plan", plan=plan))["refusal"]
    # Also for a client that says yes, and for an allowance, later.
    await desk.allow(500)
    async with desk.client("accept", mode=mode) as client:
        assert "declined" in (await refused(client, "run_plan", plan=plan))["refusal"]
    assert len(desk.asked) == 1
    assert service.balance() == before


@pytest.mark.merge
@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("answer", ["cancel", None])
async def test_without_an_answer_the_board_approves(desk: OpenDesk, mode: str, answer: Any) -> None:
    board = desk.desk.board
    async with desk.client(answer, mode=mode) as client:
        plan = (await call(client, "plan", sheet=sheet_of(1), campaign="later"))["plan"]
        said = await refused(client, "run_plan", plan=plan)
        assert said["approve_at"] == f"http://board/plans/{plan}"
        admin = await admin_token(board)
        done = await approve(replace(board, person=admin[0]), plan)
        assert (await call(client, "run_plan", plan=plan))["run"] == done.run
        status = await finished(client, "later")
    assert status["plans"][0]["approved"] is True


async def test_an_allowance_covers_plans_until_spent(desk: OpenDesk, service: Sandbox) -> None:
    await desk.allow(2 * ROW)
    before = service.balance()
    async with desk.client("cancel") as client:
        first = await call(client, "plan", sheet=sheet_of(2), campaign="first")
        assert first["approve_at"] is None
        await call(client, "run_plan", plan=first["plan"])
        other = sheet_of(1, title="Other")
        second = await call(client, "plan", sheet=other, campaign="second")
        assert desk.asked == []
        assert (await refused(client, "run_plan", plan=second["plan"]))["approve_at"]
        await finished(client, "first")
    assert len(desk.asked) == 1
    assert before - service.balance() == 2 * ROW


@pytest.mark.parametrize("allowance", [0, 1])
@pytest.mark.parametrize("kind", ["clip", "edit"])
async def test_no_allowance_covers_a_price_that_the_sheet_sets(
    desk: OpenDesk, service: Sandbox, kind: str, allowance: int
) -> None:
    name, board = f"{kind}-{allowance}", desk.desk.board
    await desk.allow(allowance)
    clip = f"id,operation,image,max_credits\na,image-to-video,https://img.example/{name},0\n"
    edit = "id,title,topic,script,max_credits\na,{},Topic,Words here.,{}\n"
    async with desk.client() as client:
        if kind == "edit":
            made = await call(client, "plan", sheet=edit.format("One", 99), campaign=name)
            admin = await admin_token(board)
            await approve(replace(board, person=admin[0]), made["plan"])
            await finished(client, name)
        before = service.balance()
        sheet = clip if kind == "clip" else edit.format("Two", 0)
        plan = await call(client, "plan", sheet=sheet, campaign=name)
        said = await refused(client, "run_plan", plan=plan["plan"])

        assert (plan["credits"], plan["approve_at"]) == (0, said["approve_at"])
        agent = await board.read(find_person, name=AGENT)
        with pytest.raises(ProblemDetails, match="the service gives no price for rows"):
            await approve(replace(board, person=agent), plan["plan"])
    assert service.balance() == before


async def test_a_revoked_agent_does_nothing(desk: OpenDesk) -> None:
    async with desk.client("accept") as client:
        plan = (await call(client, "plan", sheet=sheet_of(1), campaign="gone"))["plan"]
        await revoke_person(by_test(desk.desk.board), AGENT)
        for tool, named in (("run_plan", {"plan": plan}), ("list_campaigns", {})):
            assert "revoked" in (await refused(client, tool, **named))["refusal"]


ELSEWHERE = [
    ("/etc/passwd", "not a sheet below"),
    ("../other.csv", "not a sheet below"),
    (".callsheet/ledger.db", "not a sheet below"),
    ("link.csv", "not a sheet below"),
    ("missing.csv", "is not there"),
    ("a\0b.csv", ""),
    ("http://127.0.0.1:9/x.csv", ""),
]


@pytest.mark.safeguard(
    "deployments/mcp/sheets.py", "if hidden or path.suffix.lower() not in SUFFIXES:", "if False:"
)
async def test_a_sheet_is_read_below_the_folder_alone(desk: OpenDesk, tmp_path: Path) -> None:
    outside = tmp_path.parent / "outside.csv"
    outside.write_text(sheet_of(1))
    (tmp_path / "link.csv").symlink_to(outside)
    async with desk.client() as client:
        for name, words in ELSEWHERE:
            for tool in ("check_sheet", "plan"):
                assert words in (await refused(client, tool, sheet=name))["refusal"], name


async def test_a_sheet_is_a_file_or_text_with_named_problems(
    desk: OpenDesk, tmp_path: Path
) -> None:
    (tmp_path / "spring.csv").write_text(sheet_of(2))
    bad = "id,title,topic,script,priority\na,One,Topic,Words.,soon\n"
    async with desk.client() as client:
        seen = await call(client, "check_sheet", sheet="spring.csv")
        assert (seen["rows"], seen["problems"], seen["campaign"]) == (2, [], "spring")
        text = "campaign: tree\nrows:\n- {id: a, title: One, topic: Topic, script: Words.}\n"
        assert (await call(client, "check_sheet", sheet=text))["campaign"] == "tree"
        found = (await call(client, "check_sheet", sheet=bad))["problems"]
        assert [(one["line"], one["column"]) for one in found] == [(2, "priority")]
        said = await refused(client, "plan", sheet=bad, campaign="bad")
        assert said["problems"]
        said = await refused(client, "plan", sheet=bad, budget="lots")
        assert "budget: Input should be a valid number" in said["refusal"]
        assert ".int" not in said["refusal"]


@pytest.mark.merge
async def test_nobody_is_asked_for_a_plan_that_cannot_be_approved(desk: OpenDesk) -> None:
    await desk.allow(10 * ROW)
    async with desk.client("accept") as client:
        first = await call(client, "plan", sheet=sheet_of(3), campaign="taken")
        await call(client, "run_plan", plan=first["plan"])
        await finished(client, "taken")
        other = sheet_of(3, title="Other").replace("\nr", "\ns")
        plan = await call(client, "plan", sheet=other, campaign="taken")
        assert "another `campaign`" in plan["next"]
        said = await refused(client, "run_plan", plan=plan["plan"])
    assert (said["refusal"], said["remedy"]) == (plan["refusal"], plan["remedy"])
    assert "another `campaign`" in said["remedy"]
    assert desk.asked == []


@pytest.mark.merge
async def test_videos_are_shown_reviewed_and_priced_again(desk: OpenDesk) -> None:
    await desk.allow(10 * ROW)
    async with desk.client() as client:
        plan = await call(client, "plan", sheet=sheet_of(2), campaign="shown")
        await call(client, "run_plan", plan=plan["plan"])
        await finished(client, "shown")
        answer = await client.call_tool("show_videos", {"campaign": "shown"})
        assert [one.type for one in answer.content] == ["text", "image", "image"]
        kept = await call(client, "record_review", campaign="shown", row="r0", verdict="keep")
        assert (kept["take"], kept["verdict"]) == (1, "keep")
        other = {"campaign": "shown", "row": "r0", "verdict": "reject"}
        assert "kept" in (await refused(client, "record_review", **other))["refusal"]
        # It is told of nothing that the tool does not take.
        same = {"campaign": "shown", "rows": ["r0"], "because": "dark"}
        assert "on the board" in (await refused(client, "retake", **same))["remedy"]
        again = await call(client, "retake", campaign="shown", rows=["r1"], because="dark")
        assert (again["credits"], again["state"]) == (ROW, "ready")
        listed = await call(client, "rows", campaign="shown", state="delivered")
        assert [row["review"] for row in listed["rows"]] == ["keep", None]
        listed = await call(client, "rows", campaign="shown", select="r*,!review:keep")
        assert [row["row"] for row in listed["rows"]] == ["r1"]
        row = (await call(client, "explain_row", campaign="shown", row="r0"))["row"]
        assert row["state"] == "delivered"
        assert (await call(client, "list_campaigns"))["campaigns"][0]["campaign"] == "shown"
        spent = await call(client, "costs", by="campaign")
        assert [line["name"] for line in spent["costs"]] == ["shown"]
        assert "x_clint" in (await refused(client, "costs", by="x_clint"))["refusal"]
        assert (await call(client, "cancel", campaign="shown"))["asked"] == 0
        assert (await call(client, "service_capabilities"))["tools"]
        for name, said in (("", '"shown"'), ("/row/r0", "r0"), ("/report.csv", "r0")):
            read = await client.read_resource(f"callsheet://campaign/shown{name}")
            assert said in read.contents[0].text  # type: ignore[union-attr]
        for name in ("nothing", "nothing/report.csv", "shown/row/nothing"):
            with pytest.raises(MCPError, match="nothing") as caught:
                await client.read_resource(f"callsheet://campaign/{name}")
            assert caught.value.code == INVALID_PARAMS
        prompts = {one.name for one in (await client.list_prompts()).prompts}
    assert prompts == {"new_campaign", "review_last_night"}


REFUSED = [
    ("approve_plan", {}, "list the tools"),
    ("run_plan", {}, "change the arguments"),
    ("rows", {"campaign": "x", "state": "weird"}, "change the arguments"),
    ("rows", {"campaign": "x", "select": "colour:red"}, "select by row, state"),
    ("status", {"campaign": "nope"}, "list_campaigns"),
    ("run_plan", {"plan": "x" * 5000}, "new plan"),
    ("plan", {"sheet": sheet_of(1), "campaign": "a", "budget": -5}, "change the arguments"),
    ("plan", {"sheet": "http://169.254.169.254/x.csv"}, "change the argument"),
]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_each_refusal_says_what_to_do(desk: OpenDesk, mode: str) -> None:
    async with desk.client(mode=mode) as client:
        for tool, named, words in REFUSED:
            assert words in (await refused(client, tool, **named))["remedy"], (tool, named)


async def test_without_a_service_it_says_what_to_set(tmp_path: Path, made_ledger: Path) -> None:
    lay_ledger(tmp_path, made_ledger)
    async with desk_at(tmp_path, {}) as desk, desk.client() as client:
        said = await refused(client, "plan", sheet=sheet_of(1), campaign="nowhere")
    assert "no video service is configured" in said["refusal"]
    assert "callsheet login" in said["refusal"]


async def test_an_agent_tries_a_part_first(desk: OpenDesk) -> None:
    async with desk.client() as client:
        one = await call(client, "plan", sheet=sheet_of(3), campaign="one", first=1)
        canary = await call(client, "plan", sheet=sheet_of(3), campaign="canary", canary="yes")
        none = await refused(client, "plan", sheet=sheet_of(3), campaign="none", first=0)

    assert (one["credits"], one["counts"]) == (ROW, {"make": 1})
    assert (canary["credits"], canary["counts"]) == (ROW, {"make": 1, "wait": 2})
    assert "first" in none["refusal"]
    assert "nothing was charged" in none["refusal"]


@pytest.mark.merge
async def test_an_agent_raises_no_budget_that_a_person_gave(desk: OpenDesk) -> None:
    await desk.allow(1000)
    board = desk.desk.board
    admin = await admin_token(board)
    assert admin is not None
    async with desk.client() as client:
        first = await call(client, "plan", sheet=sheet_of(1), campaign="capped", budget=ROW)
        await approve(replace(board, person=admin[0]), first["plan"])
        await finished(client, "capped")
        more = await call(client, "plan", sheet=sheet_of(3), campaign="capped", budget=900)
        said = await refused(client, "run_plan", plan=more["plan"])
        assert "budget" in said["refusal"] + said["remedy"]
        assert (await call(client, "status", campaign="capped"))["credits"]["charged"] == ROW
