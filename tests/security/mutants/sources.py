"""The source with a mutant applied to it."""

import ast
import subprocess
import sys
import textwrap
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.security.mutants import marks
from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import NotAppliedError, Operator, Remove, Replace, Respell, Slot

_OF_LIBRARIES = frozenset(
    {"_exit", "detect_encoding", "jwk", "normpath", "on_conflict_do_nothing", "whereclause"}
    | {name for kind in (bytes, dict, int, list, str, tuple) for name in dir(kind)}
)
"""Attributes that replacements use although the source may not: of built-in types and of libraries."""


_FENCE = "```"


class Project:
    """The source below a directory: what is marked there, and which names it has."""

    def __init__(self, root: Path) -> None:
        self.marks = marks.find(root)
        files = (file for package in marks.PACKAGES for file in (root / package).rglob("*.py"))
        self._names = {name for file in files for name in _names(ast.parse(file.read_text("utf-8")))}

    def mutate(self, mutant: Mutant) -> dict[Path, str]:
        """Return the new text of the files that the mutant changes.

        Raises NotAppliedError if a mark is missing or there twice, if an operator does not fit what is marked, if
        nothing changes, or if the new text does not compile or uses modules or attributes that do not exist.
        """
        changes: dict[Path, list[tuple[int, Operator]]] = {}
        for key, operator in mutant.changes():
            places = self.marks.get((mutant.row, key), [])
            if len(places) != 1:
                raise NotAppliedError(f"{len(places)} places are marked with `# defence: {mutant.row} {key}`")
            changes.setdefault(places[0].file, []).append((places[0].line, operator))
        changed = {file: mutate_file(file, file.read_text("utf-8"), own) for file, own in changes.items()}
        for file, text in changed.items():
            unknown = (
                _attributes(ast.parse(text)) - self._names - _OF_LIBRARIES if file.suffix == ".py" else None
            )
            if unknown:
                raise NotAppliedError(f"nothing in the source is called {', '.join(sorted(unknown))}")
        return changed


