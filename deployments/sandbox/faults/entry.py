"""Owns reading one entry of a plan: strict, and every refusal a sentence naming the member."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from deployments.sandbox.faults.fault import Fault, Which
from deployments.sandbox.faults.kinds import NEEDED, kinds_on
from deployments.sandbox.faults.members import read_member, wanted

WHICH = ("nth", "every", "chance", "seed", "per")


class FaultRefused(Exception):
    """An entry that cannot be planned; the message says why in a sentence."""


def read_fault(said: object, where: str, operations: Collection[str]) -> Fault:
    """Turn one entry into a fault, or refuse it; `where` is how the sentence calls it."""
    if not isinstance(said, Mapping):
        raise FaultRefused(f"{where} must hold members such as on and do.")
    on = _one_of(said, "on", [*operations, "*", "render", "webhook"], where)
    do = _one_of(said, "do", kinds_on(on), where)
    takes = kinds_on(on)[do].takes
    members: dict[str, Any] = {}
    for name, value in said.items():
        if name in takes:
            members[name] = _checked(name, value, where)
        elif name not in ("on", "do", *WHICH):
            allowed = ", ".join(takes) or "no members of its own"
            raise FaultRefused(f'{where}: "{name}" says nothing to {do}, which takes {allowed}.')
    for name, default in takes.items():
        if name not in members and default is NEEDED:
            raise FaultRefused(f'{where}: {do} needs "{name}", {wanted(name)}.')
    return Fault(on=on, do=do, which=_which(said, where), **{**takes, **members})


def _one_of(said: Mapping[str, Any], name: str, known: Collection[str], where: str) -> str:
    value = said.get(name)
    if isinstance(value, str) and value in known:
        return value
    trouble = f"cannot be {_short(value)}" if name in said else "is missing"
    raise FaultRefused(f'{where}: "{name}" {trouble}; it is one of {", ".join(known)}.')


def _which(said: Mapping[str, Any], where: str) -> Which:
    given = {name: _checked(name, said[name], where) for name in WHICH if name in said}
    per_video = given.pop("per", None) is not None
    return Which(**given, per_video=per_video)


def _checked(name: str, value: object, where: str) -> Any:
    try:
        return read_member(name, value)
    except ValueError:
        trouble = f'{where}: "{name}" must be {wanted(name)}; it is {_short(value)}.'
        raise FaultRefused(trouble) from None


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
