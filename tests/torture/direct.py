"""One trial of a paid command typed by hand: killed, typed again until somebody has their video.

They believe what they are told: a command that printed what it made is not typed again, one that
says that an earlier call is not settled has it settled first (`callsheet resolve`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.programs import Finished
from tests.torture.books import Line, read_calls
from tests.torture.checker import bought
from tests.torture.hook import Hook, Visit, visits
from tests.torture.leaks import leaks
from tests.torture.stand import Place, Stand
from tests.torture.trial import KILLED, PARKED, Kill, Trial

#: Times that a command is typed until somebody gives up.
TIMES = 6
#: Nothing was spent: an earlier call is not settled.
_REFUSED, _UNKNOWN = 4, 3


def type_it(stand: Stand, *, kill: Kill | None = None, again: Kill | None = None) -> Trial:
    """Have somebody type a scenario's command; kill it, and the next one they type."""
    return _Typing(stand, [one for one in (kill, again) if one is not None]).carry()


class _Typing:
    def __init__(self, stand: Stand, kills: list[Kill]) -> None:
        assert stand.scenario.typed is not None
        self.stand = stand
        self.service = stand.service
        self.place: Place = stand.place()
        self.kills_left = kills
        self.video = self._video() if "{video}" in stand.scenario.typed else ""
        self.words = stand.scenario.typed.format(name=self.place.name, video=self.video).split()
        self.keyed = "create" in self.words
        self.kills = 0
        self.before = len(self.service.charges())
        self.traces: list[list[Visit]] = []
        self.findings: list[str] = []
        self.said = ""

    def carry(self) -> Trial:
        for fault in self.stand.scenario.faults:
            self.service.plan_fault(**fault)
        got = self._type_until_done()
        self.service.clear_faults()
        self._settle()
        charges = self.service.charges()[self.before :]
        calls = read_calls(self.place.ledger)
        self.findings += of_money(bought(charges), calls, got, keyed=self.keyed)
        self.findings += leaks(self.place, self.said)
        return Trial(self.findings, self.kills, [self.traces], self.said)

    def _video(self) -> str:
        """Return a video that was made before, and not by this ledger."""
        wanted = {"tool": "explainer", "fields": {"topic": "Tea"}, "title": self.place.name}
        video_id = str(self.service.post("videos", {**wanted, "duration_seconds": 5})["id"])
        while self.service.video(video_id)["status"] == "generating":
            time.sleep(0.02)
        return video_id

    def _type_until_done(self) -> str | None:
        """Return the video that they were told of, or found; None if they gave up."""
        for _ in range(TIMES):
            ended = self._call()
            told = json.loads(ended.out).get("video_id") if ended.out else None
            if ended.status == KILLED:
                self.kills += 1
            # What has a key is paid for once, however often it is typed.
            if told and (ended.status == 0 or not self.keyed):
                return str(told)
            if ended.status == _REFUSED:
                if "callsheet resolve" not in ended.err:
                    self.findings.append(f"nobody says what to do: {ended.err}")
                found = self._settle()
                if found is not None:
                    return found
            elif ended.status not in (KILLED, PARKED, _UNKNOWN):
                self.findings.append(f"the command ended with {ended.status}: {ended.err[-300:]}")
        self.findings.append(f"the command did not end well in {TIMES} goes")
        return None

    def _call(self) -> Finished:
        trace = self.place.desk.folder / f"trace-{len(self.traces)}"
        kill = self.kills_left.pop(0) if self.kills_left else None
        linger = self.stand.scenario.linger
        hook = Hook(trace, kill.point, kill.nth, linger) if kill else Hook(trace)
        ended = self.place.desk.call(*self.words, hook=hook.as_json())
        self.traces.append(visits(trace))
        self.said += ended.out + ended.err
        return ended

    def _settle(self) -> str | None:
        """Look at the service for what unsettled calls made, and say so; return what was found."""
        found = None
        for call in self.place.desk.call("resolve", "--json").json["unsettled"]:
            made = [c["video_id"] for c in bought(self.service.charges()[self.before :])]
            found = made[-1] if made else None
            words = ["--adopt", found] if found else ["--abandon"]
            answered = self.place.desk.call("resolve", "--call", call["call"], *words)
            if answered.status:
                self.findings.append(f"call {call['call']} cannot be settled: {answered.err}")
        return found


def of_money(
    paid: Sequence[Mapping[str, Any]], calls: Sequence[Line], got: str | None, *, keyed: bool
) -> Iterator[str]:
    """One charge, for the video that somebody was told of; and in the ledger, if it has no key."""
    if len(paid) != 1:
        yield f"what was wanted once was charged {len(paid)} times"
    for charge in paid:
        if charge["video_id"] != got:
            yield f"{charge['video_id']} was charged, and they were told of {got}"
    made = [call["video_id"] for call in calls if call["outcome"] == "made"]
    if sorted(made) != sorted(c["video_id"] for c in paid if not keyed):
        yield f"the ledger says that {made} were made"
    for call in calls:
        if call["closed_at"] is None or (call["outcome"] == "unknown" and not call["resolved_at"]):
            yield f"call {call['id']} is not settled"
