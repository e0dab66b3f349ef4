"""A whole run with Prefect, with answers that repeat secrets: its history holds none of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.guards.canaries import CANARIES, SIGNED, heard_in, heard_under
from tests.guards.test_secrets_everywhere import verbose
from tests.prefect_servers import start_server
from tests.programs import Desk, Sandbox, sandbox, simple_sheet


@pytest.mark.prefect
def test_a_run_with_prefect_keeps_its_secrets(tmp_path: Path) -> None:
    """One row fails with a page of secrets, one meets a word that is one, one is delivered."""
    with sandbox(tmp_path / "service") as service:
        plan_trouble(service)
        folder = tmp_path / "desk"
        folder.mkdir()
        server = start_server(folder / "prefect")
        server.wait()
        desk = Desk(folder, {**service.environ, "PREFECT_API_URL": server.url})
        desk.sheet("s.csv", simple_sheet(3))

        process = desk.start("run", "s.csv", "--yes", "--json", "-v")
        said = "".join(process.communicate(timeout=300))
        said += "".join(
            f"{ended.out}{ended.err}"
            for ended in (
                verbose(desk, "explain", "s", "r001", "--json", "-v"),
                verbose(desk, "rows", "s", "--json", "-v"),
                verbose(desk, "export", "s", "--what", "events", "-v"),
            )
        )
        assert len({strike["on"] for strike in service.strikes()}) == 3
        server.stop()

    secrets = [service.ready["api_key"], *service.ready["keys"].values()]
    searched = {"what was said": said.encode()}
    searched |= {str(p): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    assert any(where.endswith("history.db") for where in searched)
    for where, data in searched.items():
        assert not heard_in(data), where
        assert not [secret for secret in secrets if secret.encode() in data], where
        assert not re.search(rb"[?&]signature=[0-9a-f]", data), where
    assert not any(heard_under(folder).values())


def plan_trouble(service: Sandbox) -> None:
    """Have answers to a create, a look and a download repeat secrets."""
    words = f"Bearer {CANARIES['api key']} at {SIGNED}"
    service.plan_fault(on="create", do="error-before", nth=1, status=400, message=words)
    service.plan_fault(
        on="get", do="rewrite", nth="1-2", set={"data.status": f"lost {CANARIES['api key']}"}
    )
    service.plan_fault(on="download", do="error-before", nth=1, status=500, message=words)
