"""Whatever is suggested can be typed: every command and option in code and in the pages parses.

A command with a value in it is made by `tasks.runtime.suggest`; one that is the same for everybody
stands between backticks in a string of the code. Both are read here from the source, so none
escapes."""

from __future__ import annotations

import ast
import copy
import re
import shlex
from argparse import ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from callsheet.deployments.arguments.first_commands import SETUP
from callsheet.deployments.parser import START, build_parser
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.runtime.suggest import TOLD_SANDBOX
from tests.repository import PROGRAM, files_in

pytestmark = pytest.mark.merge

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *files_in("docs", of="**/*.md")])
#: What is no sentence: the seed of keys of commands typed by hand, and the feet of the help.
SEEDS = {"callsheet video create", START, SETUP}
#: Stands for every value that is known only when the words are said; also a number.
VALUE = "1"
#: Where suggestions are made of the words that are given.
MAKER = "tasks/runtime/suggest.py"


def arguments(words: str) -> list[str]:
    """Return what is typed after `callsheet`, numbers for the capitals that stand for them."""
    cut = re.split(r"\s[<>&|]|\s#", words.replace("\\\n", " "))[0]
    return [VALUE if word == "N" else word for word in shlex.split(cut)[1:]]


def parsed(words: list[str]) -> Namespace:
    """Return what the command line makes of words; fail where it would refuse them."""
    try:
        return build_parser().parse_args(words)
    except BadInput:
        pytest.fail(f"callsheet {shlex.join(words)} is refused")


def check(words: list[str]) -> None:
    """Hold a suggestion to what it needs beside what the parser asks for."""
    args = parsed(words)
    if args.command in ("retake", "cancel"):
        assert args.words or args.select, f"{words}: which rows? without any, it means them all"
    if args.command == "resolve":
        chosen = [args.adopt, args.resend or None, args.abandon or None]
        named = args.call is not None or args.campaign is not None
        assert len([one for one in chosen if one]) == named, words
    if args.command == "verify":
        assert args.campaign, f"{words}: which campaign? the newest may be another"


@cache
def commands() -> dict[str, ArgumentParser]:
    """Return the parser of every command, and of every verb as `video show`."""
    found: dict[str, ArgumentParser] = {}
    for name, parser in verbs(build_parser()):
        found[name] = parser
        found |= {f"{name} {verb}": of for verb, of in verbs(parser)}
    return found


def verbs(parser: ArgumentParser) -> Iterator[tuple[str, ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            yield from action.choices.items()


def test_every_command_that_takes_the_sandbox_is_told_of_it() -> None:
    takes = {
        name.partition(" ")[0]
        for name, parser in commands().items()
        if "--sandbox" in parser._option_string_actions
    }
    assert takes == TOLD_SANDBOX


@cache
def modules() -> dict[str, ast.Module]:
    """Return our code that suggests anything, by its path; the sandbox knows of no command."""
    found = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for path in files_in(*PROGRAM)
        if not path.is_relative_to(ROOT / "deployments" / "sandbox")
    }
    says = re.compile(r"suggest|again_with|remedy=|callsheet [a-z]")
    return {path: ast.parse(text) for path, text in found.items() if says.search(text)}


def docstrings(tree: ast.AST) -> set[ast.AST]:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, kinds) and node.body and isinstance(node.body[0], ast.Expr)
    }


def strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield every string of a module as it is said, `{}` for what is put in."""
    inner = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)
             for part in node.values}  # fmt: skip
    said_to_nobody = docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (p.value if isinstance(p, ast.Constant) else "{}" for p in node.values)
            yield node.lineno, "".join(str(part) for part in parts)
        elif isinstance(node, ast.Constant) and node not in inner | said_to_nobody:
            yield node.lineno, node.value if isinstance(node.value, str) else ""


def calls(name: str) -> Iterator[tuple[str, list[str]]]:
    """Yield where a function of `tasks.runtime.suggest` is called, and the words it is given."""
    for path, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == name:
                yield f"{path}:{node.lineno}", [word for arg in node.args for word in given(arg)]


def given(arg: ast.expr) -> list[str]:
    """Return what stands for an argument; what is unpacked is a campaign and a row, or options."""
    if isinstance(arg, ast.Starred):
        return [VALUE, VALUE] if getattr(arg.value, "id", "") in ("of", "rows") else []
    return [str(arg.value) if isinstance(arg, ast.Constant) else VALUE]


@pytest.mark.merge
def test_every_command_with_a_value_in_it_can_be_typed() -> None:
    made = [(of, words) for of, words in calls("suggest") if not of.startswith(MAKER)]
    runs = [(of, ["run", "SHEET", *words[2:]]) for of, words in calls("suggest_run")]

    assert len(made) > 20
    for where, (command, *words) in made + runs:
        # What chooses rows for several commands suggests the one that was typed.
        typed = "retake" if command == VALUE else command
        assert typed in commands(), where
        check([*typed.split(), *words])


def test_every_option_to_be_added_is_one_of_a_command() -> None:
    made = [(of, words) for of, words in calls("again_with") if words]

    assert len(made) > 5
    for where, words in made:
        assert fits((words[0], words[1] if words[1:] else "")), f"{where}: {words}"


def test_a_command_in_a_string_is_whole_and_can_be_typed() -> None:
    by_hand = []
    for path, tree in modules().items():
        for line, said in strings(tree):
            for words in re.findall(r"`(callsheet [^`]*)`", said):
                if "{}" in words:
                    by_hand.append(f"{path}:{line}: {words}")
                else:
                    check(arguments(words))
            bare = re.sub(r"`[^`]*`", "", said)
            if said not in SEEDS and re.search(rf"callsheet ({'|'.join(commands())})\b", bare):
                by_hand.append(f"{path}:{line}: {said}")

    assert by_hand == [], (
        "callsheet.tasks.runtime.suggest makes what has a value in it; backticks enclose the rest"
    )


def test_an_option_that_is_suggested_has_the_value_it_needs() -> None:
    lacking = []
    for path, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.keyword) and node.arg == "remedy":
                for _, said in strings(NotMade().visit(copy.deepcopy(node.value))):
                    lacking += [f"{path}: {said}" for word in options(said) if not fits(word)]

    assert lacking == []


class NotMade(ast.NodeTransformer):
    """Leaves out what `tasks.runtime.suggest` makes."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        made = getattr(node.func, "id", "").startswith(("suggest", "again_with"))
        return ast.Name("made") if made else self.generic_visit(node)


def options(said: str) -> list[tuple[str, str]]:
    """Return the options in a sentence, each with the word behind it."""
    return re.findall(r"(?<![\w-])(--[a-z][a-z-]*)(?:[ =]([^\s`;)]+))?", said)


def fits(found: tuple[str, str]) -> bool:
    """Whether an option is one of a command, and has a value behind it where that takes one."""
    name, value = found
    # A placeholder in capitals, what is put in, a list, a selection: no word of the sentence.
    plain = re.fullmatch(r"[A-Z=]+|.*[\d,:|*@/.{}].*", value.strip("'\"").rstrip(","))
    actions = [p._option_string_actions.get(name) for p in commands().values()]
    return any(
        action.nargs == 0 or (value in action.choices if action.choices else plain is not None)
        for action in actions
        if action is not None
    )


def test_every_command_of_the_help_can_be_typed() -> None:
    typed = re.findall(r"^  (callsheet .*?)  ", START, re.MULTILINE)

    assert typed
    for words in typed:
        check(arguments(words))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_every_command_of_the_pages_can_be_typed(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    blocks = "\n".join(re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    typed = re.findall(r"^\$ (?:\S*/)?(callsheet .*)$", blocks, re.MULTILINE)
    for words in typed:
        parsed(arguments(words))
    beside = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    for words in re.findall(r"`(callsheet [^`]*)`", beside):
        if words.removeprefix("callsheet ") not in commands():
            parsed(arguments(words.replace("\n", " ")))
