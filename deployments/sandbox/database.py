"""The sandbox's SQLite database and its tables.

Whatever is waiting is executed in one transaction and answered after one commit, so that
every answer is durable and a thousand creates do not cost a thousand flushes of the disk.
"""

from __future__ import annotations

import asyncio
import json
import queue
import sqlite3
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec, Self, TypeVar

from pydantic import BaseModel, ConfigDict, PlainSerializer

P = ParamSpec("P")
Result = TypeVar("Result")
Act = Callable[[sqlite3.Connection], Any]
Waiting = tuple[Act, "asyncio.Future[Any]"]

MOST_AT_ONCE = 256


class Database:
    """The state of the service. Opening it keeps a second sandbox out of the same file."""

    def __init__(self, path: Path, *, credits: int) -> None:
        self._connection = _open(path, credits)
        self._waiting: queue.SimpleQueue[Waiting | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="database", daemon=True)
        self._thread.start()

    async def run(
        self,
        act: Callable[Concatenate[sqlite3.Connection, P], Result],
        *said: P.args,
        **named: P.kwargs,
    ) -> Result:
        """Execute one act whole or not at all; return when it is on the disk."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.put((lambda db: act(db, *said, **named), future))
        result: Result = await future
        return result

    def close(self) -> None:
        """Finish what is waiting and close the file."""
        self._waiting.put(None)
        self._thread.join()
        self._connection.close()

    def _work(self) -> None:
        while True:
            batch = [self._waiting.get()]
            while len(batch) < MOST_AT_ONCE and not self._waiting.empty():
                batch.append(self._waiting.get())
            acts = [one for one in batch if one is not None]
            if acts:
                _deliver(self._execute(acts))
            if len(acts) < len(batch):
                return

    def _execute(self, acts: list[Waiting]) -> list[tuple[asyncio.Future[Any], Any]]:
        connection = self._connection
        outcomes: list[tuple[asyncio.Future[Any], Any]] = []
        try:
            connection.execute("BEGIN")
            for act, future in acts:
                connection.execute("SAVEPOINT act")
                try:
                    outcomes.append((future, act(connection)))
                except Exception as error:
                    connection.execute("ROLLBACK TO act")
                    outcomes.append((future, error))
                connection.execute("RELEASE act")
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            # A full disk, say: nothing of this batch happened, and no one is told that it did.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            return [(future, error) for _, future in acts]
        return outcomes


def _open(path: Path, credits: int) -> sqlite3.Connection:
    # Readable by its owner alone, and so are the journals next to it: it holds webhook secrets.
    path.touch(mode=0o600)
    connection = sqlite3.connect(path, timeout=1, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    # Exclusive: two sandboxes on one state would each spend the other's credits.
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    set_up(connection, credits=credits)
    return connection


def _deliver(outcomes: list[tuple[asyncio.Future[Any], Any]]) -> None:
    def settle() -> None:
        for future, outcome in outcomes:
            if future.done():
                continue
            if isinstance(outcome, Exception):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)

    loop = outcomes[0][0].get_loop()
    if not loop.is_closed():
        loop.call_soon_threadsafe(settle)


# The tables of the whole state: what there is, what was charged for, and everything else whole.


CREDITS = """
CREATE TABLE IF NOT EXISTS account (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    balance INTEGER NOT NULL CHECK (balance >= 0),
    reserved INTEGER NOT NULL DEFAULT 0 CHECK (reserved BETWEEN 0 AND balance)
);
CREATE TABLE IF NOT EXISTS charges (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    time REAL NOT NULL,
    event TEXT NOT NULL CHECK (event IN ('reserve', 'release', 'charge')),
    video_id TEXT NOT NULL,
    idempotency_key TEXT,
    title TEXT,
    credits INTEGER NOT NULL,
    operation TEXT,
    render INTEGER,
    key_id TEXT
);
CREATE TRIGGER IF NOT EXISTS charges_are_not_changed BEFORE UPDATE ON charges
BEGIN SELECT RAISE(ABORT, 'the charge log is only appended to'); END;
CREATE TRIGGER IF NOT EXISTS charges_are_not_deleted BEFORE DELETE ON charges
BEGIN SELECT RAISE(ABORT, 'the charge log is only appended to'); END;
"""

DOCUMENTS = """
CREATE TABLE IF NOT EXISTS documents (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    state TEXT NOT NULL,
    due REAL NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (kind, id)
);
CREATE INDEX IF NOT EXISTS documents_by_owner ON documents (kind, owner, state, due);
CREATE INDEX IF NOT EXISTS documents_in_order ON documents (kind, due);
CREATE INDEX IF NOT EXISTS documents_by_state ON documents (kind, state, due);
"""


def set_up(db: sqlite3.Connection, *, credits: int) -> None:
    """Make the tables that are missing; `credits` is the balance of a new state."""
    for tables in (CREDITS, DOCUMENTS):
        db.executescript(tables)
    db.execute("INSERT OR IGNORE INTO account (one, balance) VALUES (1, ?)", (credits,))


def stamp(moment: float | None) -> str | None:
    """Write a moment as the service does: RFC 3339 in UTC."""
    if moment is None:
        return None
    written = datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds")
    return written.replace("+00:00", "Z")


#: Unix seconds where it is kept, and a stamp where it is answered.
Moment = Annotated[float, PlainSerializer(stamp, return_type=str, when_used="json")]


class Document(BaseModel):
    """What is kept whole, as one line of the table of documents.

    It is found by its id, by the id of what it belongs to, by its state, and by the moment at which
    it is due or took place.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    id: str

    def found_by(self) -> tuple[str, str, float]:
        """Give owner, state and moment; what has none of them is found by its id alone."""
        return "", "", 0.0

    def changed(self, **members: object) -> Self:
        """Give the same document with other members."""
        return self.model_copy(update=members)


