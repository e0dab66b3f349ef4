"""What is typed after `callsheet video` and `callsheet webhooks`, from the table of operations."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from callsheet.deployments.parser import add_verb
from callsheet.tasks.service.operations import OPERATIONS, Field, Operation

_ON = "store_true"
_WAIT: Mapping[str, Any] = {
    "--wait": {"action": _ON, "help": "wait until the video is ready"},
    "--max-wait": {"metavar": "2h", "help": "wait this long at most; default CALLSHEET_DEADLINE"},
}
_FORCE: Mapping[str, Any] = {"--force": {"action": _ON, "help": "replace an existing file"}}
_AGAIN: Mapping[str, Any] = {"action": "append", "default": []}

#: The options that no entry of the table has, by the name of the operation.
_MORE: Mapping[str, Mapping[str, Any]] = {
    "create": {
        "--draft": {"action": _ON, "help": "make it, but do not render it yet"},
        "--another": {"type": int, "default": 1, "metavar": "N", "help": "make the Nth video of "
                      "the same request"},
        "--max-credits": {"metavar": "N", "help": "refuse a higher or unknown price"},
    },
    "list": {"--limit": {"type": int, "default": 20, "metavar": "N", "help": "default 20"}},
    "get": _WAIT,
    "download": {
        "-o --output": {"metavar": "FILE", "help": "where to write it; default ID.mp4 here"},
        **_FORCE, **_WAIT,
    },
    "captions": {
        "--format": {"choices": ("srt", "vtt"), "default": "srt", "help": "default srt"},
        "-o --output": {"metavar": "FILE", "help": "where to write them; default: print them"},
        **_FORCE,
    },
    "create webhook": {
        "--secret-file": {"metavar": "PATH", "help": "write the secret there instead of showing it"}
    },
}  # fmt: skip
#: The verbs for the subscription that runs use.
_OWN = {
    "ensure": "create or fix the subscription that runs use, and test it",
    "rotate": "replace that subscription by one with a new secret; no delivery is lost",
    "status": "show what arrives, and what needs attention",
}


def video(command: ArgumentParser) -> None:
    """Give `callsheet video` its verbs."""
    verbs = command.add_subparsers(dest="verb", metavar="VERB", required=True)
    for operation in OPERATIONS:
        if operation.words and operation.about == "video":
            parser = add_operation(verbs, operation)
            parser.add_argument(
                "--sandbox", action=_ON, help="use the local sandbox; nothing is charged"
            )


def webhooks(command: ArgumentParser) -> None:
    """Give `callsheet webhooks` its verbs."""
    verbs = command.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name, words in _OWN.items():
        add_verb(verbs, name, words).set_defaults(operation=None)
    for operation in OPERATIONS:
        if operation.words and operation.about == "webhook":
            add_operation(verbs, operation)


def add_operation(verbs: Any, operation: Operation[object]) -> ArgumentParser:
    """Return the parser of a new verb, with all that its operation takes."""
    parser = add_verb(verbs, operation.command, operation.words or "")
    parser.set_defaults(operation=operation)
    if "{id}" in operation.path:
        parser.add_argument("id", metavar="ID", help=f"id of the {operation.about}")
    if "{n}" in operation.path:
        parser.add_argument("number", type=int, metavar="N", help="which scene, from 1")
    for field in operation.fields() if operation.fields else ():
        _takes_field(parser, field)
    if operation.fields is not None:
        of_body = "add or replace a member of the body: JSON, or text if it is not JSON"
        parser.add_argument("--body", metavar="FILE|-", help="the body as a JSON object")
        parser.add_argument("--set", **_AGAIN, metavar="NAME=JSON", help=of_body)
        parser.add_argument("--unset", **_AGAIN, metavar="NAME", help="leave a member out")
    for names, how in _MORE.get(operation.name, {}).items():
        parser.add_argument(*names.split(), **how)
    if operation.pays or operation.asks:
        parser.add_argument("--yes", action=_ON, help="go ahead without asking")
    return parser


def _takes_field(parser: ArgumentParser, field: Field) -> None:
    if not field.option.startswith("-"):
        parser.add_argument(field.name, metavar=field.option, help=field.words)
        return
    how: dict[str, Any] = {"dest": field.name, "help": field.words}
    if "/" in field.option:
        switch = parser.add_mutually_exclusive_group()
        for option, value in zip(field.option.split("/"), (True, False), strict=True):
            switch.add_argument(option, action="store_const", const=value, **how)
        return
    how |= {"metavar": field.value, "required": field.required, **(_AGAIN if field.many else {})}
    if field.value in ("N", "SECONDS"):
        how["type"] = int
    parser.add_argument(field.option, **how)
