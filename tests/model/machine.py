"""A campaign's life as Hypothesis tells it: any order of sheets, runs, faults, deaths and people.

After every step all promises are checked. The machine knows what should never happen; it does
not know how anything is done.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections import deque
from collections.abc import Coroutine
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from callsheet.tasks.engine.policy.decision import Rules
from callsheet.tasks.ledger.campaigns import find_campaign, set_budget
from callsheet.tasks.ledger.cancel_requests import ask_to_cancel, wake_stalled
from callsheet.tasks.ledger.decisions import RETAKEABLE, adopt_video, give_up
from callsheet.tasks.ledger.service_state import gate_of
from callsheet.tasks.ledger.values import CampaignRow, rows_of
from callsheet.tasks.ledger.webhook_events import Hint, keep_hint
from callsheet.tasks.runtime.errors import CallsheetError
from callsheet.tasks.values.briefs import CREATE, Brief
from tests.model import rules as promises
from tests.model.figures import check_figures
from tests.model.made import price_of
from tests.model.plain_ledger import PlainLedger
from tests.model.program import ORGANISATION, Due, Program
from tests.model.service import CLIPS, TROUBLES, SimulatedService
from tests.model.virtual_time import POINTS, Died, Fuse, VirtualLoop, VirtualTime

RULES = Rules(horizon=86_400, deadline=10_800, captions_wait=120, evidence_wait=600)
NAMES = ("a", "b", "c", "d")
TOPICS = ("tea", "salt", "rain", "bad")
SPANS = st.sampled_from([1.0, 20.0, 90.0, 700.0, 4_000.0, 11_000.0, 40_000.0, 90_000.0])
picks = st.integers(0, 99)
names = st.sampled_from(NAMES)
CALLS = ("create", "create", CLIPS[0], "get", "download", "list", "cancel")
FATES_DRAWN = ("ready", "ready", "failed", "never", "odd")


class CampaignMachine(RuleBasedStateMachine):
    """One campaign of up to four rows, one service, one ledger, and one process after another."""

    #: How many steps all machines have taken together.
    steps = 0

    def __init__(self) -> None:
        super().__init__()
        self.time, self.fuse = VirtualTime(), Fuse()
        self.loop = VirtualLoop(self.time)
        self.ledger = PlainLedger(self.fuse)
        self.ledger.watch, self.ledger.judge = promises.account_of, promises.check_spending
        self.sheet: dict[str, Brief] = {}
        #: The rows after the last step, and as they were earlier.
        self.found: list[CampaignRow] = []
        self.past: deque[CampaignRow] = deque(maxlen=40)
        self.campaign: Any = None
        #: Its account when the figures were last added up.
        self.account: promises.Account | None = None
        self.program: Program | None = None

    @initialize(
        shows_keys=st.booleans(), clip_keys=st.booleans(), clips=st.sets(st.sampled_from(NAMES))
    )
    def begin(self, shows_keys: bool, clip_keys: bool, clips: set[str]) -> None:
        self.rules = replace(RULES, clip_keys=clip_keys)
        self.service = SimulatedService(
            self.time, self.fuse, self._paid, shows_keys=shows_keys, clip_keys=clip_keys
        )
        self.clips = clips
        for name in NAMES[:2]:
            self.sheet[name] = self._brief(name, "tea", 5)

    # What people do.

    @rule(name=names, topic=st.sampled_from(TOPICS), seconds=st.integers(0, 2))
    def edit_row(self, name: str, topic: str, seconds: int) -> None:
        self.sheet[name] = self._brief(name, topic, seconds)

    @rule(name=names, how=st.sampled_from(["remove", "switch", "switch"]))
    def take_row_out(self, name: str, how: str) -> None:
        brief = self.sheet.pop(name, None)
        if brief is not None and how == "switch":
            self.sheet[name] = replace(brief, enabled=not brief.enabled)

    @rule(visits=st.sampled_from([0, 1, 2, 3, 60]))
    def run(self, visits: int) -> None:
        self._end()
        self._go(self._run())
        self._work(visits)

    @precondition(lambda self: self._due())
    @rule()
    def run_again_where_it_stopped(self) -> None:
        self.run(60)

    @precondition(lambda self: self.campaign is not None)
    @rule(budget=st.sampled_from([0, 11, 24, 36, 60, 200, 500]))
    def set_budget(self, budget: int) -> None:
        amount, now = Decimal(budget), self.time.now
        self._go(self.ledger.write(set_budget, campaign=self.campaign, budget=amount, at=now))

    @precondition(lambda self: self._in("uncertain"))
    @rule(pick=picks, again=st.booleans())
    def resolve(self, pick: int, again: bool) -> None:
        """A person looks into the service's app: what is there is adopted, else given up."""
        found = self._in("uncertain")
        row = found[pick % len(found)]
        take = row.take
        assert take is not None
        made = [v.id for v in self.service.videos.values() if v.take == take.id]
        change: Any = partial(give_up, charged=take.reserved, again=again)
        if made and (not again or take.quoted is None):
            change = partial(adopt_video, video_id=made[0])
        self._go(self.ledger.write(change, row=row, take=take, at=self.time.now))

    @precondition(lambda self: self.campaign is not None)
    @rule(name=names, whole=st.booleans())
    def ask_to_cancel(self, name: str, whole: bool) -> None:
        only = None if whole else {name}
        self._go(
            self.ledger.write(ask_to_cancel, campaign=self.campaign, only=only, at=self.time.now)
        )
        rows = [row for row in self._rows() if whole or row.row == name]
        self._go(self.ledger.write(wake_stalled, found=rows, at=self.time.now))

    @precondition(lambda self: self._retakeable())
    @rule(pick=picks)
    def retake(self, pick: int) -> None:
        found = self._retakeable()
        campaign = self.ledger.look(partial(find_campaign, name=self.campaign.name))
        self._go(self._program().retake(campaign, found[pick % len(found)]))

    # What the program does.

    @precondition(lambda self: self._due())
    @rule(visits=st.integers(1, 5), pick=picks)
    def work(self, visits: int, pick: int) -> None:
        self._work(visits, pick)

    @precondition(lambda self: self._due())
    @rule()
    def work_until_all_rest(self) -> None:
        self._work(60)

    @rule(point=st.sampled_from(POINTS), count=st.integers(1, 3), pick=picks, fresh=st.booleans())
    def die_at(self, point: str, count: int, pick: int, fresh: bool) -> None:
        if fresh:
            self.run(0)
        self.fuse.light(point, count)
        self._work(4, pick)
        self.fuse.light("", 0)

    @precondition(lambda self: self.past)
    @rule(pick=picks)
    def another_process_is_behind(self, pick: int) -> None:
        """A process that was stopped for a while goes on from a row as it read it then."""
        behind = self._new_program(beside=self._program())
        self._go(self._carry_one(behind, self.past[-1 - pick % len(self.past)]))
        self.loop.run_until_complete(behind.kill())

    @precondition(lambda self: self.program is not None and self.program.heard)
    @rule(pick=picks)
    def hear_again(self, pick: int) -> None:
        """News comes late, doubled and out of order; it is news of a take, as it was sent then."""
        program = self._program()
        self._go(program.hear_again(*program.heard[-1 - pick % len(program.heard)]))

    # What the world does.

    @rule(on=st.sampled_from(CALLS), what=st.sampled_from(TROUBLES), count=st.integers(1, 4))
    def plan_trouble(self, on: str, what: str, count: int) -> None:
        self.service.troubles.setdefault(on, deque()).extend([what] * count)

    @rule(on=st.sampled_from(["create", CLIPS[0]]), after=st.booleans(), count=st.integers(1, 9))
    def lose_answers(self, on: str, after: bool, count: int) -> None:
        word = "lost after" if after else "lost before"
        self.service.troubles[on] = deque([word] * count)

    @rule(fate=st.sampled_from(FATES_DRAWN), seconds=SPANS)
    def plan_render(self, fate: str, seconds: float) -> None:
        self.service.fates.append((fate, seconds))

    @precondition(lambda self: self.program is not None)
    @rule(ends=st.sampled_from(["late", "trouble", "never"]), count=st.integers(1, 6))
    def plan_delivery(self, ends: str, count: int) -> None:
        self._program().deliveries += [ends] * count

    @rule(seconds=SPANS)
    def wait(self, seconds: float) -> None:
        self.service.troubles.clear()
        self.time.now += seconds

    @precondition(lambda self: self.service.videos)
    @rule(pick=picks, how=st.sampled_from(["cancelled", "deleted"]))
    def interfere(self, pick: int, how: str) -> None:
        """A colleague cancels a render, or deletes a video, in the service's app."""
        made = list(self.service.videos.values())[pick % len(self.service.videos)]
        if how == "deleted" or not made.is_over(self.time.now):
            setattr(made, how, True)

    @rule(
        picked=st.lists(picks, max_size=3),
        forged=st.sampled_from([(), ("vid_nobody",)]),
        times=st.integers(1, 3),
    )
    def webhook(self, picked: list[int], forged: tuple[str, ...], times: int) -> None:
        """Deliveries come in any order: of ours and of others, too early, doubled, re-addressed."""
        made = list(self.service.videos)
        videos = frozenset({*forged, *(made[n % len(made)] for n in picked if made)})
        digest = hashlib.sha256(repr((sorted(videos), len(self.past))).encode()).hexdigest()
        for n in range(times):
            hint = Hint(digest=digest, nonce="n", videos=videos, event_id=f"evt_{digest[:9]}_{n}")
            program = self.program
            kept = False

            async def hear(hint: Hint = hint) -> None:
                nonlocal kept
                kept = await self.ledger.write(keep_hint, hint=hint, at=self.time.now)

            self._go(hear())
            if kept and program is not None and program is self.program:
                program.hint(videos)

    @rule(well=st.booleans())
    def webhooks_come_or_fail(self, well: bool) -> None:
        self.rules = replace(self.rules, hinted=well)
        if self.program is not None:
            self.program.rules = self.rules
            self.program.rely_on_hints(well)

    @precondition(lambda self: self.sheet)
    @rule(pick=picks, alike=st.booleans(), seconds=SPANS)
    def somebody_else_makes_one(self, pick: int, alike: bool, seconds: float) -> None:
        """A video of the organisation that is not ours; one that looks like ours is older."""
        brief = list(self.sheet.values())[pick % len(self.sheet)]
        if not alike:
            self.service.foreign({"topic": "foreign"}, "ready", seconds)
        elif not self._in("submitting"):
            self.service.foreign(dict(brief.request), "ready", seconds)

    # What is always true.

    @invariant()
    def all_promises_hold(self) -> None:
        type(self).steps += 1
        if self.campaign is not None:
            self.found = self._rows()
            self.past.extend(row for row in self.found if row not in self.past)
            self.ledger.look(
                partial(promises.check_ledger, service=self.service, now=self.time.now)
            )
            account = self.ledger.look(promises.account_of)
            if account != self.account:
                self.account = account
                self._check_figures()

    def teardown(self) -> None:
        self._end()
        if self.campaign is not None:
            self._check_figures()
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()
        self.ledger.close()

    def _check_figures(self) -> None:
        name, service, now = self.campaign.name, self.service, self.time.now
        self.ledger.look(partial(check_figures, name=name, service=service, now=now))

    def _brief(self, name: str, topic: str, seconds: int) -> Brief:
        operation = CLIPS[0] if name in self.clips else CREATE
        request = {"topic": f"{topic} {name}", "duration_seconds": seconds}
        limit = Decimal(price_of(request)) if operation != CREATE and seconds != 1 else None
        return Brief(row=name, request=request, operation=operation, max_credits=limit)

    async def _run(self) -> None:
        wanted = list(self.sheet.values())
        self.campaign = await self._program().run(wanted) or self.campaign
        self.ledger.look(partial(promises.check_sheet, wanted={brief.row for brief in wanted}))

    async def _carry_one(self, program: Program, row: CampaignRow) -> None:
        await program.process(self.campaign, [row])
        if program.scheduler.due:
            await program.visit(0)

    def _work(self, visits: int, pick: int = 0) -> None:
        for _ in range(visits):
            due = self._due()
            if not due:
                return
            self._go(self._program().visit(pick))

    def _go(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do something that the program may die of, or end with a sentence for people."""
        try:
            with contextlib.suppress(CallsheetError):
                self.loop.run_until_complete(work)
        except Died:
            self._end()
            # What it was told last, and had not written down yet, nobody can know of.
            known = self.ledger.look(partial(gate_of, organisation=ORGANISATION)) or 0.0
            self.service.closed_until = min(self.service.closed_until, known)

    def _paid(self, operation: str, body: bytes) -> int | None:
        if self.ledger.in_transaction:
            raise promises.Violation("a paid call left before its intent was committed")
        return self.ledger.look(partial(promises.check_intent, operation=operation, body=body))

    def _program(self) -> Program:
        if self.program is None:
            self.program = self._new_program()
        return self.program

    def _new_program(self, beside: Program | None = None) -> Program:
        return Program(self.ledger, self.service, self.time, self.rules, self.fuse, beside)

    def _end(self) -> None:
        """Kill the program; the next one is another process."""
        self.fuse.blown = False
        if self.program is not None:
            self.loop.run_until_complete(self.program.kill())
        self.program = None

    def _due(self) -> list[Due]:
        return self.program.scheduler.due if self.program else []

    def _rows(self) -> list[CampaignRow]:
        return self.ledger.look(partial(rows_of, campaign_id=self.campaign.id))

    def _retakeable(self) -> list[CampaignRow]:
        return [row for row in self.found if row.state in RETAKEABLE and row.enabled]

    def _in(self, state: str) -> list[CampaignRow]:
        return [row for row in self.found if row.state == state]
