"""The result of an import: counts for the terminal, and a JSON line for each refusal."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

import orjson

from domain.data_import.eligibility import Eligibility, ImportedUser, Outcome, Problem
from domain.data_import.organizations import ImportedOrganization
from server.importers.source import Row

REASONS_KEPT = 200
OTHER_REASONS = "other reasons"
LONGEST_SHOWN = 320
"""Maximum number of characters of an email address in a report; longer addresses are invalid."""


@dataclass
class Report:
    """The totals of one run, and the file for rows that were refused or imported in part."""

    file: BinaryIO | None = None
    ids: BinaryIO | None = None
    """The file for the ids of each imported or present user and organization: the id in the source and the id here."""
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    """Number of refused rows by reason."""
    left: Counter[str] = field(default_factory=Counter)
    """Number of rows imported in part, by reason."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Number of rows that are not users to import, by their kind, such as `deleted users`."""

    providers: set[str] = field(default_factory=set)
    """The ids of the providers at which users have accounts."""

    @property
    def rows(self) -> int:
        """The number of counted rows, without those that are not users to import."""
        return self.outcomes.total()

    def add(
        self,
        row: Row,
        imported: ImportedUser | ImportedOrganization | None,
        verdict: Eligibility,
        left: Sequence[Problem] = (),
    ) -> None:
        """Count a row, and write its problems and ids to the files.

        `imported` is what the row contains, None if it could not be read; `left` are the problems of parts that the
        parser left out.
        """
        self.outcomes[verdict.outcome] += 1
        self.providers |= row.providers
        if verdict.outcome is Outcome.REFUSED:
            for problem in verdict.problems:
                _count(self.refused, problem)
                self._write(row, verdict.outcome, problem)
        elif verdict.outcome is Outcome.IMPORTED:
            for problem in (*left, *verdict.problems):
                _count(self.left, problem)
                self._write(row, verdict.outcome, problem)
        if imported is not None and verdict.outcome is not Outcome.REFUSED and self.ids is not None:
            _put(self.ids, {"row": _shown(row.name), "sourceId": _field(row, "id"), "id": imported.id})

    def _write(self, row: Row, outcome: Outcome, problem: Problem) -> None:
        if self.file is not None:
            shown = {"row": _shown(row.name), "email": _field(row, "email"), "outcome": outcome.value}
            owner = {} if problem.owner is None else {"owner": problem.owner}
            _put(self.file, {**shown, "field": problem.name, "reason": problem.reason, **owner})

    def flush(self) -> None:
        """Pass the written lines to the operating system, so that they stay if the process is killed."""
        for file in (self.file, self.ids):
            if file is not None:
                file.flush()


def _count(reasons: Counter[str], problem: Problem) -> None:
    """Count a reason. A source could cause any number of them, so later ones are counted together."""
    reason = str(problem)
    reasons[reason if reason in reasons or len(reasons) < REASONS_KEPT else OTHER_REASONS] += 1


def _put(file: BinaryIO, line: dict[str, object]) -> None:
    file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))


def _field(row: Row, name: str) -> str | None:
    """Return a field as the source has it, so that the operator can find the user."""
    return None if isinstance(row.fields, Problem) else _shown(row.fields.get(name))


def _shown(value: object) -> str | None:
    if value is None or isinstance(value, Problem):
        return None
    # orjson refuses unpaired surrogates, which the fields of a source may contain.
    return str(value)[:LONGEST_SHOWN].encode("utf-8", "replace").decode()
