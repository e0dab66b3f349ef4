"""Every exception a transport may raise has its meaning, and the safe one where in doubt."""

from __future__ import annotations

import inspect

import aiohttp
import pytest

from callsheet.tasks.service.failures import Outcome, of_exception

AIOHTTP = [
    kind
    for _, kind in inspect.getmembers(aiohttp.client_exceptions, inspect.isclass)
    if issubclass(kind, aiohttp.ClientError)
]
BEFORE_SENDING = (
    aiohttp.ClientConnectorError,
    aiohttp.ClientConnectorSSLError,
    aiohttp.ClientConnectorCertificateError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.ClientHttpProxyError,
    aiohttp.InvalidURL,
    aiohttp.NonHttpUrlClientError,
)


@pytest.mark.parametrize("kind", AIOHTTP, ids=lambda kind: kind.__name__)
def test_every_exception_of_aiohttp_is_not_sent_or_lost(kind):
    never_left = issubclass(kind, BEFORE_SENDING)
    outcome = of_exception(kind.__new__(kind))
    assert (outcome in (Outcome.UNREACHED, Outcome.UNSENDABLE)) is never_left
    assert outcome is not None


@pytest.mark.parametrize("error", [TypeError(), RuntimeError(), KeyError()])
def test_a_mistake_of_ours_is_not_an_outcome(error):
    assert of_exception(error) is None
