"""Values under older secrets are rewritten, and only those (threat R44)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from sqlalchemy import LargeBinary, Update, select, update
from sqlmodel import col

from domain.ports import Transaction
from domain.sso_sign_in.sign_in import NAME_ID
from models import Account, Outbox, Session, TwoFactor, User, metadata
from models.sso_session import SsoSession
from models.webhook_endpoint import PREVIOUS_SECRET, WebhookEndpoint
from models.webhook_event import WebhookEvent
from server.components.jwt import SigningKeyStore
from server.components.key_rotation import COLUMNS, RotationResult, reencrypt
from server.crypto.keyring import Keyring
from server.database.database import Database
from tests import scim, webhooks
from tests.conftest import MakeService
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.labs.provider.steps import as_user, begin, enter
from tests.rows import add
from tests.security import second_factor

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OLD, BOTH, NEW = (
    Keyring(secrets) for secrets in (["o" * 32], ["n" * 32, "o" * 32], ["n" * 32])
)  # fmt: skip

NOTHING_LEFT = dict.fromkeys(COLUMNS, 0)


async def _fill(database: Database, keyring: Keyring, count: int, prefix: str = "r") -> None:
    async with database.transaction() as db:
        if await db.execute(select(User)) == []:
            db.add(User(id="u", name="Ada", email="ada@example.com", created_at=NOW, updated_at=NOW))
        for number in range(count):
            key = f"{prefix}{number:03}"
            sealed = keyring.encrypt("session.token_copy", key)
            db.add(
                Session(
                    id=key, user_id="u", token_digest=key.encode(), token_copy=sealed, method="password",
                    expires_at=NOW, created_at=NOW, updated_at=NOW,
                )
            )  # fmt: skip
            db.add(
                Outbox(
                    id=key, template="x", sender="smtp", payload=keyring.encrypt("outbox.payload", key),
                    next_attempt=NOW, expires_at=NOW, created_at=NOW, updated_at=NOW,
                )
            )  # fmt: skip


async def _copies(database: Database) -> dict[str, bytes | None]:
    async with database.transaction() as db:
        return {row[0]: row[1] for row in await db.execute(select(col(Session.id), col(Session.token_copy)))}


async def _payloads(database: Database) -> dict[str, bytes | None]:
    async with database.transaction() as db:
        return {row[0]: row[1] for row in await db.execute(select(col(Outbox.id), col(Outbox.payload)))}


class TestColumns:
    @pytest.mark.threat("R44")
    async def test_whatever_is_encrypted_stands_in_a_column_declared_so(
        self, make_service: MakeService, provider: ProviderProcess, other_provider: ProviderProcess
    ) -> None:
        social = await make_service({**social_settings(provider, other_provider), **webhooks.SETTINGS})
        as_user(provider, "bob@example.com", "1001")
        await social.services.port[SigningKeyStore].prepare()
        await enter(social)
        await begin(social)
        owner = await second_factor.enrol(social)
        await second_factor.begin(social, owner.session)
        await social.post("/request-password-reset", {"email": owner.email})
        previous = social.services.cipher.encrypt(PREVIOUS_SECRET, "previous")
        await webhooks.add_endpoint(social, "https://example.com/", previous_secret=previous)
        await webhooks.happen(social)
        directory = await scim.add_directory(social)
        await directory.create("carol@example.com")
        [session, *_] = await social.rows("SELECT id FROM session")
        name_id = social.services.cipher.encrypt(NAME_ID, "{}")
        opened = SsoSession(
            session_id=session.id, connection_id=directory.connection_id, subject=b"s", name_id=name_id,
            created_at=NOW, updated_at=NOW,
        )  # fmt: skip
        await add(social.services.database, opened)

        found = set()
        for column in [column for table in metadata.sorted_tables for column in table.c]:
            if isinstance(column.type, LargeBinary):
                values = await social.rows(f'SELECT {column.name} FROM "{column.table.name}"')
                if any(value and social.services.cipher.decrypt(str(column), value) for (value,) in values):
                    found.add(str(column))

        # What a sign-in through a provider began with lives ten minutes, and is not encrypted anew.
        assert found == {*COLUMNS, "grant.payload"}


class TestRewrite:
    @pytest.mark.threat("R44")
    async def test_everything_reads_under_the_newest_secret_afterwards(self, migrated: Database) -> None:
        await _fill(migrated, OLD, 7)
        factor = TwoFactor(user_id="u", confirmed=True, created_at=NOW, updated_at=NOW)
        account = Account(
            id="a", user_id="u", provider_id="test", account_id="7", created_at=NOW, updated_at=NOW
        )
        endpoint = WebhookEndpoint(
            id="w", name="receiver", url="https://example.com/", events="[]", secret=b"", source="cli",
            created_at=NOW, updated_at=NOW,
        )  # fmt: skip
        event = WebhookEvent(id="e", type="webhook.test", expires_at=NOW, created_at=NOW, updated_at=NOW)
        sealed_rows = (
            (factor, ("secret", "new_secret")),
            (endpoint, ("secret", "previous_secret")),
            (event, ("payload",)),
            (account, ("access_token", "refresh_token", "id_token")),
        )
        for row, names in sealed_rows:
            for name in names:
                setattr(row, name, OLD.encrypt(f"{row.__tablename__}.{name}", name))
        await add(migrated, factor, account, endpoint, event)

        assert await reencrypt(migrated.transaction, BOTH, batch=3) == NOTHING_LEFT

        for key, sealed in (await _copies(migrated)).items():
            assert NEW.decrypt("session.token_copy", sealed or b"") == key
        for key, sealed in (await _payloads(migrated)).items():
            assert NEW.decrypt("outbox.payload", sealed or b"") == key
        async with migrated.transaction() as db:
            for row, names in sealed_rows:
                [found] = await db.execute(select(type(row)))
                opened = [NEW.decrypt(f"{row.__tablename__}.{name}", getattr(found, name)) for name in names]
                assert opened == list(names)

    async def test_what_is_current_empty_or_unreadable_stays(self, migrated: Database) -> None:
        await _fill(migrated, NEW, 3, "current")
        await _fill(migrated, Keyring(["x" * 32]), 2, "foreign")
        async with migrated.transaction() as db:
            await db.execute(update(Session).where(col(Session.id) == "current001").values(token_copy=None))
        before = await _copies(migrated)

        assert await reencrypt(migrated.transaction, BOTH, batch=2) == NOTHING_LEFT

        assert await _copies(migrated) == before

    async def test_does_nothing_with_one_secret(self, migrated: Database) -> None:
        await _fill(migrated, OLD, 1)
        before = await _copies(migrated)

        assert await reencrypt(migrated.transaction, NEW) == {}

        assert await _copies(migrated) == before

    async def test_newer_values_are_never_overwritten(self, migrated: Database) -> None:
        await _fill(migrated, OLD, 3)
        newer = NEW.encrypt("session.token_copy", "newer")
        late = Once()

        @asynccontextmanager
        async def begin() -> AsyncIterator[Transaction]:
            async with migrated.transaction() as db:
                yield cast(Transaction, _Late(db, migrated, newer, late))

        assert (await reencrypt(begin, BOTH))["session.token_copy"] == 1

        copies = await _copies(migrated)
        assert copies["r000"] == newer
        assert NEW.decrypt("session.token_copy", copies["r001"] or b"") == "r001"

    async def test_tells_what_it_changed_and_nothing_when_there_was_nothing(self, migrated: Database) -> None:
        await _fill(migrated, OLD, 3)
        told: list[dict[str, RotationResult]] = []

        for _ in range(2):
            await reencrypt(migrated.transaction, BOTH, report=lambda results: told.append(dict(results)))

        [results] = told
        assert results["session.token_copy"] == RotationResult(rewritten=3, remaining=0)
        assert results["two_factor.secret"] == RotationResult(rewritten=0, remaining=0)


@dataclass
class Once:
    """Whether something that is done once has been done."""

    is_done: bool = False


def _changes_a_session(statement: Any) -> bool:
    return isinstance(statement, Update) and statement.table is metadata.tables["session"]


class _Late:
    """A transaction before whose first change to the table another one has changed the same row."""

    def __init__(self, db: Transaction, database: Database, value: bytes, late: Once) -> None:
        self.db, self.database, self.value, self.late = db, database, value, late

    async def execute(self, statement: Any, **values: Any) -> Any:
        if not self.late.is_done and _changes_a_session(statement):
            self.late.is_done = True
            async with self.database.transaction() as db:
                await db.execute(
                    update(Session).where(col(Session.id) == "r000").values(token_copy=self.value)
                )
        return await self.db.execute(statement, **values)
