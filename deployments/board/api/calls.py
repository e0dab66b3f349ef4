"""Calls of the API: each a command at an address, with the parameters and answer of the function.

Owns how a command's parameters are read from an address, a JSON body or a form. Knows no command.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from functools import cache
from inspect import Parameter, signature
from types import NoneType, UnionType
from typing import Annotated, Any, get_args, get_origin

from fastapi import APIRouter, Depends, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Strict, ValidationError, create_model
from starlette.datastructures import FormData, UploadFile

from callsheet.deployments.board.board import TheBoard, at_least, with_right
from callsheet.tasks.ledger.people import Person, Right, Role

#: A typed function whose first parameter is `at`, and whose answer is a model.
Command = Callable[..., Awaitable[Any]]


#: The name of a body that is made of a command's parameters.
BODY = "asked_for"


@dataclass(frozen=True)
class Call:
    """A command at an address: a method and a path, in which `{name}` is one of its parameters.

    `role` is the least that it takes; with `right`, a link to the campaign of the path does, too.
    """

    address: str
    do: Command
    role: Role
    right: Right | None = None
    _: KW_ONLY
    tag: str
    status: int = 200


def router_of(calls: Iterable[Call]) -> APIRouter:
    """Return the routes of some calls; their operations have the names of the functions."""
    router = APIRouter()
    for one in calls:
        method, path = one.address.split()
        router.add_api_route(
            path,
            _endpoint(one),
            methods=[method],
            status_code=one.status,
            name=one.do.__name__,
            description=one.do.__doc__,
            tags=[one.tag],
            # Before anything is looked up: no one learns of a campaign who may not see it.
            dependencies=[Depends(_who_may(one))],
            response_model=signature(one.do, eval_str=True).return_annotation,
        )
    return router


def _who_may(call: Call) -> Callable[[Request], Awaitable[Person]]:
    return with_right(call.right, call.role) if call.right else at_least(call.role)


def _endpoint(call: Call) -> Command:
    """Return the command as a route: who asks, then what the path, query or body says."""
    in_path = set(re.findall(r"{(\w+)}", call.address))

    async def answer(board: TheBoard, **named: Any) -> Any:
        said = named.pop(BODY, None)
        return await call.do(board, **named, **({} if said is None else dict(said)))

    taken = [_named("board", TheBoard)]
    others = []
    for one in _parameters(call.do):
        if one.name in in_path:
            taken.append(_in_path(one))
        else:
            others.append(one)
    if call.address.startswith("GET"):
        taken += [_in_query(one) for one in others]
    elif others:
        taken.append(_body(call.do, others))
    answer.__signature__ = signature(answer).replace(parameters=taken)  # type: ignore[attr-defined]
    return answer


def _named(name: str, kind: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind)


def _in_path(one: Parameter) -> Parameter:
    """Return a parameter that may be left out at other doors, and stands in the path of this."""
    bare = [kind for kind in get_args(one.annotation) if kind is not NoneType]
    optional = get_origin(one.annotation) is UnionType and len(bare) == 1
    kind = bare[0] if optional else one.annotation
    return one.replace(default=Parameter.empty, annotation=kind)


def _in_query(one: Parameter) -> Parameter:
    return one.replace(annotation=Annotated[one.annotation, Query()]) if _is_list(one) else one


def _body(do: Command, taken: Iterable[Parameter]) -> Parameter:
    """Return the parameter for a body, which may be left out where nothing has to be said."""
    (first, *others) = taken
    if (
        not others
        and isinstance(first.annotation, type)
        and issubclass(first.annotation, BaseModel)
    ):
        return first
    model = _model(do, frozenset(one.name for one in taken), strict=True)
    if any(field.is_required() for field in model.model_fields.values()):
        return _named(BODY, model)
    return _named(BODY, model | None).replace(default=None)


def _parameters(do: Command) -> list[Parameter]:
    """Return what a command takes besides `at`."""
    found = list(signature(do, eval_str=True).parameters.values())[1:]
    return [one.replace(kind=Parameter.KEYWORD_ONLY) for one in found]


@cache
def _model(do: Command, names: frozenset[str], *, strict: bool = False) -> type[BaseModel]:
    """Return the model of a body with these parameters of a command; it takes no others.

    `strict`: true and false alone are yes and no, as JSON has them and a form does not.
    """
    fields = {
        one.name: (
            Annotated[one.annotation, Strict()] if strict and _is_truth(one) else one.annotation,
            ... if one.default is Parameter.empty else one.default,
        )
        for one in _parameters(do)
        if one.name in names
    }
    title = do.__name__.title().replace("_", "")
    settings = ConfigDict(extra="forbid")
    make: Callable[..., type[BaseModel]] = create_model
    return make(f"{title}Asked", __config__=settings, __doc__=do.__doc__, **fields)


async def in_form(request: Request, do: Command) -> dict[str, Any]:
    """Read a command's parameters from the fields of a form; an empty field says nothing.

    A file is read as JSON has it, in base64. Raises RequestValidationError for what the command
    does not take.
    """
    async with request.form(max_files=1) as form:
        return read_fields(form, do)


def read_fields(form: FormData, do: Command) -> dict[str, Any]:
    """Return what the fields of a form say of a command's parameters, each read as its type."""
    taken = {one.name: one for one in _parameters(do)}
    said = {}
    for name, one in taken.items():
        values = [text for value in form.getlist(name) if (text := _text(value))]
        if values:
            said[name] = values if _is_list(one) else values[0]
    model = _model(do, frozenset(taken))
    try:
        read = model.model_validate(said)
    except ValidationError as error:
        problems = [{**one, "loc": ("body", *one["loc"])} for one in error.errors()]
        raise RequestValidationError(problems) from error
    return {name: getattr(read, name) for name in read.model_fields_set}


def _text(value: UploadFile | str) -> str:
    # A form whose file was left empty has an empty one.
    return value if isinstance(value, str) else b64encode(value.file.read()).decode()


def _is_truth(one: Parameter) -> bool:
    return bool in (one.annotation, *get_args(one.annotation)[:1])


def _is_list(one: Parameter) -> bool:
    return "list[" in str(one.annotation) or "tuple[" in str(one.annotation)
