"""Mutants of the rows ADM1 to ADM26: administration."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Remove, Replace

MUTANTS = (
    Mutant("ADM1", "only the named fields are written", "owned-fields", Always(False)),
    Mutant("ADM2", "permissions come from roles", "granted", Replace("True", "value")),
    Mutant("ADM2", "a role in the data needs the permission", "set-role", Always(False)),
    Mutant("ADM2", "a role of a new user needs the permission", "new-user-role", Remove()),
    Mutant("ADM3", "roles are those configured", "known-roles", Always(False)),
    Mutant("ADM3", "every role is compared with the caller's powers", "role-powers", Always(False)),
    Mutant("ADM4", "the powers of the user are compared", "rank", Always(False)),
    Mutant("ADM5", "administrators are not impersonated", "privileged", Always(False)),
    Mutant(
        "ADM5", "administration refuses sessions in the name of users", "while-impersonating", Always(False)
    ),
    Mutant("ADM6", "it is never extended", "never-remembered", Replace("True", "value.keywords[0].value")),
    Mutant("ADM7", "such sessions are looked at twice", "second-read", Replace("None", "value")),
    Mutant("ADM7", "the session is the administrator's", "impersonator", Remove()),
    Mutant("ADM7", "the administrator's session is alive", "own-session", Always(False)),
    Mutant("ADM7", "the administrator is not banned", "banned", Always(False)),
    Mutant("ADM7", "the administrator may still do it", "role", Replace("None", "value")),
    Mutant("ADM7", "the loss of the permission ends the sessions", "lost-permission", Always(False)),
    Mutant("ADM8", "what lasts is refused", "while-impersonating", Always(False)),
    Mutant("ADM9", "tokens of other sessions are not listed", "handles", Always(False)),
    Mutant("ADM11", "only its own cookie is cleared", "own-cookie", Always(True)),
    Mutant("ADM11", "the cookie is that of the same administrator", "own", Always(False, "test.values[2]")),
    Mutant("ADM11", "of several cookies one is live", "own", Replace("not active", "test.values[1]")),
    Mutant("ADM10", "sessions are listed without tokens", "handles", Replace("(row, caller.token)")),
    Mutant("ADM12", "a ban ends sessions", "end-sessions", Replace("0", "value.elts[1]")),
    Mutant("ADM13", "the last administrator stays", "last-admin", Always(False)),
    Mutant("ADM13", "those who may leave none wait for each other", "lock", Remove()),
    Mutant("ADM13", "the last administrator does not delete their account", "own-deletion", Remove()),
    Mutant("ADM13", "the last administrator opens a link that deletes them", "mailed-deletion", Remove()),
    Mutant("ADM14", "consequential changes need a fresh session", "fresh", Always(False)),
    Mutant("ADM14", "nobody bans themselves", "own-ban", Always(False)),
    Mutant("ADM14", "nor by a field", "own-update", Always(False)),
    Mutant("ADM14", "nobody changes their own address here", "own-email", Always(False)),
    Mutant("ADM14", "nobody removes themselves", "own-removal", Always(False)),
    Mutant("ADM14", "nobody sets their own password here", "own-account", Always(False)),
    Mutant(
        "ADM15",
        "lists are sorted by listed fields",
        "sort-fields",
        Replace(
            "SortBy: {name: sortBy, in: query, description: The field to sort by., schema: {type: string}}"
        ),
    ).also("columns", Replace("_LISTED.get(sort_by or 'createdAt', 'created_at')", "value")),
    Mutant(
        "ADM16", "a search has its time", "scan-timeout", Replace("600.0", "items[0].context_expr.args[0]")
    ),
    Mutant(
        "ADM17",
        "ids are texts",
        "user-id",
        Replace(
            "userId: &user-id {description: The identifier of the user., example: mX4cQ7vN1pRk9TzY2bLw6HdFgS8jUaEo}"
        ),
    ),
    Mutant(
        "ADM18",
        "permissions are the caller's",
        "caller",
        Replace("ctx.signed_in.user._replace(role='admin')", "value"),
    ),
    Mutant("ADM19", "the permission comes first", "permission", Always(False)),
    Mutant(
        "ADM20",
        "a trailing slash is another path",
        "exact-path",
        Replace("(...).rstrip('/')", "value.args[0]"),
    ),
    Mutant("ADM20", "another case is another path", "exact-path", Replace("(...).lower()", "value.args[0]")),
    Mutant(
        "ADM20",
        "a doubled slash is another path",
        "exact-path",
        Replace("(...).replace('//', '/')", "value.args[0]"),
    ),
    Mutant("ADM20", "what is switched off does not exist", "disabled", Always(True)),
    Mutant("ADM21", "pages of other origins do not administer", "origin-check", Always(False)),
    Mutant("ADM22", "permissions can need a second factor", "second-factor", Always(False)),
    Mutant(
        "ADM23",
        "reasons have no control characters",
        "ban-reason",
        Replace("banReason: {type: string, maxLength: 1024}"),
    ),
    Mutant(
        "ADM23",
        "names have no control characters",
        "name",
        Replace("name: &name {type: string, maxLength: 256}"),
    ),
    Mutant("ADM24", "the audit trail needs the permission", "audit-events", Remove()),
    Mutant("ADM24", "so does one event", "audit-event", Remove()),
    Mutant("ADM24", "so do the figures", "statistics", Remove()),
    Mutant("ADM24", "so does the export of events", "export-events", Remove()),
    Mutant("ADM24", "the export of users needs that of their list", "export-users", Remove()),
    Mutant("ADM25", "cells are no formulas", "formula", Replace("text", "value")),
    Mutant("ADM26", "an administrator has one export", "one-export", Always(False)),
    Mutant("ADM26", "a client that is gone ends it", "client-gone", Remove()),
    Mutant("ADM26", "a session that has ended ends it", "export-ends", Always(False)),
)
