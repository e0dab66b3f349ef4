"""More of the same: other ways in which a create, a look or a download is struck.

python -m pytest tests/faults/more_torture.py
"""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.faults.production import A_WHILE, Production
from tests.programs import Desk, sandbox

CREATES: dict[str, dict[str, Any]] = {
    "a proxy's 503": {"do": "error-before", "status": 503, "html": True},
    "half a JSON that claims to be whole": {"do": "truncated"},
    "an envelope with nothing in it": {"do": "shapeless"},
    "words that are no JSON": {"do": "not-json"},
    "no body": {"do": "empty"},
    "a page that says 200": {"do": "html"},
    "a body that drips": {"do": "drip", "bytes": 16, "seconds": 0.01},
    "compressed unasked": {"do": "gzip"},
    "a limit told as a word": {"do": "limited", "retry_after": "soon"},
}
LOOKS: dict[str, dict[str, Any]] = {
    "a page": {"do": "html"},
    "a word for failure": {"do": "rewrite", "set": {"status": "failed"}},
    "a connection that is reset": {"do": "reset-before"},
    "half an answer": {"do": "truncated"},
}
DOWNLOADS: dict[str, list[dict[str, Any]]] = {
    "a cut body in chunks": [{"nth": 1, "do": "cut-body", "framing": "chunked"}],
    "half a film that claims to be whole": [{"nth": 1, "do": "truncated"}],
    "a reset half way": [{"nth": 1, "do": "reset-midway"}],
    "a plain film that is called compressed": [{"nth": 1, "do": "gzip-lie"}],
    "no length": [{"nth": 1, "do": "no-length", "close": True}],
    "an XML error that says 200": [{"nth": 1, "do": "xml"}],
    "no byte": [{"nth": 1, "do": "empty"}],
    "a cut, and another part than was asked for": [
        {"nth": 1, "do": "cut-body"},
        {"nth": 2, "do": "range-shifted"},
    ],
}


@pytest.mark.parametrize("fault", CREATES.values(), ids=CREATES)
def test_a_create_struck_in_other_ways_ends_with_one_film(
    production: Production, fault: dict[str, Any]
) -> None:
    production.asks_for(1)
    production.service.plan_fault(on="create", nth=1, **fault)
    assert production.run().status == 0
    production.ends_well()


@pytest.mark.parametrize("fault", LOOKS.values(), ids=LOOKS)
def test_a_look_struck_in_other_ways_is_repeated(
    production: Production, fault: dict[str, Any]
) -> None:
    production.asks_for(1)
    production.service.plan_fault(on="get", nth=1, **fault)
    assert production.run().status == 0
    production.ends_well()


@pytest.mark.parametrize("faults", DOWNLOADS.values(), ids=DOWNLOADS)
def test_a_download_struck_in_other_ways_brings_the_true_film(
    production: Production, faults: list[dict[str, Any]]
) -> None:
    production.asks_for(1)
    for fault in faults:
        production.service.plan_fault(on="file", **fault)
    assert production.run().status == 0
    production.ends_well()


@pytest.mark.parametrize("answers", ["bare", "renamed"])
def test_an_id_under_another_name_or_without_an_envelope_is_found(
    tmp_path: Path, answers: str
) -> None:
    with sandbox(tmp_path / "odd", "--answers", answers) as odd:
        production = Production(Desk(tmp_path, odd.environ), odd, f"c-{answers}").asks_for(1)
        odd.plan_fault(on="create", nth=1, do="drop-after")
        assert production.run().status == 0
        assert production.states() == {"delivered": 1}
        assert production.paid_once()


def test_a_service_that_is_gone_leaves_everything_to_a_later_run(tmp_path: Path) -> None:
    state = tmp_path / "service"
    with sandbox(state) as first:
        port = str(urlsplit(first.ready["auth_url"]).port)
        production = Production(Desk(tmp_path, first.environ), first, "c-gone").asks_for(1)
        first.plan_fault(on="create", do="crash-before")
        parked = production.run("--max-wait", A_WHILE)
    assert parked.status == 5
    assert production.states() == {"submitting": 1}
    with sandbox(state, "--port", port) as back:
        Production(production.desk, back, production.name, films=1).ends_well()


def test_a_run_ended_by_a_signal_with_calls_under_way_loses_none(production: Production) -> None:
    production.asks_for(2)
    production.service.plan_fault(on="create", do="slow", seconds=1)
    process = production.start()
    production.waits_for(lambda: production.count("reserve") == 2)
    process.send_signal(signal.SIGTERM)

    _, err = process.communicate(timeout=60)

    assert process.returncode == 5
    assert "run the same command again" in err
    production.ends_well()