Kept = TypeVar("Kept", bound=Document)


def put(db: sqlite3.Connection, document: Kept) -> Kept:
    """Keep a document, in place of the one that has its id."""
    kept = (type(document).__name__, document.id, *document.found_by())
    db.execute(
        "INSERT INTO documents (kind, id, owner, state, due, body) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (kind, id) DO UPDATE SET owner = excluded.owner, state = excluded.state,"
        " due = excluded.due, body = excluded.body",
        (*kept, json.dumps(document.model_dump(exclude_defaults=True))),
    )
    return document


def find(db: sqlite3.Connection, kind: type[Kept], document_id: str) -> Kept | None:
    """Give the document of this kind with this id, if there is one."""
    sql = "SELECT body FROM documents WHERE kind = ? AND id = ?"
    row = db.execute(sql, (kind.__name__, document_id)).fetchone()
    return None if row is None else kind.model_validate_json(row["body"])


def every(
    db: sqlite3.Connection,
    kind: type[Kept],
    *,
    owner: str | None = None,
    state: str | None = None,
    until: float | None = None,
    newest: bool = False,
    most: int = -1,
) -> list[Kept]:
    """Give the documents of this kind: of one owner, in one state, due until then; oldest first."""
    named = {"owner =": owner, "state =": state, "due <=": until}
    wanted = {name: value for name, value in named.items() if value is not None}
    where = "".join(f" AND {name} ?" for name in wanted)
    order = "due DESC, n DESC" if newest else "due, n"
    sql = f"SELECT body FROM documents WHERE kind = ?{where} ORDER BY {order} LIMIT ?"
    rows = db.execute(sql, (kind.__name__, *wanted.values(), most))
    return [kind.model_validate_json(row["body"]) for row in rows]


def drop(db: sqlite3.Connection, kind: type[Document], **named: str) -> None:
    """Forget the document of this kind with an `id`, or those of an `owner`."""
    [(column, value)] = named.items()
    db.execute(f"DELETE FROM documents WHERE kind = ? AND {column} = ?", (kind.__name__, value))
