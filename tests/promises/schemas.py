"""What a JSON Schema allows, as a flat table: a path for each member, and its type in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]
_NAMES: Mapping[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
    list: "array",
    dict: "object",
}


class Reader:
    """Reads schemas whose references lead into one document.

    `needed` and `other` are added to the types of members that are required, and of the others.
    """

    def __init__(self, document: Schema, needed: str = ", required", other: str = "") -> None:
        self._document, self._needed, self._other = document, needed, other

    def members(self, schema: Schema, path: str, mark: str = "") -> Iterator[tuple[str, str]]:
        """Yield each member with its type; `mark` is added to the type of the first.

        A value of a list of values is a member, so that one more is something added.
        """
        yield path, self._type(schema) + mark
        yield from self._below(schema, path, ())

    def _type(self, schema: Schema) -> str:
        return " or ".join(sorted({*self._types(schema)}))

    def _types(self, schema: Schema) -> Iterator[str]:
        for one in self._choices(schema):
            said = one.get("type", _type_of_values(one))
            yield from [said] if isinstance(said, str) else said

    def _choices(self, schema: Schema) -> Iterator[Schema]:
        """Yield what a schema may be, one by one, with references followed."""
        if "$ref" in schema:
            yield from self._choices(self._referred(schema))
            return
        chosen = [one for kind in ("anyOf", "oneOf", "allOf") for one in schema.get(kind, ())]
        if not chosen or "properties" in schema:
            yield schema
        for one in chosen:
            yield from self._choices(one)

    def _referred(self, schema: Schema) -> Schema:
        found = self._document
        for name in str(schema["$ref"]).removeprefix("#/").split("/"):
            found = found[name]
        return found

    def _below(
        self, schema: Schema, path: str, above: tuple[int, ...]
    ) -> Iterator[tuple[str, str]]:
        for one in self._choices(schema):
            # A schema that refers to itself.
            if id(one) in above:
                continue
            inner = (*above, id(one))
            for value in _values(one):
                if isinstance(value, str | int) and value != "":
                    yield f"{path} = {value}", "value"
            for name, member in one.get("properties", {}).items():
                mark = self._needed if name in one.get("required", ()) else self._other
                yield f"{path}.{name}", self._type(member) + mark
                yield from self._below(member, f"{path}.{name}", inner)
            for kind, at in (("items", f"{path}[]"), ("additionalProperties", f"{path}.*")):
                if isinstance(member := one.get(kind), dict):
                    yield at, self._type(member)
                    yield from self._below(member, at, inner)


def _values(schema: Schema) -> list[Any]:
    return [schema["const"]] if "const" in schema else list(schema.get("enum", ()))


def _type_of_values(schema: Schema) -> list[str]:
    return [_NAMES[type(value)] for value in _values(schema)] or ["any"]
