"""Owns path 2 of the specification's section 5: a device code, polled for (RFC 8628)."""

from __future__ import annotations

import sqlite3

from deployments.sandbox.auth import approvals, clients, grants, scopes
from deployments.sandbox.auth.approvals import Approval
from deployments.sandbox.auth.fields import Fields, needed
from deployments.sandbox.auth.grants import Outcome
from deployments.sandbox.auth.lifetimes import Lifetimes
from deployments.sandbox.auth.secret import digest, new_secret


def begin(
    db: sqlite3.Connection, said: Fields, lifetimes: Lifetimes, *, now: float
) -> tuple[Approval, str]:
    """Make a user code; give it with the device code that belongs to it. Raises OAuthError."""
    client = clients.presented(db, said, clients.DEVICE_GRANT)
    device_code = new_secret("dev")
    said_name = clients.app_name(said.get("client_name"))
    approval = approvals.ask(
        db,
        kind="device",
        secret=digest(device_code),
        # What was registered cannot be dressed up as something else afterwards.
        app=said_name if client is None else client.name,
        scopes=scopes.asked(said.get("scope")),
        client_id=None if client is None else client.id,
        lifetimes=lifetimes,
        now=now,
    )
    return approval, device_code


def redeem(db: sqlite3.Connection, said: Fields, lifetimes: Lifetimes, *, now: float) -> Outcome:
    """Give the token, or say how the approval stands. Raises OAuthError for what cannot be."""
    (device_code,) = needed(said, "device_code")
    client = clients.presented(db, said, clients.DEVICE_GRANT)
    approval = approvals.latest(db, "device", digest(device_code))
    if approval is None:
        return grants.refuse("invalid_grant", "device_code: it is not known.")
    if approval.client_id is not None:
        needed(said, "client_id")
    if client is not None and approval.client_id not in (None, client.id):
        return grants.refuse("invalid_grant", "device_code: it belongs to another client.")
    return settle(
        db, approval, lifetimes, until=approval.expires_at, expired="Start again.", now=now
    )


def settle(
    db: sqlite3.Connection,
    approval: Approval,
    lifetimes: Lifetimes,
    *,
    until: float,
    expired: str,
    now: float,
) -> Outcome:
    """Answer a poll by the approval's state; an approved one is good `until` then.

    `expired` is what to do about one that is not good any more.
    """
    if approval.state == "used":
        return grants.refuse("invalid_grant", "Its token was fetched already: start again.")
    if approval.state == "denied":
        return grants.refuse("access_denied", "The user declined.")
    if now >= (until if approval.state == "approved" else approval.expires_at):
        return grants.refuse("expired_token", f"The code has expired. {expired}")
    if approval.state == "pending":
        return Outcome(refusal=approvals.poll(db, approval, lifetimes, now=now))
    approvals.use(db, approval)
    return grants.give(
        db,
        app=approval.app,
        scopes=approval.granted,
        email=approval.answered_by or "",
        lifetimes=lifetimes,
        now=now,
    )
