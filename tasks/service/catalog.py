"""The operations that say what there is: templates, tools, and whose key this is."""

from __future__ import annotations

from tasks.brief import Json
from tasks.service import operations as ops
from tasks.service import records
from tasks.service.connection import Connection
from tasks.service.reading import find_list


class Catalog(Connection):
    """The catalogue; none of its shapes is in the specification."""

    async def templates(self) -> list[Json]:
        """Return the template library."""
        return await self._ask(ops.TEMPLATES, find_list)

    async def tools(self) -> list[Json]:
        """Return the tools that write a script from a brief."""
        return await self._ask(ops.TOOLS, find_list)

    async def me(self) -> Json:
        """Return what the service says of the organisation behind the key."""
        return await self._call(ops.ME, records.opaque)
