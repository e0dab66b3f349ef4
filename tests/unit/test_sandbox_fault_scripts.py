"""Fault scripts that are none, or that plan what cannot be: each is refused in a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from callsheet.deployments.sandbox.faults.planned import FaultRefused, Faults, read_script

BAD = [
    ("faults.toml", "[[faults]\n", "is not TOML"),
    ("faults.json", "{", "is not JSON"),
    ("faults.json", "3", 'must hold a list called "faults"'),
    ("faults.toml", '[[fault]]\non = "get"\n', 'must hold a list called "faults"'),
    ("faults.toml", '[[faults]]\non = "get"\ndo = "slow"\nseconds = "1"\n',
     'fault 1: "seconds" must be a number of seconds from 0'),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "sentence"), BAD)
def test_a_bad_script_is_refused_in_a_sentence(
    tmp_path: Path, name: str, text: str, sentence: str
) -> None:
    (tmp_path / name).write_text(text)
    faults = Faults(tmp_path / "faults.jsonl")
    faults.operations = ["get"]
    with pytest.raises(FaultRefused) as refused:
        faults.plan(read_script(tmp_path / name))
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)
    assert faults.listed() == []
