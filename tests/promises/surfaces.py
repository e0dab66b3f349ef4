"""What programs and people rely on, each as a table: a name, and what it is."""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any, get_type_hints, is_typeddict

from fastapi import FastAPI
from prefect import Flow
from prefect.utilities.callables import parameter_schema

import callsheet
from callsheet.deployments.board import refusals
from callsheet.deployments.board.app import _routes
from callsheet.deployments.parser import EPILOG, build_parser
from callsheet.tasks.metrics import METRICS
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.sheet.json_schema import sheet_schema
from tests.commands_page import EVERYWHERE
from tests.promises.schemas import Reader

Table = dict[str, str]


def python() -> Table:
    """Return the flows with their parameters and results, and the members of results."""
    found: Table = {}
    for name in callsheet.__all__:
        value: Any = getattr(callsheet, name)
        if isinstance(value, Flow):
            found |= _flow(name, value)
        elif is_typeddict(value):
            found |= _result(name, value)
        elif isinstance(value, type):
            found[name] = f"{value.__base__.__name__}, exit {value.exit_status}"
        else:
            found |= _function(name, value)
    return found


def _function(name: str, function: Callable[..., Any]) -> Table:
    signature = inspect.signature(function)
    parameters = signature.parameters.values()
    takes = {
        f"{name}({one.name})": f"{one.annotation}, "
        + ("required" if one.default is one.empty else f"{one.default!r} if not given")
        for one in parameters
    }
    return {name: f"returns {signature.return_annotation}", **takes}


def _flow(name: str, flow: Flow[Any, Any]) -> Table:
    schema = parameter_schema(flow).model_dump()
    reader = Reader(schema)
    result = inspect.signature(flow.fn).return_annotation
    found = {name: f"returns {inspect.formatannotation(result).rpartition('.')[2]}"}
    for one, form in schema["properties"].items():
        default = f", {form.get('default')!r} if not given"
        mark = ", required" if one in schema["required"] else default
        found |= reader.members(form, f"{name}({one})", mark)
    return found


def _result(name: str, result: Any) -> Table:
    members = get_type_hints(result).items()
    return {
        f"{name}.{one}": inspect.formatannotation(kind)
        + ("" if one in result.__required_keys__ else ", not always")
        for one, kind in members
    }


def commands() -> Table:
    """Return every command and verb with its arguments and options."""
    return dict(_of_parser("callsheet", build_parser()))


def _of_parser(name: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    yield name, "command"
    for action in parser._actions:
        if action.dest in EVERYWHERE:
            continue
        if isinstance(action, argparse._SubParsersAction):
            for verb, of in action.choices.items():
                yield from _of_parser(f"{name} {verb}", of)
        elif action.help != argparse.SUPPRESS:
            takes = "no value" if action.nargs == 0 else f"a value, {action.nargs or 'one'}"
            needed = ", required" if action.required else ""
            for word in action.option_strings or (f"<{action.dest}>",):
                yield f"{name} {word}", takes + needed
                for choice in action.choices or ():
                    yield f"{name} {word} = {choice}", "value"


def exit_statuses() -> Table:
    """Return what each exit status means."""
    return dict(re.findall(r"(?<!\S)(\d)  (\S.*?)(?=  |$)", EPILOG, re.MULTILINE))


def sheets() -> Table:
    """Return the columns of a sheet, and the other members of a YAML or JSON sheet."""
    schema = sheet_schema()
    reader = Reader(schema)
    columns = schema["$defs"]["columns"]["properties"]
    shared = {name: form for name, form in schema["properties"].items() if name != "defaults"}
    found: Table = {}
    for kind, forms in (("column ", columns), ("", shared)):
        for name, form in forms.items():
            found |= reader.members(form, f"{kind}{name}")
    return found


def settings() -> Table:
    """Return every setting with its type and default."""
    schema = Settings.model_json_schema()
    found: Table = {}
    for name, form in schema["properties"].items():
        mark = f", {form.get('default')!r} if not set"
        found |= Reader(schema).members(form, name, mark)
    return found


def metrics() -> Table:
    """Return every metric with its kind and labels."""
    return {one.name: f"{one.kind} by {', '.join(one.labels) or 'nothing'}" for one in METRICS}


def api() -> Table:
    """Return every call of `/api/v1` with what it takes and answers."""
    app = FastAPI(title="Callsheet")
    app.router.routes.extend(_routes())
    document = refusals.describe(app)
    found: Table = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            found |= _takes(Reader(document), f"{method.upper()} {path}", operation)
            answers = Reader(document, needed="", other=", not always")
            found |= _answers(answers, f"{method.upper()} {path}", operation)
    return found


def _takes(reader: Reader, name: str, operation: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield name, operation["operationId"]
    for one in operation.get("parameters", ()):
        mark = ", required" if one["required"] else ""
        yield from reader.members(one["schema"], f"{name} {one['in']} {one['name']}", mark)
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        yield from reader.members(content.get("schema", {}), f"{name} takes {kind} ")


def _answers(reader: Reader, name: str, operation: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for status, answer in operation["responses"].items():
        yield f"{name} answers {status}", ", ".join(answer.get("content", ())) or "nothing"
        for kind, content in answer.get("content", {}).items():
            # Refusals are the same document everywhere.
            if "json" in kind and status.startswith("2"):
                yield from reader.members(content.get("schema", {}), f"{name} answers {status} ")
