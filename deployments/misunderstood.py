"""What was typed and cannot be meant, in a sentence: what is wrong, and what was likely meant.

Imported only then: nothing here costs time where all is well.
"""

from __future__ import annotations

import re
from argparse import ArgumentParser
from collections.abc import Mapping
from difflib import get_close_matches

from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.runtime.suggest import typed_again

_MISSING = re.compile(r"the following arguments are required: (.+)")
_CHOICE = re.compile(r"argument (\S+): invalid choice: '?(.*?)'? \(choose from (.+)\)", re.DOTALL)
_VALUE = re.compile(r"argument (\S+): expected (?:one|at least one) argument")
_UNKNOWN = re.compile(r"unrecognized arguments: (.+)")
_TYPE = re.compile(r"argument (\S+): invalid int value: '(.*)'")
_ONE_OF = re.compile(r"argument (\S+): not allowed with argument (\S+)")
#: How a sentence below names a slip and what was likely meant.
_SLIP = re.compile(r'"?(\S+?)"?(?: is not one of .*)?: is (\S+) meant\?')


def misunderstood(parser: ArgumentParser, message: str) -> BadInput:
    """Return what argparse says in our words, and where to look, by the parser that refuses it."""
    words = _sentence(parser, message)
    remedy = f"`{parser.prog} --help` lists what you can type"
    if slip := _SLIP.search(words):
        command = typed_again(instead=(slip[1], slip[2]))
        remedy = f"type `{command}`" if command else remedy
    return BadInput(words, remedy=remedy)


def _sentence(parser: ArgumentParser, message: str) -> str:
    if found := _MISSING.match(message):
        return f"{found[1]} is missing after `{parser.prog}`"
    if found := _CHOICE.match(message):
        return _not_one_of(parser, *found.groups())
    if found := _VALUE.match(message):
        return f"{found[1]} needs a value{_values(parser, found[1])}"
    if found := _UNKNOWN.match(message):
        return _unknown(parser, found[1])
    if found := _TYPE.match(message):
        return f'{found[1]} "{found[2]}" is not a whole number'
    if found := _ONE_OF.match(message):
        return f"{found[1]} and {found[2]} do not go together"
    return message


def _not_one_of(parser: ArgumentParser, name: str, said: str, among: str) -> str:
    choices = re.findall(r"[\w-]+", among)
    meant = _meant(said, {one: one for one in choices})
    if name in ("COMMAND", "VERB"):
        after = meant or "; options stand behind the command"
        return f'{parser.prog} has no {name.lower()} "{said}"{after}'
    return f'{name} "{said}" is not one of {", ".join(choices)}{meant}'


def _values(parser: ArgumentParser, name: str) -> str:
    action = parser._option_string_actions.get(name.partition("/")[0])
    if action is None:
        return ""
    values = " or ".join(map(str, action.choices)) if action.choices else action.metavar
    return f": {values}" if values else ""


def _unknown(parser: ArgumentParser, said: str) -> str:
    first = said.split()[0]
    if not first.startswith("-"):
        return f'{parser.prog} does not understand "{said}"'
    # Without the dashes, which all have; an option may be called by what it takes: --reason.
    names = {name.lstrip("-"): name for name in parser._option_string_actions}
    takes = {str(one.metavar).lower(): name for name, one in parser._option_string_actions.items()}
    meant = _meant(first.partition("=")[0].lstrip("-"), {**takes, **names})
    return f"{parser.prog} has no option {first}{meant}"


def _meant(said: str, known: Mapping[str, str]) -> str:
    # One letter resembles every short word.
    close = get_close_matches(said, known, n=1) if len(said) > 1 else []
    return f": is {known[close[0]]} meant?" if close else ""
