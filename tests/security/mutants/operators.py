"""Mutation operators: what a mutant changes in the part of the syntax tree that a mark names.

A `path` leads from the marked part to the part that is changed, by the names that Python's `ast` has for fields, as in
`test.values[1]`; without a path it is the marked part itself. A path, unlike source text, survives renames and moves.
"""

import ast
import copy
import re
from dataclasses import dataclass
from typing import Any, Protocol

_STEP = re.compile(r"(\w+)|\[(\d+)\]|\.")


class NotAppliedError(Exception):
    """The mutant does not fit the source."""


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a node is: a field of its parent, and the index if the field is a list."""

    parent: ast.AST
    field: str
    index: int | None = None

    def get(self) -> Any:
        """Return what is there: a node, or a list of nodes."""
        value = getattr(self.parent, self.field)
        return value if self.index is None else value[self.index]

    def put(self, *nodes: ast.AST) -> None:
        """Put nodes there instead. Raises NotAppliedError if there has to be exactly one."""
        if self.index is None:
            if len(nodes) != 1:
                raise NotAppliedError(f"{self.field} needs one value")
            setattr(self.parent, self.field, nodes[0])
            return
        values = getattr(self.parent, self.field)
        values[self.index : self.index + 1] = nodes
        if isinstance(self.parent, ast.Dict) and not nodes:
            del self.parent.keys[self.index]
        if self.field == "body" and not values:
            values.append(ast.Pass())

    def follow(self, path: str) -> "Slot":
        """Return the slot at the end of a path. Raises NotAppliedError if the path leads nowhere."""
        slot = self
        for name, index in _STEP.findall(path):
            try:
                if name:
                    slot = Slot(slot.get(), name)
                elif index:
                    slot = Slot(slot.parent, slot.field, int(index))
                slot.get()
            except (AttributeError, IndexError, TypeError):
                raise NotAppliedError(f"the marked code has no {path}") from None
        return slot


class Operator(Protocol):
    """One change of the tree."""

    def apply(self, marked: Slot) -> None:
        """Change the marked node or a part of it. Raises NotAppliedError."""


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove a statement, an operand, an argument, an element, or a filter of a comprehension."""

    path: str = ""

    def apply(self, marked: Slot) -> None:
        """Remove it."""
        marked.follow(self.path).put()


@dataclass(frozen=True, slots=True)
class Replace:
    """Replace a statement or an expression by other code, in which `...` stands for what was there."""

    source: str
    path: str = ""

    def apply(self, marked: Slot) -> None:
        """Replace it."""
        slot = marked.follow(self.path)
        old = slot.get()
        if isinstance(old, ast.stmt):
            slot.put(*(_Fill(old).visit(statement) for statement in ast.parse(self.source).body))
        else:
            slot.put(_Fill(old).visit(ast.parse(self.source, mode="eval").body))


@dataclass(frozen=True, slots=True)
class Always:
    """Make a condition always true or always false."""

    value: bool
    path: str = "test"

    def apply(self, marked: Slot) -> None:
        """Replace the condition."""
        marked.follow(self.path).put(ast.Constant(self.value))


@dataclass(frozen=True, slots=True)
class Unwrap:
    """Replace something by a part of itself: a call by its argument, an `if` by its body."""

    part: str
    path: str = ""

    def apply(self, marked: Slot) -> None:
        """Keep only the part."""
        slot = marked.follow(self.path)
        kept = slot.follow(self.part).get()
        slot.put(*(kept if isinstance(kept, list) else [kept]))


@dataclass(frozen=True, slots=True)
class Append:
    """Append an argument to a call, or an element to a tuple, list, set or dictionary."""

    source: str
    path: str = ""

    def apply(self, marked: Slot) -> None:
        """Append it. Raises NotAppliedError if nothing can be appended there."""
        node = marked.follow(self.path).get()
        match node:
            case ast.Call():
                call: Any = ast.parse(f"f({self.source})", mode="eval").body
                node.args += call.args
                node.keywords += call.keywords
            case ast.Dict():
                more: Any = ast.parse(f"{{{self.source}}}", mode="eval").body
                node.keys += more.keys
                node.values += more.values
            case ast.Tuple() | ast.List() | ast.Set():
                node.elts.append(ast.parse(self.source, mode="eval").body)
            case ast.comprehension():
                node.ifs.append(ast.parse(self.source, mode="eval").body)
            case _:
                raise NotAppliedError(f"nothing can be appended to a {type(node).__name__}")


@dataclass(frozen=True, slots=True)
class Compare:
    """Make a comparison compare in another way: `Compare("<", "test")`."""

    operator: str
    path: str

    def apply(self, marked: Slot) -> None:
        """Exchange its first operator. Raises NotAppliedError if it is no comparison."""
        node = marked.follow(self.path).get()
        if not isinstance(node, ast.Compare):
            raise NotAppliedError(f"{self.path} is no comparison")
        other: Any = ast.parse(f"a {self.operator} b", mode="eval").body
        node.ops[0] = other.ops[0]


@dataclass(frozen=True, slots=True)
class Respell:
    """Replace a part of a text that the marked code has once as a constant: of a pattern, of SQL, of a script.

    In a guide it replaces a text that the marked block of code has once.
    """

    old: str | bytes
    new: str | bytes

    def apply(self, marked: Slot) -> None:
        """Replace it. Raises NotAppliedError if it is not there exactly once."""
        constants: list[Any] = [node for node in ast.walk(marked.get()) if isinstance(node, ast.Constant)]
        texts = [node for node in constants if isinstance(node.value, type(self.old))]
        texts = [node for node in texts if self.old in node.value]
        if len(texts) != 1 or texts[0].value.count(self.old) != 1:
            raise NotAppliedError(f"the marked code does not have {self.old!r} once")
        texts[0].value = texts[0].value.replace(self.old, self.new)


def Before(source: str) -> Replace:  # noqa: N802 - reads as one of the operators
    """Return the operator that inserts statements before the marked one."""
    return Replace(f"{source}\n...")


def After(source: str) -> Replace:  # noqa: N802 - reads as one of the operators
    """Return the operator that inserts statements after the marked one."""
    return Replace(f"...\n{source}")


class _Fill(ast.NodeTransformer):
    """Put what was there in the place of every `...`."""

    def __init__(self, old: ast.AST) -> None:
        self._old = old

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """Fill in a statement."""
        if isinstance(self._old, ast.stmt) and _is_ellipsis(node.value):
            return copy.deepcopy(self._old)
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """Fill in an expression."""
        return copy.deepcopy(self._old) if isinstance(self._old, ast.expr) and _is_ellipsis(node) else node


def _is_ellipsis(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...
