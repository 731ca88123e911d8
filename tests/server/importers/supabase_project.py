"""The schema `auth` of a Supabase project, with the columns that its migrations create, and users in it."""

import json
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import asyncpg

SCHEMA = """
CREATE SCHEMA auth;
CREATE TYPE auth.factor_type AS ENUM ('totp', 'webauthn', 'phone');
CREATE TYPE auth.factor_status AS ENUM ('unverified', 'verified');
CREATE TABLE auth.users (
  instance_id uuid, id uuid PRIMARY KEY, aud varchar(255), role varchar(255), email varchar(255),
  encrypted_password varchar(255), email_confirmed_at timestamptz, last_sign_in_at timestamptz,
  raw_app_meta_data jsonb, raw_user_meta_data jsonb, created_at timestamptz, updated_at timestamptz, phone text,
  phone_confirmed_at timestamptz, banned_until timestamptz, is_sso_user boolean NOT NULL DEFAULT false,
  deleted_at timestamptz, is_anonymous boolean NOT NULL DEFAULT false);
CREATE TABLE auth.identities (
  provider_id text NOT NULL, user_id uuid NOT NULL, identity_data jsonb NOT NULL, provider text NOT NULL,
  last_sign_in_at timestamptz, created_at timestamptz, updated_at timestamptz,
  email text GENERATED ALWAYS AS (lower(identity_data ->> 'email')) STORED,
  id uuid PRIMARY KEY DEFAULT gen_random_uuid());
CREATE TABLE auth.mfa_factors (
  id uuid PRIMARY KEY, user_id uuid NOT NULL, friendly_name text, factor_type auth.factor_type NOT NULL,
  status auth.factor_status NOT NULL, created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL, secret text,
  phone text);
CREATE TABLE auth.webauthn_credentials (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(), user_id uuid NOT NULL, credential_id bytea NOT NULL,
  public_key bytea NOT NULL, attestation_type text NOT NULL DEFAULT '', aaguid uuid,
  sign_count bigint NOT NULL DEFAULT 0, transports jsonb NOT NULL DEFAULT '[]', backup_eligible boolean NOT NULL,
  backed_up boolean NOT NULL, friendly_name text NOT NULL DEFAULT '', created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(), last_used_at timestamptz);
ALTER TABLE auth.users ENABLE ROW LEVEL SECURITY;
"""
JOINED = datetime(2024, 1, 31, 12, tzinfo=UTC)

PASSWORD = "correct horse battery"
KEYS = "first:FZVZm9AR6JnuSGJcUxpUqKKmHwfYQ5O64QklUQS7fCw"
# Supabase Auth itself has encrypted these, in August 2026, under the key above.
ENCRYPTED_USER = "4e725e7b-ce9a-479b-a0a7-59276bbdf643"
ENCRYPTED_HASH = (
    '{"key_id":"first","alg":"aes-gcm-hkdf","data":"h6jCQ/0YhQaGtyRlTMBhMN9no9o7LYszyygY8k1RBDcxgf/Pt1uNkTYuw7ucXXwNXtnLp7'
    'DMsBXkFXx1UmfFY/OWUY2P4Ip2x7ZO+g==","nonce":"4VMaxJNjd9FLX420"}'
)
ENCRYPTED_FACTOR = "47c9960e-e33b-4811-a135-81d1b9860caa"
ENCRYPTED_SECRET = (
    '{"key_id":"first","alg":"aes-gcm-hkdf","data":"Z3SCdVZPBLlFDoj//1sYXX3Ql2/+6RiatKAPKtlTYeHxsKB0YrOIH6JjWkVfJ0oM",'
    '"nonce":"8iYfwRMigvxtwwkH"}'
)
SECRET = "AWMLLYLEZL76AKKZMYINVFGQT5CP5CKF"
"""The secret in ENCRYPTED_SECRET."""


class Project:
    """A connection to the database of a project."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    @classmethod
    async def create(cls, url: str) -> "Project":
        """Create the tables in an empty database."""
        connection = await asyncpg.connect(url)
        await connection.execute(SCHEMA)
        return cls(connection)

    async def add(
        self,
        email: str | None,
        *,
        app: Mapping[str, Any] | None = None,
        own: Mapping[str, Any] | None = None,
        **columns: Any,
    ) -> uuid.UUID:
        """Add a user; `app` and `own` are the metadata."""
        values = {
            "id": uuid.uuid4(), "email": email, "encrypted_password": "", "created_at": JOINED,
            "raw_app_meta_data": json.dumps(app or {}), "raw_user_meta_data": json.dumps(own or {}), **columns,
        }  # fmt: skip
        await self.insert("users", values)
        id_: uuid.UUID = values["id"]
        return id_

    async def add_identity(self, user_id: uuid.UUID, provider: str, subject: str, **data: Any) -> None:
        """Add an account at a provider."""
        identity = {"sub": subject, **data}
        columns = {"provider_id": subject, "user_id": user_id, "provider": provider, "created_at": JOINED}
        await self.insert("identities", {**columns, "identity_data": json.dumps(identity)})

    async def add_factor(
        self, user_id: uuid.UUID, kind: str, secret: str | None = None, **columns: Any
    ) -> None:
        """Add a second factor."""
        values = {
            "id": uuid.uuid4(), "user_id": user_id, "factor_type": kind, "status": "verified", "secret": secret,
            "created_at": JOINED, "updated_at": JOINED, **columns,
        }  # fmt: skip
        await self.insert("mfa_factors", values)

    async def insert(self, table: str, values: Mapping[str, Any]) -> None:
        """Add a row."""
        places = ", ".join(f"${number}" for number in range(1, len(values) + 1))
        await self.connection.execute(
            f"INSERT INTO auth.{table} ({', '.join(values)}) VALUES ({places})", *values.values()
        )
