"""Where trials take place: a sandbox that renders at once, and what else a scenario needs.

One stand serves many trials, one after the other; each has a folder and a campaign of its own.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.databases import PostgresServer, postgres_server
from tests.programs import Desk, Sandbox, sandbox
from tests.stores import S3Server, moto_s3, rclone_s3
from tests.torture.campaign import Scenario

#: How long a clip whose answer was lost is searched for.
EVIDENCE_WAIT = "1s"


@dataclass(frozen=True)
class Place:
    """The folder of one trial, and the campaign, ledger and store that it alone has."""

    name: str
    desk: Desk
    ledger: str
    #: The bucket's server, or None for a store in the folder.
    bucket: S3Server | None


@dataclass
class Stand:
    """A running service, and a bucket and a database server where the scenario wants them."""

    folder: Path
    scenario: Scenario
    service: Sandbox
    bucket: S3Server | None
    database: PostgresServer | None
    _count: Iterator[int] = field(default_factory=itertools.count)

    def place(self) -> Place:
        """Make an empty place for a trial, in what looks like an organization of its own.

        Videos of an earlier trial have the same texts: they might be this one's.
        """
        self.service.empty_list()
        name = f"{self.scenario.name}-{next(self._count)}"
        folder = self.folder / name
        folder.mkdir()
        environ = {**self.service.environ, "CALLSHEET_EVIDENCE_WAIT": EVIDENCE_WAIT}
        environ |= self.scenario.environ
        ledger = f"sqlite:///{folder / '.callsheet' / 'ledger.db'}"
        if self.database is not None:
            ledger = self.database.new_database()
        environ["CALLSHEET_LEDGER"] = ledger
        if self.bucket is not None:
            environ |= self.bucket.environment()
            environ["CALLSHEET_STORE"] = f"{self.bucket.address}/{name}"
        return Place(name, Desk(folder, environ), ledger, self.bucket)


@contextmanager
def stand(folder: Path, scenario: Scenario) -> Iterator[Stand]:
    """Set up everything a scenario needs."""
    with ExitStack() as stack:
        options = ("--time-scale", "600", "--credits", "1000000000", "--render", scenario.render)
        service = stack.enter_context(sandbox(folder / "service", *options))
        bucket = database = None
        if scenario.store == "rclone":
            bucket = stack.enter_context(rclone_s3(folder / "s3"))
        elif scenario.store == "moto":
            # It would tell of every request.
            logging.getLogger("werkzeug").setLevel(logging.ERROR)
            bucket = stack.enter_context(moto_s3())
        if scenario.ledger == "postgres":
            database = stack.enter_context(postgres_server())
        yield Stand(folder, scenario, service, bucket, database)
