"""The doors of section 5 of the specification, for programs and for people."""

from deployments.sandbox.routes.auth import (
    approve,
    authorize,
    device,
    programs,
    rest_pair,
    settings,
    sign_in,
)

PARTS = (programs, rest_pair, sign_in, authorize, device, settings, approve)
