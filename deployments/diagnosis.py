"""What is found about the place that Callsheet runs in: versions, packages, settings, Prefect.

Changes nothing, and asks nobody but the ledger and Prefect's server.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Literal

from deployments.prefect_address import MEND, PrefectAddress, ServerAnswer, prefect_address
from flows.packages import REMEDY, ROOT, hidden_in
from tasks.errors import CallsheetError
from tasks.ledger import open_ledger
from tasks.ledger.migrate import MAKE_ONE
from tasks.settings import Settings, load_settings


@dataclass(frozen=True, kw_only=True)
class PlaceFinding:
    """One thing that was found: fine, worth a note, or wrong, and then what helps."""

    part: str
    verdict: Literal["ok", "note", "wrong"]
    words: str
    remedy: str | None = None


async def diagnose(profile: str | None) -> list[PlaceFinding]:
    """Return what is found in the current folder."""
    found = [*_versions(), *_packages(Path.cwd())]
    try:
        settings = load_settings(profile=profile)
    except CallsheetError as error:
        found.append(_wrong("settings", error))
    else:
        found += [*_settings(settings), await _ledger(settings)]
    return [*found, *_prefect(prefect_address())]


def _versions() -> Iterator[PlaceFinding]:
    # Prefect needs it as well; only this command pays for it.
    from packaging.requirements import Requirement

    wrong = False
    for line in requires("callsheet") or ():
        needed = Requirement(line)
        if needed.marker is not None and not needed.marker.evaluate({"extra": ""}):
            continue
        try:
            there = version(needed.name)
        except PackageNotFoundError:
            there = None
        if there is None or not needed.specifier.contains(there, prereleases=True):
            wrong = True
            yield PlaceFinding(
                part="versions",
                verdict="wrong",
                words=f"{needed.name} is {there or 'missing'}, and has to be {needed.specifier}",
                remedy="install Callsheet with its constraints.txt",
            )
    if not wrong:
        words = f"Python {sys.version.split()[0]}, Prefect {version('prefect')}, Callsheet "
        yield PlaceFinding(part="versions", verdict="ok", words=words + version("callsheet"))


def _packages(folder: Path) -> Iterator[PlaceFinding]:
    """Find other packages called as ours, where Python would look for them."""
    path = [Path(place or ".") for place in os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    given = [place for place in path if place.resolve() != ROOT] if any(path) else []
    found = {place.resolve(): hidden_in(place) for place in (folder, *given)}
    for place, names in found.items():
        for name in names:
            yield PlaceFinding(
                part="packages",
                verdict="note",
                words=f'there is another package "{name}" in {place}: where that folder is on '
                f"Python's path, it hides Callsheet's own, which is in {ROOT}",
                remedy=REMEDY,
            )
    if not any(found.values()):
        yield PlaceFinding(part="packages", verdict="ok", words=f"Callsheet's own, in {ROOT}")


def _settings(settings: Settings) -> Iterator[PlaceFinding]:
    for remark in settings.remarks:
        yield PlaceFinding(part="settings", verdict="note", words=remark)
    try:
        address, _ = settings.service()
    except CallsheetError as error:
        yield _wrong("settings", error)
    else:
        yield PlaceFinding(part="settings", verdict="ok", words=f"the service is at {address}")


async def _ledger(settings: Settings) -> PlaceFinding:
    try:
        async with await open_ledger(settings.ledger, create=False) as ledger:
            return PlaceFinding(part="ledger", verdict="ok", words=f"it is {ledger.address}")
    except CallsheetError as error:
        if error.remedy == MAKE_ONE:
            return PlaceFinding(part="ledger", verdict="note", words=str(error), remedy=MAKE_ONE)
        return _wrong("ledger", error)


def _prefect(at: PrefectAddress | None) -> Iterator[PlaceFinding]:
    if at is None:
        words = "no server is configured: a run brings its own"
        yield PlaceFinding(part="prefect", verdict="ok", words=words)
        return
    health = at.health()
    if health is ServerAnswer.REFUSED:
        yield PlaceFinding(part="prefect", verdict="wrong", words=at.refusal(), remedy=MEND)
    elif health is ServerAnswer.AWAY:
        words = f"the server at {at.url} ({at.stands_in}) does not answer"
        yield PlaceFinding(part="prefect", verdict="wrong", words=words)
    else:
        words = f"the server at {at.url} ({at.stands_in}) answers"
        yield PlaceFinding(part="prefect", verdict="ok", words=words)
        yield from _servers_version(at.version(), version("prefect"))


def _servers_version(theirs: str | None, ours: str) -> Iterator[PlaceFinding]:
    if theirs is None or theirs == ours:
        return
    words = f"the server is Prefect {theirs}, this is {ours}"
    if theirs.split(".")[0] != ours.split(".")[0]:
        remedy = "run both with the same major version"
        yield PlaceFinding(part="prefect", verdict="wrong", words=words, remedy=remedy)
    else:
        yield PlaceFinding(part="prefect", verdict="ok", words=f"{words}: they work together")


def _wrong(part: str, error: CallsheetError) -> PlaceFinding:
    return PlaceFinding(part=part, verdict="wrong", words=str(error), remedy=error.remedy)
