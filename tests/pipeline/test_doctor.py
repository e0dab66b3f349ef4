"""`callsheet doctor`: what is wrong with a place, and what helps."""

from __future__ import annotations

from typing import Any

from tests.here import Here


def found(here: Here, status: int) -> dict[str, list[dict[str, Any]]]:
    """Return what is found of each part."""
    done = here.call("doctor", "--json")
    assert (done.status, done.json["exit"]) == (status, status), done.out
    parts: dict[str, list[dict[str, Any]]] = {}
    for one in done.json["findings"]:
        parts.setdefault(one["part"], []).append(one)
    return parts


def test_a_place_that_is_well_is_said_to_be(here: Here) -> None:
    here.monkeypatch.setenv("PREFECT_API_URL", "")
    parts = found(here, 0)
    assert {part: [one["verdict"] for one in all_] for part, all_ in parts.items()} == {
        "versions": ["ok"],
        "packages": ["ok"],
        "settings": ["ok"],
        "ledger": ["note"],
        "prefect": ["ok"],
    }
    said = here.call("doctor").out
    assert "ok    versions  Python 3." in said
    assert not (here.folder / ".callsheet").exists()


def test_what_is_wrong_comes_with_what_helps(here: Here) -> None:
    here.monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    here.monkeypatch.setenv("CALLSHEET_COLOUR", "red")
    here.monkeypatch.delenv("CALLSHEET_API_KEY")
    here.monkeypatch.setenv("CALLSHEET_LEDGER", "mysql://h/d")
    (here.folder / "tasks.py").write_text("")
    parts = found(here, 2)
    (hidden,) = parts["packages"]
    assert f'another package "tasks" in {here.folder}' in hidden["words"]
    assert "PYTHONSAFEPATH" in hidden["remedy"]
    note, wrong = parts["settings"]
    assert (note["verdict"], wrong["verdict"]) == ("note", "wrong")
    assert "CALLSHEET_COLOUR" in note["words"]
    assert "callsheet login" in wrong["remedy"]
    assert "cannot live in mysql" in parts["ledger"][0]["words"]
    assert "does not answer" in parts["prefect"][0]["words"]
