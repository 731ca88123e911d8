"""Many rows in every table that grows, of other people, on both databases: what statements are planned upon."""

from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Boolean, Integer, LargeBinary, Table

from models import metadata
from models.base import Instant
from tests.service import START

PEOPLE = 4_000
SESSIONS_EACH = 5
DAY = 86_400


@dataclass(frozen=True, slots=True)
class _Spelling:
    """How a database writes what the rows hold, as expressions of the number `n`."""

    dialect: Literal["sqlite", "postgresql"]

    def instant(self, seconds: str) -> str:
        """A moment so many seconds after the clock of the tests begins."""
        moment = f"({int(START.timestamp())} + {seconds})"
        return f"to_timestamp({moment})" if self.dialect == "postgresql" else f"{moment} * 1000"

    def digest(self, text: str) -> str:
        """Bytes that differ from row to row."""
        return f"sha256(({text})::bytea)" if self.dialect == "postgresql" else f"CAST({text} AS BLOB)"


def statements(dialect: Literal["sqlite", "postgresql"]) -> list[str]:
    """Return the statements that fill a migrated database, and let PostgreSQL count what it has."""
    spelling = _Spelling(dialect)
    described = _tables(spelling)
    known = {table for table, _, _ in described}
    others = [
        (table.name, PEOPLE, _belonging(spelling, table))
        for table in metadata.sorted_tables
        if table.name not in known and table.foreign_keys
    ]
    filling = [
        f"WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < {count})"
        f' INSERT INTO "{table}" ({", ".join(columns)}) SELECT {", ".join(columns.values())} FROM numbers'
        for table, count, columns in [*described, *others]
    ]
    return [*filling, "ANALYZE"] if dialect == "postgresql" else filling


def _belonging(spelling: _Spelling, table: Table) -> dict[str, str]:
    """Return the columns of a table that belongs to others and is not described below, with plain values."""
    columns: dict[str, str] = {}
    for column in table.columns:
        if column.nullable or column.server_default is not None:
            continue
        if column.foreign_keys:
            [key] = column.foreign_keys
            is_owner = key.column.table.name == "user"
            columns[column.name] = f"'person' || (n % {PEOPLE})" if is_owner else "'row' || n"
        elif isinstance(column.type, Instant):
            columns[column.name] = spelling.instant("-n")
        elif isinstance(column.type, LargeBinary):
            columns[column.name] = spelling.digest("'x' || n")
        elif isinstance(column.type, Boolean):
            columns[column.name] = "true"
        elif isinstance(column.type, Integer):
            columns[column.name] = "1"
        else:
            columns[column.name] = "'row' || n"
    return columns


