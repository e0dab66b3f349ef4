"""The application behind the socket: one answer a request, and nothing kept of it but a hint.

The order is the safety of it: size, signature over the raw bytes, and only then what they say.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass

from deployments.receiver.delivery import Headers, header_values, hint_of
from deployments.receiver.intake import NOT_NOW, Clock, Intake, words_of
from deployments.receiver.request import Answer, Message, Receive, Refused, Send, read_body
from deployments.receiver.signature import is_signature, signer_of

log = logging.getLogger("callsheet.receiver")

#: A signature that fits no secret is told a person so often, in seconds.
TOLD = 600.0

NOT_SIGNED = Answer(401, "no secret of this receiver signs this body")
POST_ONLY = Answer(405, "deliveries are POSTed")


@dataclass
class Desk:
    """The ASGI application: one answer a request."""

    intake: Intake
    secrets: Callable[[], list[tuple[str, bytes]]]
    vendor: str
    ledger: str
    clock: Clock
    told_at: float = float("-inf")

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        method, headers = scope["method"], scope["headers"]
        if method in ("GET", "HEAD") and scope["path"].rpartition("/")[2] == "health":
            said = json.dumps({"receiver": "callsheet", "ledger": self.ledger}).encode()
            await Answer(200, "at work", said).give(send)
            return
        if method != "POST":
            await POST_ONLY.give(send)
            return
        try:
            body = await read_body(headers, receive)
        except Refused as refused:
            self.intake.receiver.refused += 1
            answer = refused.answer
            log.info("a delivery was refused: %s", answer.words if answer else "cut off")
            if answer is not None:
                await answer.give(send)
            return
        try:
            answer = await self._hear(headers, body)
        except Exception as error:
            # Above all a file of secrets that cannot be read: it may be mended before the retry.
            log.warning("a delivery could not be heard: %s", words_of(error))
            answer = NOT_NOW
        await answer.give(send)

    async def _hear(self, headers: Headers, body: bytes) -> Answer:
        signature = header_values(headers, self.vendor, "Signature")
        nonce = signer_of(signature, body, self.secrets())
        if nonce is None:
            self.intake.receiver.refused += 1
            self._tell_of_refusal(well_formed=is_signature(signature))
            return NOT_SIGNED
        return await self.intake.take(hint_of(body, headers, nonce=nonce, vendor=self.vendor))

    def _tell_of_refusal(self, *, well_formed: bool) -> None:
        """Say it aloud now and then: it may be the service, and a secret that was lost."""
        aloud = well_formed and self.clock() - self.told_at >= TOLD
        if aloud:
            self.told_at = self.clock()
        log.log(
            logging.WARNING if aloud else logging.INFO,
            "a delivery was refused: %s",
            "no secret that is kept here signed it; if it came from the service, "
            "`callsheet webhooks ensure` sets that right"
            if well_formed
            else "it has no signature, or none of the right form",
        )
