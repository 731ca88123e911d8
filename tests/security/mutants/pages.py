"""Mutants of the rows H1 to H15: hosted pages."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Remove, Replace

MUTANTS = (
    Mutant("H1", "forms come from a page of the service", "same-origin", Always(False)),
    Mutant("H1", "a form of another site is not offered to be sent again", "kept-form", Remove()),
    Mutant(
        "H2",
        "nobody frames a page",
        "content-security",
        Replace("b\"default-src 'self'\"", "value.elts[1]"),
    ),
    Mutant(
        "H3", "the page of a code shows addresses alone", "only-addresses", Replace("address = email or ''")
    ),
    Mutant("H6", "a form knows what it was filled with", "seen-version", Always(False)),
    Mutant("H6", "the row is still the same when it is written", "unchanged-row", Remove()),
    Mutant("H7", "a key is created for the keys that were shown", "seen-keys", Always(False)),
    Mutant("H7", "passwords are in no URL", "kept-fields-only", Remove("value.generators[0].ifs[0]")),
    Mutant("H7", "entries are for the browser they come from", "entries-browser", Always(False)),
    Mutant("H7", "secrets are shown again to the same session", "shown-session", Always(False)),
    Mutant("H7", "secrets are shown for some minutes", "shown-life", Always(False)),
    Mutant("H8", "entries are for the account they come from", "entries-account", Always(False)),
    Mutant("H8", "a form is for the account that is signed in", "same-account", Always(True)),
    Mutant("H8", "a link masks another user's address", "masked-account", Replace("account = owner.email")),
    Mutant(
        "H12",
        "a form is shown again while the database is away",
        "shown-in-forms",
        Replace("frozenset({400})", "value"),
    ),
    Mutant("H12", "a form that cannot be shown keeps its fields", "kept-fields", Replace("{}", "value")),
    Mutant("H13", "the export hides where others are", "other-actors", Always(False)),
    Mutant(
        "H13", "where an administrator is stays hidden", "hidden-administrator", Replace("hidden = False")
    ),
    Mutant("H15", "no page redirects to another site", "leaving-page", Always(False)),
    Mutant(
        "H15",
        "the target of a page is encrypted",
        "sealed-target",
        Replace("... or (sealed if sealed.startswith('{') else None)", "value"),
    ),
    Mutant("H15", "the target of a page expires", "target-life", Always(False)),
    Mutant("H16", "a provider confirms no other user", "same-user", Always(False)),
    Mutant("H17", "a code of a program ends the old session", "by-program", Remove()),
    Mutant("H17", "a code of a page ends the old session", "by-page", Remove()),
)
