"""Mutants of the rows WH21 and WH23: what events contain, and what becomes of them."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Remove, Replace

MUTANTS = (
    Mutant("WH21", "the events about a deleted user are erased", "erase", Remove()),
    Mutant("WH21", "no event is written between erasure and deletion", "lock", Remove()),
    Mutant("WH21", "an event with the address of a user is erased with the user", "address", Remove()),
    Mutant(
        "WH23",
        "an event names a session, it does not open it",
        "session-id",
        Replace("ctx.cipher.decrypt('session.token_copy', session.token_copy or b'') or ...", "value"),
    ),
)
