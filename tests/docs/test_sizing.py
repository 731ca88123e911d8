"""The table of the page about sizing follows from its assumptions."""

import re

from tests.docs.typing_in import PAGES

PAGE = (PAGES / "operations" / "sizing.md").read_text("utf-8")
USERS = (1_000, 100_000, 1_000_000, 10_000_000)
ACTIVE, LOOK_UPS, BUSIEST_HOUR, PEAK, SESSIONS, RECORDS = 0.1, 100, 0.2, 2.5, 4, 2 * 365
"""Share of users who sign in on a day, look-ups for each sign-in, share of a day in its busiest hour, the peak in it
as a multiple of its mean, live sessions of a user, and audit records of a year for each sign-in of a day."""
SIGN_IN, LOOK_UP, STATEMENT, LOOK_UP_IN_DATABASE = 22e-3, 60e-6, 1e-3, 60e-6
"""Seconds of a core."""


def row(name: str) -> list[float]:
    """Return the numbers of a row; units of memory in GB, and 0 for words."""
    [found] = re.findall(rf"^\| {re.escape(name)} \|(.*)\|$", PAGE, re.MULTILINE)
    return [number(cell.strip()) for cell in found.split("|")]


def number(cell: str) -> float:
    """Return the number of a cell."""
    found = re.match(r"([\d.,]+)(?: (million|MB|GB))?", cell)
    factor = {"million": 1e6, "MB": 1e-3}
    return float(found[1].replace(",", "")) * factor.get(found[2], 1) if found else 0


def bytes_of(thing: str) -> float:
    """Return the bytes that PostgreSQL needs for one."""
    [found] = re.findall(rf"^\| {thing}[^|]*\| [\d,]+ \| ([\d,]+) \|$", PAGE, re.MULTILINE)
    return number(found)


def test_the_load_follows_from_the_users() -> None:
    days, peaks = row("Sign-ins a day"), row("Sign-ins a second at the peak")
    look_ups = row("Look-ups a second at the peak")

    for users, day, peak, looked_up in zip(USERS, days, peaks, look_ups, strict=True):
        expected = users * ACTIVE * BUSIEST_HOUR * PEAK / 3600
        assert day == users * ACTIVE
        assert abs(peak - expected) <= 0.5 or (peak == 0 and expected < 1)
        assert abs(looked_up - expected * LOOK_UPS) <= max(1, looked_up * 0.02)


def test_the_cores_carry_the_load_at_half_load() -> None:
    peaks, look_ups = row("Sign-ins a second at the peak"), row("Look-ups a second at the peak")
    cores, database = row("Cores of Gatewright"), row("Cores of the database")

    for peak, looked_up, own, of_database in zip(peaks, look_ups, cores, database, strict=True):
        assert own >= 2 * (peak * SIGN_IN + looked_up * LOOK_UP)
        assert (of_database or 1) >= 2 * (looked_up * LOOK_UP_IN_DATABASE + peak * STATEMENT)


def test_the_disk_follows_from_the_bytes() -> None:
    kept, audited = row("Users and sessions on disk"), row("Audit records of a year on disk")

    for users, own, audit in zip(USERS, kept, audited, strict=True):
        rows = users * (bytes_of("user") + SESSIONS * bytes_of("session")) / 1e9
        assert abs(own - rows) <= 0.05 * rows
        assert abs(audit - users * ACTIVE * RECORDS * bytes_of("audit") / 1e9) <= 0.05 * audit
