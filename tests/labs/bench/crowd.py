"""Other people's rows, so that what is looked up stands among many: the same numbers at both services."""

import asyncio
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
from sqlalchemy import delete
from sqlmodel import col, select

from domain import tokens as domain_tokens
from domain.email_codes import codes
from models import OneTimeToken, Purpose, Session, User
from models.signing_key import SigningKey
from server.crypto.jwt import generate
from server.crypto.keyring import Keyring
from server.database.database import open_database
from tests.labs.bench.servers import SECRET
from tests.rows import insert_many

USERS = 1_000
KEYS = 1_000
SESSIONS_EACH = 5
CODE = "123456"
"""The code of everybody who signs in by one."""


def fill_gatewright(database_url: str) -> None:
    """Put the crowd into a migrated database of ours."""
    asyncio.run(_insert(database_url))


def add_retired_keys(database_url: str) -> None:
    """Put 1,000 retired signing keys, which are still published, into a migrated database of ours."""
    asyncio.run(_add_keys(database_url))


def renew_gatewright(database_url: str, count: int) -> None:
    """Create that many live sessions with numbered tokens in place of those from before."""
    asyncio.run(_renew(database_url, count))


def renew_better_auth(database_url: str, count: int) -> None:
    """Do the same in Better Auth's database."""
    padded = "lpad(n::text, 32, '0')" if database_url.startswith("postgresql://") else "printf('%032d', n)"
    added = _NUMBERS.format(count=count) + _ADDED.format(token=padded)
    _run_in_better_auth(database_url, (_ENDED, added))


def renew_codes(database_url: str, count: int) -> None:
    """Store a code to sign in with for that many users with numbered addresses, and delete older codes."""
    asyncio.run(_renew_codes(database_url, count))


def renew_codes_in_better_auth(database_url: str, count: int) -> None:
    """Do the same in Better Auth's database."""
    numbers = _NUMBERS.format(count=count)
    _run_in_better_auth(database_url, (_CODES_ENDED, numbers + _CODERS_ADDED, numbers + _CODES_ADDED))


def numbered_address(number: str) -> str:
    """Return the address of one of those users, from 0."""
    return f"coder{number}@example.com"


def numbered_token(number: int) -> str:
    """Return the token of one of those sessions, from 0."""
    return f"{number:032}"


def fill_better_auth(database_url: str) -> None:
    """Put the crowd into Better Auth's migrated database."""
    _run_in_better_auth(database_url, _STATEMENTS)


def _run_in_better_auth(database_url: str, statements: Sequence[str]) -> None:
    if database_url.startswith("postgresql://"):
        asyncio.run(_execute(database_url, statements))
    else:
        with sqlite3.connect(database_url.removeprefix("sqlite:///"), timeout=30) as connection:
            for statement in statements:
                connection.execute(statement)


async def _insert(database_url: str) -> None:
    now = datetime.now(UTC)
    users = [_user(f"crowd{number}@example.com", now) for number in range(USERS)]
    sessions = [_session(user["id"], now) for user in users for _ in range(SESSIONS_EACH)]
    database = await open_database(database_url, pool_size=3, timeout=30)
    try:
        async with database.begin() as db:
            await insert_many(db, User, users)
            await insert_many(db, Session, sessions)
            await db.commit()
    finally:
        await database.close()


async def _add_keys(database_url: str) -> None:
    now = datetime.now(UTC)
    pairs = [generate("ES256") for _ in range(KEYS)]
    rows = [
        {
            "kid": pair.kid, "algorithm": pair.algorithm, "public_jwk": pair.public_jwk, "private_jwk": None,
            "created_at": now - timedelta(days=100), "signs_from": now - timedelta(days=100),
            "signs_until": now - timedelta(days=10), "published_until": now + timedelta(days=20), "revoked_at": None,
        }
        for pair in pairs
    ]  # fmt: skip
    database = await open_database(database_url, pool_size=3, timeout=30)
    try:
        async with database.begin() as db:
            await insert_many(db, SigningKey, rows)
            await db.commit()
    finally:
        await database.close()


async def _renew(database_url: str, count: int) -> None:
    now = datetime.now(UTC)
    database = await open_database(database_url, pool_size=3, timeout=30)
    try:
        async with database.begin() as db:
            whose = (await db.execute(select(User.id).where(User.email == "crowd0@example.com"))).scalar()
            await db.execute(delete(Session).where(col(Session.user_id) == whose))
            tokens = map(numbered_token, range(count))
            added = [
                {**_session(whose, now), "token_digest": domain_tokens.digest(token)} for token in tokens
            ]
            await insert_many(db, Session, added)
            await db.commit()
    finally:
        await database.close()


