"""The findings of checks: what a check found, its verdict, and the fix for a problem."""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """The verdict of a check. Only `wrong` makes the command fail."""

    OK = "ok"
    WARNING = "warning"
    WRONG = "wrong"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check has found; `fix` is empty if there is nothing to do."""

    check: str
    verdict: Verdict
    found: str
    fix: str = ""


def ok(check: str, found: str) -> Finding:
    """Return a finding of `check` that something works; `found` says what."""
    return Finding(check, Verdict.OK, found)


def warning(check: str, found: str, fix: str) -> Finding:
    """Return a finding that something may be a mistake; `fix` says what to do."""
    return Finding(check, Verdict.WARNING, found, fix)


def wrong(check: str, found: str, fix: str) -> Finding:
    """Return a finding that something does not work or is not safe; `fix` says what to do."""
    return Finding(check, Verdict.WRONG, found, fix)


def skipped(check: str, found: str) -> Finding:
    """Return a finding that something was not checked; `found` says why."""
    return Finding(check, Verdict.SKIPPED, found)
