"""What the answer to a paid call, or its absence, leads to. Pure functions.

The cases: a definite no, an unknown outcome, not made, not yet. What was made goes on in `renders`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from callsheet.tasks.engine.policy.decision import (
    NEVER_MADE,
    SPREAD,
    Busy,
    Decision,
    Memory,
    NothingFound,
    NotMade,
    RefusedAs,
    Rules,
    backoff,
    lane_of,
    unwanted,
)
from callsheet.tasks.ledger.values import CampaignRow
from callsheet.tasks.runtime.errors import shorten
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.values.briefs import Brief, Json
from callsheet.tasks.values.edits import edit_of

#: Answers lost in a row before this run leaves the row for a later one.
LOST_LIMIT = 8
#: Between two searches for what a call without a key has made.
SEARCH = 15.0
#: A paid call may go unanswered for so long before its answer counts as lost, in seconds.
UNANSWERED = 300.0

_PAST_HORIZON = (
    "a create was sent and its answer lost, longer ago than the service is known to remember "
    "keys, and the service lists no video for it"
)


def refused(row: CampaignRow, memory: Memory, observation: RefusedAs) -> Decision:
    """A definite no to this call, which proves nothing about an earlier one of the same key."""
    if observation.of_key:
        reason = f"{observation.words}: the service holds this key for something else"
        return Decision(memory, to="uncertain", reason=reason)
    if observation.status in (400, 413, 422):
        return Decision(memory, to="rejected", reason=in_columns(observation.words, row))
    if observation.status in (404, 409) and edit_of(row.operation):
        words = f"{observation.words}; nothing was edited: run again, or with `--edits retake`"
        return Decision(memory, to="held", reason=f"{words} for a new video")
    # Nothing that a row could be blamed for: every other one would be told the same.
    words = (
        f"{observation.words.rstrip('.')}: add credits, then run again"
        if observation.status == 402
        else observation.words
    )
    if unwanted(row) and not memory.doubt:
        return Decision(
            memory, to="cancelled", reason=f"{NEVER_MADE}: {observation.words}", defers=words
        )
    if memory.doubt:
        # An answer to this take was lost before: it may be paid for, so its money stays reserved.
        return Decision(memory, reason=words, defers=words)
    return Decision(memory, to="held", reason=words, defers=words)


def not_found(
    row: CampaignRow, memory: Memory, observation: NothingFound, now: float, rules: Rules
) -> Decision:
    """Ask a person, for a call without a key once it was looked for long enough."""
    if row.take is None or row.take.keyed:
        other = f"a create was sent to another service ({observation.sent_to}), and its answer lost"
        words = other if observation.sent_to else _PAST_HORIZON
        return Decision(memory, to="uncertain", reason=f"{words}: {_settle(row)}")
    if now - row.take.intended_at < rules.evidence_wait:
        return Decision(memory, lane="search", after=min(SEARCH, rules.evidence_wait / 10))
    if edit_of(row.operation):
        words = "the answer to the edit of its video was lost, and the video shows no sign of it"
        return Decision(memory, to="uncertain", reason=f"{words}: {_settle(row)}")
    named = ", ".join(observation.candidates[:5])
    found = f"new videos that may be it: {named}" if named else "no new video is in its list"
    reason = f"the answer to a paid call without a key was lost, and {found}: {_settle(row)}"
    return Decision(memory, to="uncertain", reason=reason)


def _settle(row: CampaignRow) -> str:
    adopt = suggest("resolve", row.campaign, row.row, "--adopt", "ID")
    resend = suggest("resolve", row.campaign, row.row, "--resend")
    abandon = suggest("resolve", row.campaign, row.row, "--abandon")
    return f"look in the service's app, then `{adopt}` for what it made, `{resend}` or `{abandon}`"


def not_made(row: CampaignRow, memory: Memory, observation: NotMade, now: float) -> Decision:
    if unwanted(row):
        return Decision(memory, to="cancelled", reason=f"{NEVER_MADE}: {observation.words}")
    memory = replace(memory, failures=memory.failures + 1)
    if memory.failures >= LOST_LIMIT:
        return Decision(memory, to="held", reason=f"{observation.words}: run again")
    until = observation.until.timestamp() if observation.until else None
    after = max(backoff(memory.failures), 0.0 if until is None else until - now)
    return Decision(
        memory,
        to="approved",
        reason=observation.words,
        lane="submit_unkeyed",
        after=after,
        pauses=until,
    )


def busy(memory: Memory, observation: Busy, now: float, rules: Rules) -> Decision:
    """Wait for another call to be settled; hold the row once that will not happen by itself."""
    memory = replace(memory, failures=memory.failures + 1)
    # First its answer is waited for, then what it made is searched for.
    limit = rules.evidence_wait + max(rules.evidence_wait, UNANSWERED)
    if observation.since is None or now - observation.since > limit:
        reason = f"{observation.words}: settle them with `callsheet resolve`, then run again"
        return Decision(memory, to="held", reason=reason)
    return Decision(memory, lane="submit_unkeyed", after=backoff(memory.failures))


def again(row: CampaignRow, memory: Memory, words: str, now: float, rules: Rules) -> Decision:
    """Send the same bytes again after a while, or leave them to a later run."""
    memory = replace(memory, failures=memory.failures + 1)
    if memory.failures >= LOST_LIMIT:
        return Decision(memory, reason=f"no clear answer yet ({words}): run again")
    after = backoff(memory.failures)
    return Decision(memory, lane=lane_of(row, now + after * SPREAD, rules), after=after)


# What the service says against a brief, in terms of the sheet: line, column and value. Pure.


def in_columns(words: str, row: Brief | CampaignRow) -> str:
    """Return a refusal with the cells it is about, and what to edit; `words` stand behind.

    `words` are the client's: "create was refused (400): " and what the service says. It names
    members of the request, which are columns of the sheet.
    """
    said = words.partition("): ")[2] or words
    cells = [
        f'{column} "{shorten(_text(value))}"'
        for column, value in _columns(row.asked())
        if re.search(rf"(?<![\w.]){re.escape(column)}(?!\w)", said)
    ]
    where = f"line {row.line} of the sheet" if row.line else "the row in the sheet"
    if not cells:
        return f"{words}: edit {where} and run again"
    return (
        f"the service refused {' and '.join(cells)}: edit {where} and run again; its words: {words}"
    )


def _columns(request: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    """Yield the columns that a request was read from, and their values."""
    for name, value in request.items():
        if isinstance(value, Mapping) and name == "fields":
            yield from ((f"{name}.{inner}", one) for inner, one in value.items())
        else:
            yield name, value


def _text(value: Json) -> str:
    if isinstance(value, Mapping) and isinstance(scenes := value.get("scenes"), list):
        return " ".join(
            str(one.get("narration") or "") for one in scenes if isinstance(one, Mapping)
        )
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
