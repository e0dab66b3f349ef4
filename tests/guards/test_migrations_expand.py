"""A migration that says that it works with an older schema leaves its programs what they need."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping

import pytest
import sqlalchemy as sa
from alembic import command, op
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine

from callsheet.tasks.ledger.database import order_of
from callsheet.tasks.ledger.schema import FIRST
from tests.guards.expansion import Harm, harms, wrong


@pytest.fixture
def connection() -> Iterator[Connection]:
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def configured(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", "callsheet.tasks.ledger:migrations")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def test_what_migrations_say_that_they_work_with_is_so(connection: Connection) -> None:
    scripts = ScriptDirectory.from_config(configured())
    newer = [one for one in scripts.walk_revisions() if order_of(one.revision) > order_of(FIRST)]
    oldest, left = FIRST, {}
    for script in reversed(newer):
        command.upgrade(configured(connection), script.down_revision)
        works_with = getattr(script.module, "works_with", None)
        gone = {one for number, those in left.items() if number <= works_with for one in those}
        found = harms(connection, script.module.upgrade)
        assert wrong(script.revision, works_with, oldest=oldest, found=found, left=gone) == []
        oldest = works_with
        left[script.revision] = getattr(script.module, "leaves", ())
        # What it made already exists.
        command.stamp(configured(connection), script.revision)


EXPANDS: Mapping[str, str] = {
    "nothing": "pass",
    "a column that may be empty": "op.add_column('rows', sa.Column('mood', sa.Text()))",
    "a column that fills itself": "op.add_column('takes', sa.Column('tries', sa.Integer(), "
    "nullable=False, server_default='0'))",
    "a table": "op.create_table('moods', sa.Column('id', sa.Integer(), primary_key=True), "
    "sa.Column('row_id', sa.Integer(), sa.ForeignKey('rows.id'), nullable=False), "
    "sa.Column('word', sa.Text(), sa.CheckConstraint('word > 0'), unique=True, nullable=False))",
    "a table of what is removed with its lines": "op.create_table('looks', sa.Column('id', "
    "sa.Integer(), sa.ForeignKey('sessions.digest', ondelete='CASCADE'), primary_key=True))",
    "an index of a small table": "op.create_index('ix_gates_closed', 'gates', ['closed_until'])",
    "an index of what is nowhere yet": "op.add_column('rows', sa.Column('mood', sa.Text())); "
    "op.create_index('ix_rows_mood', 'rows', ['mood'], unique=True, "
    "sqlite_where=sa.text('mood IS NOT NULL'))",
    "what older programs do not read": "op.add_column('rows', sa.Column('mood', sa.Text())); "
    "op.execute(\"UPDATE rows SET mood = (SELECT max(state, row) FROM takes) WHERE state = 'a'\")",
}

HARMS: Mapping[str, tuple[str, str]] = {
    "a table that is dropped": ("op.drop_table('counters')", "table counters is gone"),
    "a table that is renamed": (
        "op.rename_table('counters', 'counts')",
        "table counters is gone",
    ),
    "a column that is dropped": (
        "with op.batch_alter_table('rows') as rows: rows.drop_column('wishes')",
        "rows.wishes is gone",
    ),
    "a column that is renamed": (
        "op.alter_column('rows', 'wishes', new_column_name='wants')",
        "rows.wishes is gone",
    ),
    "an index that is dropped": (
        "op.drop_index('ix_takes_digest', table_name='takes')",
        "takes.ix_takes_digest is gone",
    ),
    "a constraint that is dropped": (
        "with op.batch_alter_table('accounts') as one: "
        "one.drop_constraint('uq_accounts_kind_name', type_='unique')",
        "may have the same ('kind', 'name') twice",
    ),
    "a column that has to be written": (
        "with op.batch_alter_table('takes') as takes: "
        "takes.add_column(sa.Column('mood', sa.Text(), nullable=False))",
        "takes.mood has to be written",
    ),
    "a column that may no longer be empty": (
        "with op.batch_alter_table('takes') as takes: "
        "takes.alter_column('video_id', nullable=False)",
        "takes.video_id may be empty, or may no longer be",
    ),
    "a column that may be empty now": (
        "with op.batch_alter_table('rows') as rows: rows.alter_column('digest', nullable=True)",
        "rows.digest may be empty",
    ),
    "a column of another type": (
        "with op.batch_alter_table('rows') as rows: rows.alter_column('state', type_=sa.String(8))",
        "rows.state has another type",
    ),
    "a default of a column that is there": (
        "with op.batch_alter_table('rows') as rows: "
        "rows.alter_column('wishes', server_default='all')",
        "rows.wishes has another default",
    ),
    "what may be there once alone": (
        "with op.batch_alter_table('takes') as takes: "
        "takes.create_unique_constraint('uq_takes_video', ['video_id'])",
        "takes refuses the same ('video_id',) twice",
    ),
    "an index that says so": (
        "op.create_index('ux_campaigns_sheet', 'campaigns', ['sheet'], unique=True)",
        "campaigns refuses the same ('sheet',) twice",
    ),
    "one of a new column that fills itself": (
        "op.add_column('gates', sa.Column('mood', sa.Text(), server_default='good')); "
        "op.create_index('ux_gates_mood', 'gates', ['mood'], unique=True)",
        "gates refuses the same ('mood',) twice",
    ),
    "what only may be written": (
        "with op.batch_alter_table('rows') as rows: "
        "rows.create_check_constraint('ck_rows_nth', 'nth < 9')",
        "rows takes only what fits nth < 9",
    ),
    "a reference from what is there": (
        "with op.batch_alter_table('nights') as nights: "
        "nights.create_foreign_key('fk_nights', 'inboxes', ['inbox'], ['name'])",
        "nights.('inbox',) has to refer to inboxes",
    ),
    "a table that refers to what older programs remove": (
        "op.create_table('looks', sa.Column('id', sa.Integer(), "
        "sa.ForeignKey('sessions.digest'), primary_key=True))",
        "looks keeps older programs from removing lines of sessions",
    ),
    "a trigger": (
        "op.execute('CREATE TRIGGER guard BEFORE UPDATE ON rows BEGIN SELECT 1; END')",
        "rows has a trigger guard",
    ),
    "an index of a large table": (
        "op.create_index('ix_rows_title', 'rows', ['line'])",
        "rows.ix_rows_title is made of a large table",
    ),
    "lines that say something else": (
        "op.execute(\"UPDATE rows SET since = 0, state = 'made' WHERE state = 'delivered'\")",
        "rows.state is written anew",
    ),
    "lines that are written in another way": (
        "op.execute('WITH old AS (SELECT id FROM events) DELETE FROM events WHERE id IN old')",
        "WITH old",
    ),
    "lines that are gone": ("op.execute('DELETE FROM events')", "DELETE FROM events"),
    "lines that nobody expects": (
        "op.execute(\"INSERT INTO gates VALUES ('me', 1.0, NULL, NULL, NULL)\")",
        "INSERT INTO gates",
    ),
}


@pytest.fixture(scope="module")
def made() -> bytes:
    """A ledger of the first schema that the rule is for."""
    with create_engine("sqlite://").connect() as connection:
        command.upgrade(configured(connection), FIRST)
        connection.commit()
        content: bytes = database_of(connection).serialize()
    return content


def database_of(connection: Connection) -> sqlite3.Connection:
    database = connection.connection.dbapi_connection
    assert isinstance(database, sqlite3.Connection)
    return database


def found_in(made: bytes, connection: Connection, body: str) -> list[Harm]:
    """Carry a migration out on that ledger."""
    database_of(connection).deserialize(made)
    return harms(connection, lambda: exec(body, {"op": op, "sa": sa}))


@pytest.mark.parametrize("what", EXPANDS)
def test_what_older_programs_do_not_notice_is_let_pass(
    made: bytes, connection: Connection, what: str
) -> None:
    found = found_in(made, connection, EXPANDS[what])
    assert wrong("0018", "0017", oldest="0017", found=found) == []


@pytest.mark.parametrize("what", HARMS)
def test_what_older_programs_cannot_go_on_with_is_told(
    made: bytes, connection: Connection, what: str
) -> None:
    body, words = HARMS[what]
    found = wrong("0018", "0017", oldest="0017", found=found_in(made, connection, body))
    assert any(words in one for one in found), found
    # For its own program alone anything goes.
    assert wrong("0018", "0018", oldest="0017", found=[Harm(words)]) == []


WORDS: Mapping[str, tuple[str | None, str, str]] = {
    "nothing is said": (None, "0017", "it does not say"),
    "a schema that is to come": ("0020", "0017", "it cannot work with 0020"),
    "a schema that an earlier one has taken leave of": ("0017", "0018", "cannot work with 0017"),
}


@pytest.mark.parametrize("what", WORDS)
def test_what_cannot_be_so_is_told(what: str) -> None:
    works_with, oldest, words = WORDS[what]
    (told,) = wrong("0019", works_with, oldest=oldest, found=[])
    assert words in told


def test_what_is_taken_away_was_left_by_the_release_before() -> None:
    gone = [Harm("rows.wishes is gone", dropped="rows.wishes")]
    rule = {"oldest": "0017", "found": gone}
    assert wrong("0019", "0018", left={"rows.wishes"}, **rule) == []
    assert wrong("0019", "0018", left={"rows.since"}, **rule) == ["rows.wishes is gone"]
    # Programs of 0017 are let in, and may still use it.
    assert wrong("0019", "0017", left={"rows.wishes"}, **rule) == ["rows.wishes is gone"]
    other = [*gone, Harm("rows takes only what fits nth < 9")]
    assert len(wrong("0019", "0018", oldest="0017", found=other, left={"rows.wishes"})) == 1