def mutate_file(file: Path, text: str, changes: Sequence[tuple[int, Operator]]) -> str:
    """Return the text of a file with operators applied to what its lines mark. Raises NotAppliedError."""
    if file.suffix != ".py":
        # From the last line to the first, so that no change moves the line of another.
        for line, operator in sorted(changes, key=lambda change: -change[0]):
            text = _mutate_block(text, line, operator)
        return text
    changed = mutate_python(text, changes)
    try:
        compile(changed, file.name, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise NotAppliedError(f"the changed {file.name} does not compile: {error}") from None
    before, after = ast.parse(text), ast.parse(changed)
    if ast.dump(before) == ast.dump(after):
        raise NotAppliedError("nothing changes")
    _check_imports(_imports(after) - _imports(before))
    return changed


def undefined_names(place: Path) -> list[str]:
    """Return what ruff reports about names that are used but not defined, in a Python file or the files of a directory.

    Raises RuntimeError if ruff cannot run.
    """
    rules = ["--isolated", "--no-cache", "--target-version", "py311", "--select", "F821,E9"]
    command = [sys.executable, "-m", "ruff", "check", "-q", *rules, "--output-format", "concise", str(place)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode not in {0, 1}:
        raise RuntimeError(f"ruff failed: {ran.stderr}")
    return ran.stdout.splitlines()


def mutate_python(text: str, changes: Sequence[tuple[int, Operator]]) -> str:
    """Return Python source with the marked parts changed; every statement that is not changed keeps its text.

    Raises NotAppliedError.
    """
    tree, lines = ast.parse(text), text.splitlines(keepends=True)
    marked = [(_begins_at(tree, lines, line), operator) for line, operator in changes]
    blocks = [
        _set_apart(tree, statement) for statement in _to_rewrite(tree, lines, [node for node, _ in marked])
    ]
    for node, operator in marked:
        try:
            operator.apply(_slot_of(tree, node))
        except SyntaxError:
            raise NotAppliedError(f"{operator} does not parse") from None
    for block in sorted(blocks, key=lambda block: -block.first):
        lines[block.first - 1 : block.last] = [block.text()]
    return "".join(lines)


@dataclass(frozen=True, slots=True)
class _Block:
    """The lines of a statement, and what becomes of it: the statements in the `else` of `holder`."""

    first: int
    last: int
    depth: int
    is_alone: bool
    holder: ast.If

    def text(self) -> str:
        statements = self.holder.orelse or ([ast.Pass()] if self.is_alone else [])
        for _ in range(self.depth if statements else 0):
            statements = [_nested(statements)]
        lines = ast.unparse(ast.fix_missing_locations(ast.Module(statements, []))).splitlines()
        return "".join(f"{line}\n" for line in (lines[self.depth :] if statements else []))


def _set_apart(tree: ast.AST, statement: ast.stmt) -> _Block:
    slot = _slot_of(tree, statement)
    holder = ast.If(ast.Constant(True), [ast.Pass()], [statement])
    is_alone = len(getattr(slot.parent, slot.field)) == 1
    slot.put(holder)
    first = min([statement.lineno, *(part.lineno for part in getattr(statement, "decorator_list", []))])
    return _Block(first, statement.end_lineno or first, statement.col_offset // 4, is_alone, holder)


def _nested(statements: list[ast.stmt]) -> ast.stmt:
    return ast.If(ast.Constant(True), statements, [])


def _begins_at(tree: ast.AST, lines: Sequence[str], number: int) -> ast.AST:
    """Return the largest node that begins a line. Raises NotAppliedError if none does."""
    line = lines[number - 1]
    place = (number, len(line) - len(line.lstrip()))
    for node in _walk(tree):
        if (getattr(node, "lineno", 0), getattr(node, "col_offset", 0)) == place:
            return node
    raise NotAppliedError(f"nothing that can be changed begins at line {number}: {line.strip()}")


def _walk(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield nodes, the larger before the smaller; none within an f-string, where Python 3.11 counts lines wrongly."""
    nodes = [tree]
    for node in nodes:
        yield node
        if not isinstance(node, ast.JoinedStr):
            nodes += ast.iter_child_nodes(node)


def _to_rewrite(tree: ast.AST, lines: Sequence[str], nodes: Sequence[ast.AST]) -> list[ast.stmt]:
    """Return the smallest statements that contain the nodes, and none that is within another of them."""
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}

    def statement_of(node: ast.AST) -> ast.stmt:
        # An `elif` is a statement of the tree, but no statement of the text.
        if isinstance(node, ast.stmt) and not lines[node.lineno - 1].lstrip().startswith("elif "):
            return node
        return statement_of(parents[node])

    def is_within(node: ast.AST, others: Collection[ast.AST]) -> bool:
        parent = parents.get(node)
        return parent is not None and (parent in others or is_within(parent, others))

    found = dict.fromkeys(statement_of(node) for node in nodes)
    return [statement for statement in found if not is_within(statement, found)]


def _slot_of(tree: ast.AST, node: ast.AST) -> Slot:
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if value is node:
                return Slot(parent, field)
            if isinstance(value, list):
                for index, each in enumerate(value):
                    if each is node:
                        return Slot(parent, field, index)
    raise NotAppliedError("an earlier change has removed what is marked")


def _attributes(tree: ast.AST) -> set[str]:
    return {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def _names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) | ast.Name(id=name) | ast.arg(arg=name) | ast.alias(name=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name


def _imports(tree: ast.AST) -> set[str]:
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    return {ast.unparse(node) for node in imports}


def _check_imports(added: Collection[str]) -> None:
    for line in added:
        try:
            exec(line, {})
        except ImportError as error:
            raise NotAppliedError(str(error)) from None


def _mutate_block(text: str, number: int, operator: Operator) -> str:
    """Return text in which a line, and what is indented below it, is removed or replaced. Raises NotAppliedError."""
    lines = text.splitlines(keepends=True)
    if lines[number - 1].startswith(_FENCE):
        return _mutate_code(lines, number, operator)
    indentation = _indentation(lines[number - 1])
    end = next((i for i in range(number, len(lines)) if _indentation(lines[i]) <= indentation), len(lines))
    match operator:
        case Remove(""):
            lines[number - 1 : end] = []
        case Replace(source, ""):
            lines[number - 1 : end] = [textwrap.indent(source, " " * indentation) + "\n"]
        case _:
            raise NotAppliedError(f"{operator} does not apply to a block of text")
    return "".join(lines)


def _mutate_code(lines: list[str], number: int, operator: Operator) -> str:
    """Return a guide in which a text of the block of code that begins at a line is replaced. Raises NotAppliedError."""
    end = lines.index(f"{_FENCE}\n", number)
    code = "".join(lines[number:end])
    if not isinstance(operator, Respell) or not isinstance(operator.old, str):
        raise NotAppliedError(f"{operator} does not apply to the code of a guide")
    if code.count(operator.old) != 1:
        raise NotAppliedError(f"the marked code does not have {operator.old!r} once")
    changed = code.replace(operator.old, str(operator.new))
    try:
        compile(changed, "guide", "exec", dont_inherit=True)
    except SyntaxError as error:
        raise NotAppliedError(f"the changed code does not compile: {error}") from None
    return "".join((*lines[:number], changed, *lines[end:]))


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())
