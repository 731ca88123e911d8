"""One import from its first row to its last: read, judge, write batch by batch, each batch in a transaction of its own.

Whoever breaks it off loses at most a batch, and starts it again: users who are there already are known by their ids.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from domain import importing
from domain.newcomers import Outcome, Person, Problem, Verdict
from server.importing import fields
from server.importing.claims import Claims
from server.importing.fields import Rules
from server.importing.reports import Report
from server.importing.sources import Row, Source
from server.requests import Requests

BATCH = 200
"""Rows in one transaction."""


@dataclass(frozen=True, slots=True)
class Read:
    """A row, and the user in it or why there is none."""

    row: Row
    person: Person | None
    problems: tuple[Problem, ...]
    """Why the row is refused, or what its user comes without."""


async def run(
    requests: Requests,
    source: Source,
    rules: Rules,
    report: Report,
    *,
    rehearsal: Claims | None = None,
    progress: Callable[[int], None],
) -> None:
    """Import every user of a source, or with a `rehearsal` say what that would do, writing nothing.

    `progress` is told the position after each batch. Raises SourceRefused, and Unavailable when the database is down.
    """
    async for batch in _batches(source, rules):
        people = [read.person for read in batch if read.person is not None]
        verdicts = iter(await _judged(requests, people, rules, rehearsal))
        for read in batch:
            if read.person is None:
                report.add(read.row, None, Verdict(Outcome.REFUSED, read.problems))
            else:
                report.add(read.row, read.person, next(verdicts), read.problems)
        progress(batch[-1].row.position)


async def _judged(
    requests: Requests, people: Sequence[Person], rules: Rules, rehearsal: Claims | None
) -> Sequence[Verdict]:
    if not people:
        return []
    if rehearsal is None:
        return await requests.run(partial(importing.add, batch=people, without=rules.without))
    job = partial(importing.rehearse, batch=people, without=rules.without, earlier=rehearsal.find)
    verdicts, claimed = await requests.run(job)
    rehearsal.keep(claimed)
    return verdicts


async def _batches(source: Source, rules: Rules) -> AsyncIterator[list[Read]]:
    batch: list[Read] = []
    async for row in source.rows():
        batch.append(_read(row, rules))
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _read(row: Row, rules: Rules) -> Read:
    try:
        if isinstance(row.fields, Problem):
            raise row.fields
        return Read(row, *fields.read(row.fields, rules, row.source_id))
    except Problem as problem:
        return Read(row, None, (problem,))
