"""What a check has found: fine, odd, wrong, or not looked at, and how to mend it."""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """How it stands. Only what is wrong makes the command fail."""

    OK = "ok"
    WARNING = "warning"
    WRONG = "wrong"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the diagnosis; `mend` is empty where there is nothing to do."""

    check: str
    verdict: Verdict
    found: str
    mend: str = ""


def ok(check: str, found: str) -> Finding:
    """Something is as it should be."""
    return Finding(check, Verdict.OK, found)


def odd(check: str, found: str, mend: str) -> Finding:
    """Something may be meant, and may be a mistake."""
    return Finding(check, Verdict.WARNING, found, mend)


def wrong(check: str, found: str, mend: str) -> Finding:
    """Something does not work, or is not safe."""
    return Finding(check, Verdict.WRONG, found, mend)


def skipped(check: str, found: str) -> Finding:
    """Something could not be looked at."""
    return Finding(check, Verdict.SKIPPED, found)