def _tables(spelling: _Spelling) -> list[tuple[str, int, dict[str, str]]]:
    now, digest = spelling.instant, spelling.digest
    made = {"created_at": now("-n % 600000"), "updated_at": now("-n % 600000")}
    response = digest("'r' || n")
    owner, own_id = f"'person' || (n % {PEOPLE})", "'row' || n"
    # Most live on for weeks; of a hundred one is over.
    ends = {"expires_at": now(f"CASE WHEN n % 100 = 0 THEN -60 ELSE {30 * DAY} + n END")}
    return [
        (
            "user", PEOPLE,
            {**made, "id": owner, "name": "'Person'", "email": "'person' || n || '@crowd.example'",
             "username": "'person' || n", "email_verified": "true", "two_factor_enabled": "false", "role": "'user'",
             "banned": "false"},
        ),
        (
            "account", PEOPLE,
            {**made, "id": own_id, "user_id": owner, "provider_id": "'credential'", "issuer": "''",
             "account_id": owner, "password": "'hash'"},
        ),
        (
            "organization", PEOPLE,
            {**made, "id": own_id, "name": "'Acme'", "slug": "'acme-' || n"},
        ),
        (
            "session", PEOPLE * SESSIONS_EACH,
            {**made, **ends, "id": own_id, "user_id": owner, "token_digest": digest("'s' || n"), "remembered": "true",
             "method": "'password'",
             "user_agent": "'a browser of some length'",
             "active_organization_id": "CASE n % 5 WHEN 0 THEN 'row' || (n / 5) END",
             # Every fiftieth was opened by whoever has the session before it.
             "impersonated_by": f"CASE WHEN n % 50 = 1 THEN 'person' || ((n - 1) % {PEOPLE}) END",
             "impersonator_session_id": "CASE WHEN n % 50 = 1 THEN 'row' || (n - 1) END"},
        ),
        (
            "grant", PEOPLE,
            {**made, **ends, "digest": digest("'g' || n"), "user_id": owner,
             "purpose": "CASE n % 3 WHEN 0 THEN 'verify' WHEN 1 THEN 'challenge' ELSE 'reset' END"},
        ),
        (
            "outbox", PEOPLE,
            # A long queue, as after a day without a mail server; nobody's turn comes while a test lasts.
            {**made, "id": own_id, "user_id": owner, "attempts": "1", "template": "'otp'", "sender": "'file'",
             "state": "CASE n % 10 WHEN 0 THEN 'failed' WHEN 1 THEN 'unresolved' WHEN 2 THEN 'queued' ELSE 'sent' END",
             "next_attempt": now(f"{90 * DAY} + n"), "expires_at": now(f"{99 * DAY}")},
        ),
        (
            "api_key", PEOPLE * 2,
            {**made, **ends, "id": own_id, "user_id": owner, "digest": digest("'a' || n"), "kind": "'default'",
             "enabled": "true", "rate_limit_enabled": "false", "rate_limit_window_ms": "60000",
             "rate_limit_max": "600", "request_count": "0"},
        ),
        (
            "passkey", PEOPLE * 2,
            {**made, "id": own_id, "user_id": owner, "credential_id": digest("'p' || n"),
             "public_key": digest("'q' || n"),
             "algorithm": "-7", "counter": "0", "device_type": "'multiDevice'", "backed_up": "true",
             "rp_id": "'example.com'"},
        ),
        ("trusted_device", PEOPLE, {**made, **ends, "id": own_id, "user_id": owner, "digest": digest("'d' || n")}),
        ("two_factor", PEOPLE, {**made, "user_id": owner, "confirmed": "true", "failures": "0"}),
        (
            "backup_code", PEOPLE * 10,
            {**made, "id": own_id, "user_id": owner, "set_id": owner, "live": "true", "salt": digest(owner),
             "params": "'p'", "code": digest("'c' || n")},
        ),
        (
            "member", PEOPLE * 3,
            {**made, "id": own_id, "organization_id": "'row' || (n / 3)",
             "user_id": f"'person' || ((n * 7) % {PEOPLE})",
             "role": "CASE n % 3 WHEN 0 THEN 'owner' ELSE 'member' END",
             "is_owner": "CASE n % 3 WHEN 0 THEN true ELSE false END"},
        ),
        (
            "invitation", PEOPLE,
            {**made, **ends, "id": own_id, "organization_id": own_id, "email": "'guest' || n || '@crowd.example'",
             "role": "'member'", "status": "'pending'", "inviter_id": owner},
        ),
        ("counter", PEOPLE, {"key": digest("'k' || n"), "count": "1", "window_end": ends["expires_at"]}),
        (
            "known_network", PEOPLE,
            {"user_id": owner, "network": digest("'n' || n"), "last_success": made["created_at"]},
        ),
        (
            "instance", PEOPLE,
            {"id": own_id, "host": "'auth'", "process": "n", "version": "'1'", "settings": "'{}'",
             "started_at": made["created_at"], "last_seen_at": made["created_at"]},
        ),
        (
            "oauth_client", PEOPLE,
            {**made, "client_id": own_id, "client_name": "'App'", "registration": "'{}'", "source": "'user'",
             "owner_id": owner},
        ),
        (
            "logout_delivery", PEOPLE,
            # A long queue, as after a day on which a client did not answer; none is due while a test lasts.
            {**made, "id": own_id, "client_id": own_id, "subject": owner, "sid": own_id, "attempts": "1",
             "next_attempt": now(f"{90 * DAY} + n"), "expires_at": now(f"{99 * DAY}")},
        ),
        (
            "oauth_request", PEOPLE,
            {**made, **ends, "handle": digest("'h' || n"), "kind": "'authorize'", "client_id": own_id,
             "payload": digest("'p' || n"), "pushed": "false"},
        ),
        (
            "oauth_code", PEOPLE,
            {**made, **ends, "code": digest("'o' || n"), "client_id": own_id, "user_id": owner, "session_id": own_id,
             "redirect_uri": "'https://app.example'", "code_challenge": own_id, "scopes": "'openid'",
             "resources": "''"},
        ),
        (
            "oauth_grant", PEOPLE * 2,
            {**made, **ends, "id": own_id, "client_id": f"'row' || (n % {PEOPLE})", "user_id": owner,
             "session_id": own_id, "sid": own_id, "offline": "CASE n % 2 WHEN 0 THEN true ELSE false END",
             "scopes": "'openid'", "resources": "''", "auth_time": made["created_at"], "amr": "'pwd'"},
        ),
        (
            "oauth_token", PEOPLE * 4,
            # A refresh token is rotated by nearly every use; few responses may still be repeated.
            {**made, **ends, "token": digest("'t' || n"),
             "kind": "CASE n % 4 WHEN 0 THEN 'access' ELSE 'refresh' END", "client_id": f"'row' || (n % {PEOPLE})",
             "grant_id": f"'row' || (n % {PEOPLE * 2})", "scopes": "'openid'", "successor_used": "false",
             "kept_until": ends["expires_at"],
             "rotated_at": f"CASE WHEN n % 4 > 1 THEN {now('-n')} END",
             "replay": f"CASE WHEN n % 400 = 2 THEN {response} END"},
        ),
        (
            "device_request", PEOPLE,
            {**made, **ends, "device_code": digest("'v' || n"), "user_code": digest("'u' || n"),
             "client_id": own_id, "scopes": "'openid'", "resources": "''", "interval": "5",
             "status": "CASE n % 2 WHEN 0 THEN 'pending' ELSE 'approved' END",
             "user_id": f"CASE n % 2 WHEN 1 THEN {owner} END", "session_id": f"CASE n % 2 WHEN 1 THEN {own_id} END"},
        ),
        (
            "initial_access_token", PEOPLE,
            {**made, **ends, "id": own_id, "token": digest("'i' || n"), "label": "'CI'", "uses_left": "1"},
        ),
        ("oauth_revoked_token", PEOPLE, {**ends, "jti": own_id}),
        (
            "audit", PEOPLE * 5,
            {"id": own_id, "time": made["created_at"], "event": "'sign_in.succeeded'", "outcome": "'success'",
             "user_id": owner, "details": "'{}'"},
        ),
    ]  # fmt: skip
