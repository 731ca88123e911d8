"""Mutant: one defence of a row, and the patch that takes it out."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutant:
    """`old`, which `file` holds once, becomes `new`; then the tests of `row` must fail."""

    row: str
    defence: str
    file: str
    old: str
    new: str

    def count_in(self, source: str) -> int:
        """Give how often a source holds what the patch replaces; only once is right."""
        return source.count(self.old)

    def applied_to(self, source: str) -> str:
        """Give the source without the defence."""
        return source.replace(self.old, self.new)
