"""The section of SECURITY-TESTS.md with the matrix: its cells, then the reasons by event."""

from collections.abc import Iterator
from itertools import product

from tests.security.matrix.cells import (
    EVERYBODY,
    KINDS,
    UNPROVEN,
    UNVERIFIED,
    VERIFIED,
    WITH_TWO_FACTOR,
    WITHOUT_TWO_FACTOR,
    Event,
    Users,
    Verdict,
    Way,
)
from tests.security.matrix.matrix import Matrix

HEAD = """## Ways in, and the events that end them

Each row is a way into an account, each column an event of the list below. `x`: the way is refused after the event; `-`:
it works as before; empty: such a user cannot have it, or the event cannot happen to them. The capabilities declare both
in `tests/security/matrix`; `tests/security/test_matrix.py` tries every cell for verified and unverified users, with and
without two-factor authentication (2FA).
"""


def section(matrix: Matrix) -> str:
    """Return the whole section."""
    notes: dict[frozenset[Users], int] = {}
    head = ["Way", *(str(number) for number, _ in enumerate(matrix.events, 1))]
    rows = [[way.name, *(_cell(matrix, way, event, notes) for event in matrix.events)] for way in matrix.ways]
    explained = [f"`x{number}`: it ends for {_kinds(users)} only." for users, number in notes.items()]
    absent = [
        f"The row *{way.name}* is for {_kinds(way.users)} only: {way.why}." for way in matrix.ways if way.why
    ]
    reasons = [_reasons(matrix, number, event) for number, event in enumerate(matrix.events, 1)]
    return "\n".join(
        [
            HEAD,
            *_table(head, rows),
            "",
            *(f"- {line}" for line in (*explained, *absent)),
            "",
            *_table(["", "Event", "Ends", "Stays"], reasons),
            "",
        ]
    )


def _cell(matrix: Matrix, way: Way, event: Event, notes: dict[frozenset[Users], int]) -> str:
    users = way.users & event.users
    ended = frozenset(each for each in users if _verdict(matrix, way, event, each) is Verdict.ENDS)
    if not users:
        return ""
    if ended in (users, frozenset()):
        return "x" if ended else "-"
    return f"x{notes.setdefault(ended, len(notes) + 1)}"


def _verdict(matrix: Matrix, way: Way, event: Event, users: Users) -> Verdict:
    [cells] = matrix.cells(way, event, users)
    return cells.verdict


def _reasons(matrix: Matrix, number: int, event: Event) -> list[str]:
    only = f" ({_kinds(event.users)} only: {event.why})" if event.why else ""
    found = {verdict: "<br>".join(_sentences(matrix, event, verdict)) for verdict in Verdict}
    return [str(number), event.name + only, found[Verdict.ENDS], found[Verdict.STAYS]]


def _sentences(matrix: Matrix, event: Event, verdict: Verdict) -> Iterator[str]:
    ways: dict[str, dict[str, None]] = {}
    users: dict[str, frozenset[Users]] = {}
    for way, each in product(matrix.ways, KINDS):
        if each in way.users & event.users:
            [cells] = matrix.cells(way, event, each)
            if cells.verdict is verdict:
                ways.setdefault(cells.why, {})[way.name] = None
                users[cells.why] = users.get(cells.why, frozenset()) | cells.users
    for why, names in ways.items():
        scope = "" if users[why] >= event.users else f"for {_kinds(users[why])}: "
        yield f"{scope}{', '.join(names)} ({why})" if verdict is Verdict.ENDS else scope + why


def _kinds(users: frozenset[Users]) -> str:
    if users == EVERYBODY - UNPROVEN:
        return f"all but {_kinds(UNPROVEN)}"
    named = {VERIFIED: "verified users", UNVERIFIED: "unverified users"}
    named |= {WITH_TWO_FACTOR: "users with 2FA", WITHOUT_TWO_FACTOR: "users without 2FA"}
    return named.get(users) or " and ".join(_kind(kind) for kind in KINDS if kind in users)


def _kind(users: Users) -> str:
    return f"{'' if users.verified else 'un'}verified users {'with' if users.two_factor else 'without'} 2FA"


def _table(head: list[str], rows: list[list[str]]) -> Iterator[str]:
    yield _line(head)
    yield "|" + "---|" * len(head)
    yield from (_line(row) for row in rows)


def _line(cells: list[str]) -> str:
    return "".join(f"| {cell} " if cell else "| " for cell in cells) + "|"