async def _renew_codes(database_url: str, count: int) -> None:
    now, keyring = datetime.now(UTC), Keyring([SECRET])
    database = await open_database(database_url, pool_size=3, timeout=30)
    try:
        async with database.begin() as db:
            await db.execute(delete(OneTimeToken).where(col(OneTimeToken.purpose) == Purpose.CODE_SIGN_IN))
            found = await db.execute(select(User.email, User.id).where(col(User.email).startswith("coder")))
            ids = dict(tuple(row) for row in found)
            emails = [numbered_address(str(number)) for number in range(count)]
            added = [_user(email, now, email_verified=True) for email in emails if email not in ids]
            ids |= {user["email"]: user["id"] for user in added}
            await insert_many(db, User, added)
            await insert_many(db, OneTimeToken, [_code(keyring, each, ids[each], now) for each in emails])
            await db.commit()
    finally:
        await database.close()


def _code(keyring: Keyring, email: str, user_id: str, now: datetime) -> dict[str, Any]:
    binding = codes.Binding(codes.SIGN_IN, email)
    return {
        "digest": binding.key,
        "purpose": binding.kind.purpose,
        "user_id": user_id,
        "email": email,
        "code": binding.digests(keyring, user_id, CODE)[0],
        "attempts": 0,
        "expires_at": now + timedelta(minutes=5),
        "created_at": now,
        "updated_at": now,
    }


def _user(email: str, now: datetime, *, email_verified: bool = False) -> dict[str, Any]:
    return {
        "id": domain_tokens.token(),
        "name": "Crowd",
        "email": email,
        "email_verified": email_verified,
        "created_at": now,
        "updated_at": now,
    }


def _session(user_id: str, now: datetime) -> dict[str, Any]:
    return {
        "id": domain_tokens.token(),
        "user_id": user_id,
        "token_digest": domain_tokens.digest(domain_tokens.token()),
        "method": "password",
        "expires_at": now + timedelta(days=7),
        "created_at": now,
        "updated_at": now,
    }


_NUMBERS = (
    "WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < {count}) "
)
_THEN, _LATER = "'2026-01-01T00:00:00.000Z'", "'2036-01-01T00:00:00.000Z'"

_STATEMENTS = (
    _NUMBERS.format(count=USERS)
    + 'INSERT INTO "user" (id, name, email, "emailVerified", "createdAt", "updatedAt")'
    + f" SELECT 'crowd' || n, 'Crowd', 'crowd' || n || '@example.com', false, {_THEN}, {_THEN} FROM numbers",
    _NUMBERS.format(count=USERS * SESSIONS_EACH)
    + 'INSERT INTO session (id, token, "userId", "expiresAt", "createdAt", "updatedAt")'
    + f" SELECT 'crowd' || n, 'crowd' || n, 'crowd' || (n % {USERS}), {_LATER}, {_THEN}, {_THEN} FROM numbers",
)
"""Both databases understand them."""

_ENDED = "DELETE FROM session WHERE \"userId\" = 'crowd0'"
_ADDED = (
    'INSERT INTO session (id, token, "userId", "expiresAt", "createdAt", "updatedAt")'
    + f" SELECT 'renewed' || n, {{token}}, 'crowd0', {_LATER}, {_THEN}, {_THEN} FROM numbers"
)

_CODES_ENDED = "DELETE FROM verification WHERE identifier LIKE 'sign-in-otp-%'"
_CODERS_ADDED = (
    'INSERT INTO "user" (id, name, email, "emailVerified", "createdAt", "updatedAt")'
    + f" SELECT 'coder' || n, 'Crowd', 'coder' || n || '@example.com', true, {_THEN}, {_THEN} FROM numbers"
    # SQLite needs a condition between a SELECT and ON CONFLICT.
    + " WHERE true ON CONFLICT DO NOTHING"
)
_CODES_ADDED = (
    'INSERT INTO verification (id, identifier, value, "expiresAt", "createdAt", "updatedAt")'
    + f" SELECT 'code' || n, 'sign-in-otp-coder' || n || '@example.com', '{CODE}:0', {_LATER}, {_THEN}, {_THEN}"
    + " FROM numbers"
)


async def _execute(database_url: str, statements: Sequence[str]) -> None:
    connection = await asyncpg.connect(database_url)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()
