"""Rows for the console at full size, made in PostgreSQL from their numbers."""

import hashlib
from contextlib import AsyncExitStack

from rich.progress import Progress

from server.database import migrations
from server.database.database import open_database
from tests.labs.bench.growth_rows import SESSIONS_EACH, connect, without_indexes

BUSY = hashlib.md5(b"user1", usedforsecurity=False).hexdigest()
"""The id of the first user, who has many sessions and audit records."""
BUSY_SESSIONS, BUSY_RECORDS = 1_000, 10_000
"""Sessions of the first user, and audit records about them and by them."""

USERS = """
INSERT INTO "user" (id, name, email, email_verified, two_factor_enabled, role, banned, ban_reason, created_at,
  updated_at)
SELECT md5('user' || i), 'Somebody ' || i, 'somebody.' || i || '@example.com', i % 10 > 0, i % 20 = 7,
  CASE WHEN i % 10000 = 9 THEN 'user,support' ELSE 'user' END, i % 1000 = 5, CASE WHEN i % 1000 = 5 THEN 'Spam' END,
  joined, joined
FROM generate_series(1, {users}) AS i, LATERAL (SELECT now() - i * INTERVAL '1095 days' / {users} AS joined) AS of_user
"""
ACCOUNTS = """
INSERT INTO account (id, user_id, provider_id, issuer, account_id, created_at, updated_at)
SELECT md5(provider || i), md5('user' || i), provider, '', md5('user' || i), now(), now()
FROM generate_series(1, {users}) AS i, unnest(ARRAY['credential', 'github']) AS provider
WHERE provider = 'credential' OR i % 10 = 3
"""
SESSIONS = """
INSERT INTO session (id, user_id, token_digest, remembered, method, amr, expires_at, ip_address, user_agent, created_at,
  updated_at)
SELECT lpad(i::text, 32, '0'), md5('user' || CASE WHEN i <= {busy} THEN 1 ELSE 1 + i % {users} END),
  sha256(('session' || i)::bytea), true, 'password', 'pwd', begun + INTERVAL '7 days',
  '198.51.100.' || i % 250, '{browser}', begun, begun
FROM generate_series(1, {sessions}) AS i,
  LATERAL (SELECT now() - i % 500000 * INTERVAL '1 second' AS begun) AS of_session
"""
AUDIT = """
INSERT INTO audit (id, time, event, outcome, code, user_id, actor_id, session_id, method, address, user_agent,
  request_id, details)
SELECT lpad(i::text, 32, '0'), now() - (i::float8 / {audit}) * INTERVAL '360 days', event,
  CASE event WHEN 'sign_in.failed' THEN 'failure' ELSE 'success' END,
  CASE event WHEN 'sign_in.failed' THEN 'INVALID_EMAIL_OR_PASSWORD' END,
  subject, CASE WHEN i % {step} = 1 THEN md5('user' || 1) ELSE subject END,
  lpad((i % {users})::text, 32, '0'), 'password',
  (i % 223) || '.' || (i / 223 % 250) || '.113.' || i % 250, '{browser}',
  md5('request' || i), '{{}}'
FROM generate_series(1, {audit}) AS i,
  LATERAL (SELECT CASE WHEN i % {step} = 0 THEN md5('user' || 1)
    ELSE md5('user' || 1 + i::bigint * 7919 % {users}) END AS subject,
    CASE WHEN i % 20000 = 1 THEN 'user.banned' WHEN i % 1000 = 1 THEN 'user.updated'
      WHEN i % 5 = 3 THEN 'session.revoked' WHEN i % 5 = 4 THEN 'sign_in.failed' ELSE 'sign_in.succeeded'
    END AS event) AS of_record
"""
COUNTS = """
INSERT INTO daily_count (day, event, way_in, code, count)
SELECT date_trunc('day', now(), 'UTC') - day * INTERVAL '1 day', event, way_in, code, 1000 + day * 37
FROM generate_series(0, 40) AS day, (VALUES ('user.created', '', ''), ('sign_in.succeeded', 'password', ''),
  ('sign_in.succeeded', 'github', ''), ('sign_in.failed', 'password', 'INVALID_EMAIL_OR_PASSWORD'))
  AS kind (event, way_in, code)
ON CONFLICT DO NOTHING
"""
KEYS = """
INSERT INTO api_key (id, digest, kind, user_id, name, start, prefix, enabled, rate_limit_enabled, rate_limit_window_ms,
  rate_limit_max, request_count, created_at, updated_at)
SELECT md5('key' || i), sha256(('key' || i)::bytea), 'default', md5('user' || i), 'Key ' || i,
  'gwk_' || left(md5('key' || i), 4), 'gwk_', true, true, 60000, 600, 0, now() - i * INTERVAL '1 minute', now()
FROM generate_series(1, {users}, 10) AS i
"""
MAILS = """
INSERT INTO outbox (id, state, template, sender, user_id, attempts, next_attempt, expires_at, created_at, updated_at)
SELECT md5('mail' || i), CASE WHEN i % 100 = 0 THEN 'failed' ELSE 'sent' END, 'verify-email', 'smtp',
  md5('user' || i), 1, sent, sent + INTERVAL '7 days', sent, sent
FROM generate_series(1, {users}, 10) AS i,
  LATERAL (SELECT now() - i % 500000 * INTERVAL '1 second' AS sent) AS of_mail
"""
BROWSER = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"
)
STATEMENTS = {
    "user": USERS,
    "account": ACCOUNTS,
    "session": SESSIONS,
    "audit": AUDIT,
    "daily_count": COUNTS,
    "api_key": KEYS,
    "outbox": MAILS,
}
"""By table. The large ones get their indexes afterwards."""
LARGE = ("account", "session", "audit")


async def fill(url: str, users: int, audit: int) -> None:
    """Fill a migrated database, ten sessions to a user, and analyse it."""
    values = {
        "users": users,
        "sessions": users * SESSIONS_EACH,
        "busy": BUSY_SESSIONS,
        "audit": audit,
        "step": audit // BUSY_RECORDS,
        "browser": BROWSER,
    }
    connection = await connect(url)
    with Progress() as progress:
        for table, statement in STATEMENTS.items():
            task = progress.add_task(f"rows of {table}", total=None)
            async with AsyncExitStack() as ends:
                if table in LARGE:
                    await ends.enter_async_context(without_indexes(connection, progress, table))
                await connection.execute(statement.format(**values))
            progress.update(task, total=1, completed=1)
        await connection.execute("VACUUM (ANALYZE)")
    await connection.close()
    database = await open_database(url, pool_size=3, timeout=30)
    await migrations.add_search_indexes(database)
    await database.close()
