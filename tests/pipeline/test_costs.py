"""`callsheet costs` over campaigns that were really run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.programs import Desk, simple_sheet


@pytest.mark.merge
def test_costs_are_told_in_credits_and_in_money(desk: Desk, name: str, tmp_path: Path) -> None:
    text = simple_sheet(2, columns=",x_brand", cells=",Acme")
    assert desk.run(desk.sheet(f"{name}.csv", text)).status == 0
    profile = tmp_path / "priced.toml"
    profile.write_text('credit_price = "0.12 USD"\n')

    told = desk.call("costs", "--by", "brand", "--json", "--profile", str(profile))

    assert told.status == 0, told.err
    line = {"videos": 2, "takes": 2, "retakes": 0, "charged": 30, "reserved": 0, "money": 3.6}
    assert told.json == {
        "by": "brand", "costs": [{"name": "Acme", **line}], "total": {"name": None, **line},
        "currency": "USD", "exit": 0,
    }  # fmt: skip
    assert "total: 30 credits (3.60 USD)" in told.err
    assert desk.call("costs", "--since", "2100-01", "--json").json["costs"] == []
    assert desk.call("costs", "--since", "soon").status == 2
    wrong = desk.call("costs", "--by", "x_band")
    assert (wrong.status, "did you mean brand?" in wrong.err) == (2, True)
    assert desk.call("costs", "--since", "2026-12", "--until", "2026-11").status == 2
    # A row that was made again has one video, as in the campaign and in a ZIP.
    again = desk.call("retake", name, "r001", "--yes", "--run")
    assert "2 delivered; this run was charged 15 credits, the campaign has cost 45" in again.out
    total = desk.call("costs", "--json").json["total"]
    assert (total["videos"], total["takes"], total["retakes"]) == (2, 3, 1)


def test_costs_by_a_column_of_ones_own_are_a_file_for_spreadsheets(desk: Desk, name: str) -> None:
    """A name that is a formula is none in the file."""
    text = simple_sheet(3, columns=",X Client", cells=",Tea Co").replace("Tea Co", "=1+1", 1)
    assert desk.run(desk.sheet(f"{name}.csv", text)).status == 0
    desk.environ["CALLSHEET_CREDIT_PRICE"] = "0.12 USD"

    said = desk.call("costs", "--by", "x_client", "-o", "costs.csv")

    file = (desk.folder / "costs.csv").read_bytes()
    assert "2 lines in costs.csv" in said.out
    assert file.decode("utf-8-sig").splitlines() == [
        "x_client,videos,takes,retakes,reserved,charged,money,currency",
        "Tea Co,2,2,0,0,30,3.6,USD",
        "'=1+1,1,1,0,0,15,1.8,USD",
    ]
    assert desk.call("costs", "--by", "x_client", "-o", "-").out.encode() == file
    assert desk.call("costs", "-o", "-", "--json").status == 2


def test_every_price_is_told_in_money_too(desk: Desk, name: str) -> None:
    desk.environ["CALLSHEET_CREDIT_PRICE"] = "0.12 USD"
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
    budget = ("--budget", "100")

    plan = desk.call("plan", sheet, *budget, "-o", "plan.html")
    asked = desk.call("run", sheet, *budget, "--without-prefect")
    run = desk.run(sheet, *budget)
    status = desk.call("status", name)
    row = desk.call("explain", name, "r001")
    again = desk.call("retake", name, "r001", "--because", "too dark")

    page = (desk.folder / "plan.html").read_text()
    for told in (plan.out, asked.out, run.err):
        assert "2 videos for 30 credits (3.60 USD)" in told
        assert re.search(r"r002 +15 +1\.80", told)
    assert page.count(">1.80 USD<") == 2
    assert ">3.60 USD<" in page
    assert "30 credits (3.60 USD) are not approved" in asked.err
    assert "this run was charged 30 credits (3.60 USD)" in run.err
    assert re.search(r" 30 +3\.60 ", status.out)
    assert re.search(r"of 100 credits \([\d.]+ of 12\.00 USD\) reserved or charged", run.err)
    assert "quote 15 credits (1.80 USD)" in row.out
    assert "charged 15 credits (1.80 USD)" in row.out
    assert "15 (1.80 USD)" in again.out
    assert "1 more video for 15 credits (1.80 USD)" in again.out
    # Programs read credits.
    assert run.json["credits"]["charged"] == 30
