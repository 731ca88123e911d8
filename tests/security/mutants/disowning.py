"""Mutants of the rows N1 to N4: the link "This was not me"."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Remove, Replace

MUTANTS = (
    Mutant("N1", "a verified address keeps its account", "unproven", Remove("test.values[1]")),
    Mutant("N1", "a link is for the address it was sent to", "unproven", Remove("test.values[2]")),
    Mutant("N1", "the last administrator stays", "last-admin", Remove()),
    Mutant("N1", "a password does not prove the mailbox", "proven-mailbox", Always(False)).also(
        "proven-address", Remove("value.test.values[1]")
    ),
    Mutant(
        "N1", "a sign-in is for the address that it proved", "proven-address", Remove("value.test.values[1]")
    ),
    Mutant(
        "N1", "a sign-in of a verified user leads nowhere", "unproven-challenge", Remove("test.values[1]")
    ),
    Mutant("N2", "a link works once", "used-once", Always(False)).also("lock", Replace("user = owner")),
    Mutant("N2", "keys of organizations go too", "organization-keys", Remove()),
    Mutant(
        "N3",
        "a deletion opens no session",
        "no-session",
        Replace(
            "from handlers.responses.reply import Reply\n"
            "return Reply({'success': True}, ((b'set-auth-token', body['token'].encode()),))"
        ),
    ),
    Mutant("N4", "verified addresses get no link", "verified", Replace("recipient == user.email", "value")),
)
