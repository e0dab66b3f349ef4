"""Owns the people of the sandbox, who are made up, and the organization they belong to."""

from __future__ import annotations

import re
from typing import NamedTuple

ORGANIZATION = "Northlight Studio"
LONGEST = 254
_EMAIL = re.compile(r"[^@\s,;<>\"']+@[^@\s,;<>\"']+")


class Person(NamedTuple):
    """Somebody who can sign in."""

    email: str
    name: str


PEOPLE = (
    Person("ada@northlight.example", "Ada Lindqvist"),
    Person("ben@northlight.example", "Ben Okafor"),
)


def person(email: str) -> Person:
    """Give the person with this e-mail address; anybody else is called by the address."""
    return next((one for one in PEOPLE if one.email == email), Person(email, email))


def email_of(said: str) -> str | None:
    """Read an e-mail address, the same however it is capitalized; None if it is none."""
    email = said.strip().casefold()
    good = len(email) <= LONGEST and email.isprintable() and _EMAIL.fullmatch(email)
    return email if good else None
