"""What must never be in the tables, whatever happened: half of anything."""

from tests.labs.faults.places import Place

BELONGINGS = (
    "account",
    "session",
    "two_factor",
    "backup_code",
    "trusted_device",
    "known_network",
    "grant",
    "passkey",
    "outbox",
)
NEVER = {
    **{
        f"a row of {table} without its user": f'SELECT user_id FROM "{table}"'
        ' WHERE user_id IS NOT NULL AND user_id NOT IN (SELECT id FROM "user")'
        for table in BELONGINGS
    },
    # Only who signs in by mail has a verified address here, and they need none.
    "a user without a password": 'SELECT id FROM "user" WHERE NOT email_verified AND id NOT IN'
    " (SELECT user_id FROM account WHERE password IS NOT NULL)",
    "a user with half a second factor": 'SELECT u.id FROM "user" u LEFT JOIN two_factor t ON t.user_id = u.id'
    " WHERE u.two_factor_enabled <> COALESCE(t.confirmed, false)",
    "a set of backup codes that is not whole": "SELECT set_id FROM backup_code"
    " GROUP BY set_id HAVING count(*) NOT IN (9, 10)",
    "a second factor without backup codes": "SELECT user_id FROM two_factor WHERE user_id NOT IN"
    " (SELECT user_id FROM backup_code)",
    "a user without a record of it": 'SELECT id FROM "user" WHERE id NOT IN'
    " (SELECT user_id FROM audit WHERE event = 'user.created' AND user_id IS NOT NULL)",
    "a passkey without a record of it": "SELECT user_id FROM passkey WHERE user_id NOT IN"
    " (SELECT user_id FROM audit WHERE event = 'passkey.registered' AND user_id IS NOT NULL)",
    "a record of no passkey": "SELECT user_id FROM audit WHERE event = 'passkey.registered'"
    " AND user_id NOT IN (SELECT user_id FROM passkey)",
    "a passkey without a mail": "SELECT user_id FROM passkey WHERE user_id NOT IN (SELECT user_id FROM outbox"
    " WHERE user_id IS NOT NULL AND template = 'passkey-added')",
    "a user without a mail": "SELECT id FROM \"user\" WHERE NOT email_verified AND id NOT IN"
    " (SELECT user_id FROM outbox WHERE user_id IS NOT NULL AND template = 'verify-email')",
}  # fmt: skip
"""What must not be found in the tables at any time, and the statement that would find it."""


async def halves(place: Place) -> list[str]:
    """Return what the tables hold half of."""
    found = {what: await place.rows(statement) for what, statement in NEVER.items()}
    return [f"{what}: {rows}" for what, rows in found.items() if rows]
