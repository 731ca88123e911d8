"""SECURITY.md: what it says is shown by tests is shown by tests that are there, for every requirement it speaks of."""

import ast
import re
from pathlib import Path

from domain import tokens
from server.config.settings import AllSettings
from server.config.sources import fields
from tests.labs.fuzz.world import world
from tests.security import threats
from tests.security.threats import ROOT

PAGE = (ROOT / "SECURITY.md").read_text("utf-8")
REQUIREMENTS = re.findall(
    r"^\| (\d+\.\d+\.\d+)(?: to \d+\.\d+\.(\d+))? \| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE
)
TESTS = sorted(set(re.findall(r"`(tests/[^`]+\.py[^`]*)`", PAGE)))
ROWS = sorted(set(re.findall(r"`([VR][0-9]+)`", PAGE)))
WITHOUT_A_TEST = (
    "Does not apply: ",
    "Documented above",
    "Deviation; ",
    "Operator: ",
    "Not shown by a test: ",
)

LEVEL_1 = (
    "1.2.1-5 1.3.1-2 1.5.1 2.1.1 2.2.1-2 2.3.1 3.2.1-2 3.3.1 3.4.1-2 3.5.1-3 4.1.1 4.4.1 5.2.1-2 5.3.1-2"
    " 6.1.1 6.2.1-8 6.3.1-2 6.4.1-2 7.2.1-4 7.4.1-2 8.1.1 8.2.1-2 8.3.1 9.1.1-3 9.2.1 10.4.1-5 11.3.1-2 11.4.1"
    " 12.1.1 12.2.1-2 13.4.1 14.2.1 14.3.1 15.1.1 15.2.1 15.3.1"
)
LEVEL_2 = (
    "6.1.2-3 6.2.9-12 6.3.3-4 6.4.3-4 6.5.1-5 6.6.1-3 6.8.1-4 7.1.1-3 7.3.1-2 7.4.3-5 7.5.1-2 7.6.1-2"
    " 10.1.1-2 10.2.1-2 10.3.1-4 10.4.6-11 10.5.1-5 10.6.1-2 10.7.1-3"
)


def numbers(ranges: str) -> list[str]:
    """Spell ranges out: `6.2.1-3` is 6.2.1, 6.2.2, 6.2.3."""
    spelled = []
    for text in ranges.split():
        first, _, last = text.partition("-")
        section, _, number = first.rpartition(".")
        spelled += [f"{section}.{each}" for each in range(int(number), int(last or number) + 1)]
    return spelled


def names_in(path: Path) -> set[str]:
    """Return the tests of a file as `TestClass`, `TestClass::test_it` and `test_it`."""
    module, names = ast.parse(path.read_text("utf-8")), set[str]()
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            names |= {node.name, *(f"{node.name}::{name}" for name in _functions(node.body))}
    return names | _functions(module.body)


def _functions(body: list[ast.stmt]) -> set[str]:
    return {node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_requirement_is_spoken_of_once() -> None:
    spoken = [f"{number}-{last}" if last else number for number, last, _, _ in REQUIREMENTS]

    assert sorted(numbers(" ".join(spoken))) == sorted(numbers(f"{LEVEL_1} {LEVEL_2}"))


def test_every_requirement_is_shown_or_the_reason_given() -> None:
    for number, _, _, shown in REQUIREMENTS:
        is_shown = any(f"`{name}`" in shown for name in (*TESTS, *ROWS))
        assert is_shown or shown.startswith(WITHOUT_A_TEST), number


def test_every_test_it_names_is_there() -> None:
    names = {path: names_in(ROOT / path) for path in {test.partition("::")[0] for test in TESTS}}

    for test in TESTS:
        path, _, name = test.partition("::")
        assert not name or name in names[path], test


def test_every_row_it_names_is_one() -> None:
    assert set(ROWS) <= {row.name for group in threats.read() for row in group.rows}


def test_every_setting_it_names_is_one() -> None:
    settings = {".".join(path) for path, _ in fields(AllSettings)}
    prefixes = {name.partition(".")[0] for name in settings if "." in name}

    named = {name.partition(" ")[0] for name in re.findall(r"`([a-z_]+\.[a-z_]+(?: = [^`]+)?)`", PAGE)}

    assert {name for name in named if name.partition(".")[0] in prefixes} <= settings
    assert "session.list_tokens" in named


def test_a_new_service_has_no_account() -> None:
    with world("sqlite", None) as opened:
        users, sessions = opened.stored()

    assert users == set()
    assert sessions == []


def test_tokens_have_190_random_bits() -> None:
    made = [tokens.token() for _ in range(500)]

    letters = set("".join(made))
    assert {len(token) for token in made} == {32}
    assert len(letters) == 62
    assert len(set(made)) == 500


def test_randomness_has_one_door_to_the_operating_system() -> None:
    """One module asks for randomness, and it asks the operating system; `domain.tokens` is not Python's `secrets`."""
    asked: dict[str, list[set[str]]] = {}
    for package in ("domain", "handlers", "models", "server"):
        for path in (ROOT / package).glob("**/*.py"):
            text = path.read_text("utf-8")
            if not re.search("random|secrets|uuid", text):
                continue  # To parse everything would take seconds.
            tree = ast.parse(text)
            modules = {
                name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names
            }
            used = {
                f"{node.value.id}.{node.attr}"
                for node in ast.walk(tree)
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
            }
            generators = {
                name for name in used if name.partition(".")[0] in modules & {"random", "secrets", "uuid"}
            }
            generators -= {"uuid.UUID"}  # It reads one and makes none.
            generators |= used & {"os.urandom"}
            if generators:
                asked.setdefault(package, []).append(generators)

    assert asked == {"domain": [{"random.SystemRandom", "os.urandom"}]}
