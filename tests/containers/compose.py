"""Reads compose.yaml as `docker compose` does: what is said once, and `${VARIABLES}`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from tests.programs import ROOT

COMPOSE = ROOT / "deployments" / "compose.yaml"
DEMO = ROOT / "deployments" / "demo.env"
_VARIABLE = re.compile(r"\$\{(\w+)(?:(:-|:\?)([^}]*))?\}")


def read_compose(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the file with variables filled in; KeyError names one that has to be set."""
    read: dict[str, Any] = YAML(typ="safe").load(COMPOSE)
    return {key: _filled(value, environ) for key, value in read.items()}


def read_environ(path: Path) -> dict[str, str]:
    """Return the lines of an env file."""
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def variables() -> set[str]:
    """Return every variable that the file lets somebody set."""
    return {found[1] for found in _VARIABLE.finditer(COMPOSE.read_text())}


def environ_of(service: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, str]:
    """Return a service's environment: what has no value is taken from outside, or left out."""
    said: Mapping[str, str | None] = service.get("environment") or {}
    found = {name: environ.get(name) if value is None else value for name, value in said.items()}
    return {name: str(value) for name, value in found.items() if value is not None}


def started(compose: Mapping[str, Any], profiles: set[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the services that are wanted, each after those that it depends on."""
    wanted = {
        name: service
        for name, service in compose["services"].items()
        if profiles.issuperset(service.get("profiles", []))
    }
    done: set[str] = set()
    while len(done) < len(wanted):
        ready = [n for n in wanted if n not in done and _needs(wanted[n], wanted) <= done]
        assert ready, f"{sorted(set(wanted) - done)} wait for each other"
        for name in ready:
            yield name, wanted[name]
        done |= set(ready)


def _needs(service: Mapping[str, Any], wanted: Mapping[str, Any]) -> set[str]:
    found = {name for name in service.get("depends_on", {}) if name in wanted}
    mode = service.get("network_mode", "")
    return found | ({mode.removeprefix("service:")} if mode.startswith("service:") else set())


def _filled(value: Any, environ: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(one, environ) for key, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, environ) for one in value]
    return _VARIABLE.sub(lambda m: _value(m, environ), value) if isinstance(value, str) else value


def _value(found: re.Match[str], environ: Mapping[str, str]) -> str:
    name, how, other = found.groups()
    if environ.get(name):
        return environ[name]
    if how == ":?":
        raise KeyError(f"{name} has to be set: {other}")
    return other or ""
