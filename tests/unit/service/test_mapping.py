"""Every exception a transport may raise has its meaning, and the safe one where in doubt."""

from __future__ import annotations

import inspect
import ssl

import aiohttp
import pytest

from callsheet.tasks.runtime import errors
from callsheet.tasks.service.failures import CLASSES, Outcome, of_exception, of_status

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


@pytest.mark.parametrize("kind", [ConnectionResetError, BrokenPipeError, TimeoutError, EOFError])
def test_a_bare_error_of_the_system_is_lost(kind):
    assert of_exception(kind()) is Outcome.LOST


@pytest.mark.parametrize("error", [TypeError(), RuntimeError(), KeyError()])
def test_a_mistake_of_ours_is_not_an_outcome(error):
    assert of_exception(error) is None


def test_a_certificate_that_is_not_trusted_is_not_tried_again():
    error = aiohttp.ConnectionTimeoutError("tls")
    error.__cause__ = ssl.SSLCertVerificationError("self-signed")
    assert of_exception(error) is Outcome.UNSENDABLE


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        *((status, None) for status in (200, 201, 202, 204)),
        *((status, Outcome.TROUBLE) for status in (408, 500, 502, 503, 504, 520)),
        *((status, Outcome.REFUSED) for status in (301, 302, 307, 400, 401, 402, 403, 404, 422)),
        (409, Outcome.CONFLICT),
        (429, Outcome.LIMITED),
    ],
)
def test_every_status_has_its_outcome(status, outcome):
    assert of_status(status) is outcome


def test_every_refusal_of_the_error_tree_belongs_to_one_status():
    tree = {kind for kind in vars(errors).values() if inspect.isclass(kind)}
    refusals = {kind for kind in tree if issubclass(kind, errors.Refused)}
    assert set(CLASSES.values()) == refusals - {errors.Refused, errors.OtherRefusal}
