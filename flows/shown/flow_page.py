"""The page of the flow run at hand, written to by Prefect."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Literal
from uuid import UUID

from prefect import get_run_logger
from prefect.artifacts import Artifact
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import ArtifactUpdate
from prefect.logging.handlers import APILogHandler
from prefect.runtime import flow_run
from prefect.settings import PREFECT_UI_URL

from callsheet.tasks.runtime.redact import install


class FlowPage:
    """The page of whatever flow run is at hand when it is written to."""

    def log(self, words: str, level: int = logging.INFO) -> None:
        """Write a line of its log."""
        get_run_logger().log(level, "%s", words)

    def handler(self) -> logging.Handler:
        """Return what writes lines of other loggers to its log."""
        number = flow_run.id

        def is_of_run(record: logging.LogRecord) -> bool:
            # Set here, because the line may come from a task without a flow.
            record.flow_run_id = number
            return True

        handler = APILogHandler(logging.getLogger("prefect.flow_runs").getEffectiveLevel())
        handler.addFilter(is_of_run)
        install([handler])
        return handler

    async def publish(
        self,
        kind: Literal["table", "markdown", "progress"],
        data: Any,
        *,
        key: str | None = None,
        words: str | None = None,
    ) -> str | None:
        """Publish an artifact; return its id."""
        artifact = _Artifact(type=kind, key=key, description=words, data=data)
        return str((await artifact.acreate()).id)

    async def change(self, artifact: str, data: Any, words: str) -> None:
        """Change an artifact."""
        async with get_client() as client:
            await client.update_artifact(
                UUID(artifact), ArtifactUpdate(data=data, description=words)
            )

    async def tag(self, tags: Sequence[str]) -> None:
        """Add tags to the flow run."""
        number = UUID(flow_run.id)
        async with get_client() as client:
            # The flow run of a night may already have tags of other campaigns.
            there = (await client.read_flow_run(number)).tags
            await client.update_flow_run(number, tags=list(dict.fromkeys((*there, *tags))))

    def address(self, path: str, name: object) -> str | None:
        """Return the address of another page of the same server."""
        address = PREFECT_UI_URL.value()
        return f"{address.rstrip('/')}/{path}/{name}" if address else None


class _Artifact(Artifact):
    async def aformat(self) -> Any:
        # As it is: Prefect would put even Markdown into quotes.
        return self.data


#: The one that every flow writes to.
PAGE = FlowPage()
