"""Alembic's entry: run the migrations on the connection that `tasks.ledger.migrate` holds."""

from __future__ import annotations

from alembic import context

from callsheet.tasks.ledger.schema import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    compare_type=True,
    version_table=VERSION_TABLE,
)
# The caller owns the transaction: a failed migration leaves nothing behind.
context.run_migrations()
