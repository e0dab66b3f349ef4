"""The verbs that are one operation: all they do follows from its entry in the table."""

from __future__ import annotations

from typing import Any

from callsheet.deployments.direct.body import body_from
from callsheet.deployments.direct.paid import pay
from callsheet.deployments.direct.session import (
    Document,
    Session,
    document_of,
    show_list,
    show_record,
    show_webhook,
)
from callsheet.deployments.direct.video_verbs import show_before
from callsheet.deployments.terminal import consent, plain
from callsheet.tasks.runtime.redact import visible
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.service import Operation, ShareLink, Webhook
from callsheet.tasks.service import operations as ops
from callsheet.tasks.service.request import target_of


async def perform(at: Session, operation: Operation[Any]) -> Document:
    """Carry out an operation: body, question, request, sentence, answer."""
    named, scene = getattr(at.args, "id", None), getattr(at.args, "number", None)
    target_of(operation, named, scene=scene)
    body = body_from(at.args, operation)
    if operation.pays:
        return await pay(at, operation, body)
    if operation.asks:
        if named is not None and operation.about == "video":
            await show_before(at, named)
        question = operation.asks.format(id=named)
        await consent(at.args, question, what=f"to {operation.name} {named} is")
    answer = await at.service.ask(operation, named, body or None)
    changed = sorted(body) if operation.method == "PATCH" else []
    if operation.says:
        words = {"id": plain(named), "changed": plain(", ".join(changed))}
        generate = suggest("video generate", str(plain(named)))
        at.console.print(operation.says.format(**words, generate=generate))
    document: Document = {} if named is None else {f"{operation.about}_id": named}
    if operation.answer:
        document[operation.answer] = document_of(answer)
    else:
        document |= document_of(answer) or {"status": None, "raw": None}
    _show(at, operation, answer)
    return {**document, "changed": changed} if changed else document


async def voice(at: Session) -> Document:
    """Make a new voiceover; without a voice, show how far the last one is."""
    asked = body_from(at.args, ops.VOICE)
    return await perform(at, ops.VOICE if asked else ops.VOICE_PROGRESS)


def _show(at: Session, operation: Operation[Any], answer: Any) -> None:
    """Show people what the service said, where that is more than that it is done."""
    if operation.columns:
        title = operation.answer.capitalize()
        show_list(title, document_of(answer), operation.columns, at.console)
    elif isinstance(answer, Webhook):
        show_webhook(answer, at.console)
    elif isinstance(answer, ShareLink):
        # As it is: markup or a line break would make another address of it.
        print(visible(answer.url), file=at.console.file)
    elif operation.answer and answer is not True:
        show_record(answer, at.console)
