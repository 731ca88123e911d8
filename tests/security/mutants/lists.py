"""All mutants: the tuple `MUTANTS` of every module of this package that has one, a module per topic."""

import pkgutil
from collections.abc import Iterable
from importlib import import_module

from tests.security import mutants
from tests.security.mutants.mutant import Mutant

MACHINERY = frozenset({"__main__", "check", "lists", "marks", "mutant", "operators", "sources", "trials"})
"""The modules of this package that are no lists; whatever else lies here is one."""

TOP = (
    "V10",
    "V11",
    "V12",
    "V14",
    "V15",
    "V18",
    "V22",
    "V23",
    "V35",
    "V36",
    "V43",
    "V44",
    "V47",
    "V50",
    "V54",
    "V66",
    "V70",
    "V82",
    "V83",
    "V87",
)
"""The twenty rows behind which an account is lost at once: forged links and requests, takeover, sessions that outlive
their end, the second factor, guessing, single use, what a stolen database opens."""


def read() -> tuple[Mutant, ...]:
    """Return every mutant, topic by topic."""
    topics = sorted(module.name for module in pkgutil.iter_modules(mutants.__path__))
    return tuple(
        mutant
        for topic in topics
        if topic not in MACHINERY
        for mutant in import_module(f"{mutants.__name__}.{topic}").MUTANTS
    )


def of_rows(known: Iterable[Mutant], rows: Iterable[str]) -> tuple[Mutant, ...]:
    """Return those of some rows."""
    wanted = frozenset(rows)
    return tuple(mutant for mutant in known if mutant.row in wanted)
