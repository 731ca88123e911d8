"""A fast check that every mutant still fits the source; no tests run."""

import re
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.security.mutants import sources
from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import NotAppliedError


def problems(mutants: Sequence[Mutant], root: Path) -> list[str]:
    """Return a line for every mutant that does not apply to the tree at `root`, and for every mark without a mutant."""
    try:
        project = sources.Project(root)
    except ValueError as error:
        return [str(error)]
    found = []
    with tempfile.TemporaryDirectory(prefix="gatewright-mutants-") as directory:
        for number, mutant in enumerate(mutants):
            try:
                changed = project.mutate(mutant)
            except NotAppliedError as error:
                found.append(_not_applied(mutant, str(error)))
                continue
            for part, (file, text) in enumerate(changed.items()):
                if file.suffix == ".py":
                    (Path(directory) / f"mutant-{number}-{part}.py").write_text(text, "utf-8")
        found += _undefined(mutants, sources.undefined_names(Path(directory)))
    used = {(mutant.row, key) for mutant in mutants for key, _ in mutant.changes()}
    for row, key in sorted(set(project.marks) - used):
        file = project.marks[row, key][0].file.relative_to(root)
        found.append(f"{file}: no mutant uses the mark `{row} {key}`")
    return found


def _undefined(mutants: Sequence[Mutant], lines: Iterable[str]) -> list[str]:
    matches = [re.search(r"mutant-(\d+)-\d+\.py:[\d:]* *(.*)", line) for line in lines]
    reasons = {int(match[1]): match[2] for match in matches if match is not None}
    return [_not_applied(mutants[number], reason) for number, reason in sorted(reasons.items())]


def _not_applied(mutant: Mutant, reason: str) -> str:
    return f"{mutant.row} {mutant.defence}: NOT APPLIED: {reason}"
