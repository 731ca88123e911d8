"""Mutant: one defence of a row, and what takes it out of the source."""

from dataclasses import dataclass, replace

from tests.security.mutants.operators import Operator


@dataclass(frozen=True, slots=True)
class Mutant:
    """Where the source is marked with `# defence: <row> <mark>`, `operator` applies; the tests of `row` must then fail.

    `more` are further changes of the same mutant, each with its mark.
    """

    row: str
    defence: str
    mark: str
    operator: Operator
    more: tuple[tuple[str, Operator], ...] = ()

    def also(self, mark: str, operator: Operator) -> "Mutant":
        """Return the mutant with another change, at the same mark or another."""
        return replace(self, more=(*self.more, (mark, operator)))

    def changes(self) -> tuple[tuple[str, Operator], ...]:
        """Return all changes with their marks."""
        return ((self.mark, self.operator), *self.more)
