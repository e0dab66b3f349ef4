"""Owns fault scripts: files, in TOML or JSON, that list what is to go wrong.

[[faults]]
on = "create"
nth = 2
do = "drop-after"
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from deployments.sandbox.faults.entry import FaultRefused


def read_script(path: Path) -> list[object]:
    """Read the entries of a script; raises FaultRefused when it is none."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise FaultRefused(f"The fault script {path} cannot be read: {why}.") from error
    read = json.loads if path.suffix.lower() == ".json" else tomllib.loads
    try:
        said = read(text)
    except (ValueError, RecursionError) as error:
        kind = "JSON" if read is json.loads else "TOML"
        raise FaultRefused(f"The fault script {path} is not {kind}: {error}.") from error
    entries = said.get("faults") if isinstance(said, dict) and set(said) <= {"faults"} else said
    if not isinstance(entries, list):
        msg = f'The fault script {path} must hold a list called "faults", and nothing beside it.'
        raise FaultRefused(msg)
    return entries
