"""The bodies of clips, checked before they are paid for.

The specification describes them in words only (section 4, "Gaps"); their members, types and bounds
are those of `tasks.values.requests`.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, ValidationError

from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.values.briefs import Json
from callsheet.tasks.values.requests import CharacterSwap, ImageToVideo

#: What a person is told of a fault, by the model and the member at fault; None is the whole body.
_SENTENCES: Mapping[tuple[type[BaseModel], str | None], str] = {
    (ImageToVideo, "duration_seconds"): "a clip made of an image lasts 5 or 10 seconds, not {}",
    (CharacterSwap, "duration_seconds"): "a character swap lasts 3 to 60 seconds, not {}",
    (CharacterSwap, None): "a character swap takes either photos or a character id",
}


def body_of(kind: type[BaseModel], **members: Json) -> dict[str, Json]:
    """Return the members that are given as a body of this kind; raise BadInput where it is none.

    The body is an object of its own: whatever else the service turns out to want may be added.
    """
    given = {name: value for name, value in members.items() if value not in (None, [])}
    try:
        kind.model_validate(given)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        name = str(fault["loc"][0]) if fault["loc"] else None
        sentence = _SENTENCES.get((kind, name))
        said = sentence.format(given.get(name or "")) if sentence else f"{name}: {fault['msg']}"
        raise BadInput(said) from None
    return given
