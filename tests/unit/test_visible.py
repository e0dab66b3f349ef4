"""Nothing from outside steers a terminal: not in tables, errors, logs or review notes."""

import ast
import io
import json
import logging
from argparse import Namespace

import pytest
from rich.text import Text

from callsheet.deployments import cli
from callsheet.deployments.terminal import console_for, print_json, table
from callsheet.tasks.ledger.reviews import _said
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.runtime.logs import JsonLines, log_for_people
from callsheet.tasks.runtime.redact import control_fault, install, one_line, say, visible
from tests.programs import ROOT
from tests.repository import PROGRAM, files_in

ATTACK = "a\x1b]52;c;aGk=\x07b\x1b[2Jc\x9b31md\u202ee\u2066f"
SAFE = "a\ufffd]52;c;aGk=\ufffdb\ufffd[2Jc\ufffd31md\ufffde\ufffdf"


def test_it_replaces_controls_and_keeps_lines_and_tabs():
    assert visible(ATTACK) == SAFE
    assert visible("Grüße\n\tعربي 👩‍👧") == "Grüße\n\tعربي 👩‍👧"


def test_a_text_on_one_line_shows_each_break_as_one_sign():
    assert one_line("Grüße\tعربي 👩‍👧") == "Grüße\tعربي 👩‍👧"
    breaks = ("\n", "\r\n", "\r", "\x0b", "\x0c", "\x85", "\u2028", "\u2029")
    assert [one_line(f"a{end}b") for end in breaks] == ["a\u21b5b"] * len(breaks)
    assert one_line(ATTACK) == SAFE


@pytest.mark.safeguard(
    "deployments/terminal.py", "piece._replace(text=visible(piece.text))", "piece"
)
def test_what_is_printed_has_no_controls(capsys):
    console = console_for(Namespace(json=False, verbose=False))
    shown = table("title", ["row"])
    shown.add_row(ATTACK)
    console.print(shown)
    console.print(Text(ATTACK))
    say(ATTACK)
    cli._tell(BadInput(ATTACK, remedy=ATTACK), Namespace(json=False, verbose=False))
    out, err = capsys.readouterr()
    # rich takes the bell away by itself.
    assert SAFE.replace("k=\ufffd", "k=") in out
    assert err.count(SAFE) == 3
    assert not set(out + err) & set("\x1b\x07\x9b\u202e\u2066")


def test_json_says_the_same_text_in_escapes(capsys):
    print_json({"note": ATTACK})
    out = capsys.readouterr().out
    assert json.loads(out) == {"note": ATTACK}
    assert not set(out) & set("\x1b\x07\x9b\u202e\u2066")


@pytest.mark.parametrize("formatter", [logging.Formatter(), JsonLines()])
def test_what_is_logged_has_no_controls(formatter):
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    install([handler])
    handler.handle(logging.LogRecord("callsheet", 40, "", 0, "said %s", (ATTACK,), None))
    assert SAFE in stream.getvalue()
    log_for_people()


@pytest.mark.parametrize("note", [ATTACK, "\x1b", "\x85", "\u202e"])
def test_a_note_with_a_control_is_refused(note):
    assert control_fault(note)
    with pytest.raises(BadInput, match="has a control character"):
        _said("keep", None, f"a{note}b", by="ann", at=1.0)


def test_a_note_of_several_lines_is_fine():
    assert control_fault("one\r\ntwo\n\tthree") is None


#: It imports nothing of the product, and prints constants.
OWN_WORDS = ("deployments/sandbox", "deployments/container/make_secrets.py")


@pytest.mark.merge
def test_every_print_of_a_command_is_made_visible():
    seen: list[str] = []
    unsafe: list[str] = []
    for path in files_in(*PROGRAM):
        name = str(path.relative_to(ROOT))
        if name.startswith(OWN_WORDS):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Name(id="print"), args=[ast.Call(func=ast.Name(id=how))]):
                    safe = how in ("visible", "visible_json")
                case ast.Call(func=ast.Name(id="print")):
                    safe = "visible(" in ast.unparse(node) or "version(" in ast.unparse(node)
                case _:
                    continue
            (seen if safe else unsafe).append(f"{name}:{node.lineno}")
    assert seen
    assert unsafe == [], "`say` and `visible` (tasks/runtime/redact.py) print text from outside"
