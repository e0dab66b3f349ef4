"""`callsheet costs` over campaigns that were really run."""

from __future__ import annotations

from pathlib import Path

from tests.programs import Desk, simple_sheet


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
    assert "total: 30 credits, 3.60 USD" in told.err
    assert desk.call("costs", "--since", "2100-01", "--json").json["costs"] == []
    assert desk.call("costs", "--since", "soon").status == 2
    assert desk.call("costs", "--since", "2026-12", "--until", "2026-11").status == 2
