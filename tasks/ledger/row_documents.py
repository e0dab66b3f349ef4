"""Rows as JSON: what `rows --json`, the manifest and the status sheet say of each. Reads only.

One query has all that is said of a row, and a campaign of 100,000 of them streams through it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, select

from callsheet.tasks.ledger.deliveries import checks_in, copies_in
from callsheet.tasks.ledger.figures import FIGURES, NAMES, PAGE
from callsheet.tasks.ledger.schema import rows, takes
from callsheet.tasks.ledger.values import CampaignRow, State, title_of
from callsheet.tasks.values.amounts import as_number, from_micro

_FILE = ("uri", "sha256", "bytes")
_ROW = (
    "id",
    "row",
    "state",
    "reason",
    "operation",
    "digest",
    "nth",
    "first_id",
    "request",
    "cells",
)
_TAKE = ("id", "number", "key", "body", "video_id", "digest", "nth", "quoted", "intended_at",
         "refused_at", "abandoned_at", "deleted_at", "deleted_by", "copied")  # fmt: skip
_SAID = ("review", "review_reason", "review_note", "reviewed_by")


class RowLine(NamedTuple):
    """A row as the ledger has it, with its present take, and as a line of `rows --json`."""

    found: Mapping[str, Any]
    document: dict[str, Any]

    @property
    def cells(self) -> dict[str, str]:
        """The sheet's own texts, by header."""
        return dict(json.loads(self.found["cells"]))

    @property
    def title(self) -> str:
        """A few words for people."""
        return title_of(self.found["request"], self.found["row"])


def row_lines(
    connection: Connection,
    campaign_id: int,
    *,
    states: Collection[State] | None = None,
    numbers: Sequence[int] | None = None,
) -> Iterator[RowLine]:
    """Yield the rows of a campaign in sheet order: all, those in `states`, or some by `numbers`."""
    query = _query(campaign_id, states, numbers)
    names = tuple(query.selected_columns.keys())
    with connection.execute(query, execution_options={"yield_per": PAGE}) as result:
        for line in result:
            found = dict(zip(names, line, strict=True))
            document = _document(found)
            if copied := found["take_copied"]:
                document["copies"] = [copy.as_json() for copy in copies_in(copied)]
            yield RowLine(found, document)


def row_documents(
    connection: Connection,
    campaign_id: int,
    *,
    states: Collection[State] | None = None,
    numbers: Sequence[int] | None = None,
) -> Callable[[CampaignRow], dict[str, Any]]:
    """Return what says of a row of the campaign how it stands: a line of `rows --json`.

    With `states` or `numbers` only of the rows in these, or of these numbers in the ledger.
    """
    lines = row_lines(connection, campaign_id, states=states, numbers=numbers)
    found = {line.found["id"]: line.document for line in lines}

    def document(row: CampaignRow) -> dict[str, Any]:
        # One that has moved since it was read is as it was then.
        said = found.get(row.id, NOTHING)
        return {**said, "row": row.row, "state": row.state, "reason": row.reason}

    return document


def _query(
    campaign_id: int, states: Collection[State] | None, numbers: Sequence[int] | None
) -> Select[Any]:
    wanted = [rows.c.campaign_id == campaign_id]
    if states is not None:
        wanted.append(rows.c.state.in_(states))
    if numbers is not None:
        wanted.append(rows.c.id.in_(numbers))
    figures, made = FIGURES.where(*wanted).subquery(), takes.alias("made")
    return (
        select(
            *(rows.c[name] for name in _ROW),
            *(figures.c[name] for name in NAMES),
            *(takes.c[name].label(f"take_{name}") for name in _TAKE),
            made.c.number.label("video_take"),
            *(made.c[name] for name in (*_SAID, "checks", "files")),
        )
        .select_from(rows)
        .join(figures, figures.c.id == rows.c.id)
        .outerjoin(takes, takes.c.id == rows.c.take_id)
        .outerjoin(made, made.c.id == rows.c.video_take_id)
        .where(*wanted)
        # As it stands, SQLite would find some by walking through all in the order of the sheet.
        .order_by(rows.c.position if numbers is None else rows.c.position + 0, rows.c.id)
    )


def _document(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return one row as JSON: a line of `rows --json` and of the manifest.

    Take, key and video are those of its present take; the figures are those of all its takes, and
    files, `review` and `checks` are of its newest video, which may be one of an earlier take
    (`video_take`).
    """
    key = found["take_key"]
    keyed = key is not None and f'"{key}"'.encode() in bytes(found["take_body"])
    return {
        "row": found["row"],
        "state": found["state"],
        "reason": found["reason"],
        "take": found["take_number"] or 0,
        "key": key if keyed else None,
        "video_id": found["take_video_id"],
        **{name: number_of(found[name]) for name in NAMES},
        "video_take": found["video_take"],
        "deliveries": _files(found["files"]),
        **{name: found[name] for name in _SAID},
        "checks": dict(checks_in(found["checks"])),
    }


def _files(text: str | None) -> list[dict[str, Any]]:
    """Return the files of a row's video, in the order in which they were delivered."""
    kept = json.loads(text) if text else {}
    return [{"kind": kind, **{name: one[name] for name in _FILE}} for kind, one in kept.items()]


@lru_cache(maxsize=4096)
def number_of(micro: int | None) -> int | float | None:
    """Return an amount in millionths as JSON has it: most rows cost one of a few prices."""
    return as_number(from_micro(micro))


#: What is said of a row of which nothing is known but its state.
NOTHING = _document(
    dict.fromkeys(_query(0, None, None).selected_columns.keys())
    | {"reserved": 0, "paid_before": 0, "variance": 0}
)
