"""Clean-up removes what is over, all of it, and nothing else."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select
from sqlmodel import SQLModel, col

from domain import tokens
from models import (
    Audit,
    Counter,
    KnownNetwork,
    Lease,
    MailState,
    OneTimeToken,
    Outbox,
    Outcome,
    Purpose,
    Session,
    TrustedDevice,
    User,
)
from models.api_key import ApiKey
from models.base import tables
from models.daily_count import DailyCount
from models.device_request import DeviceRequest
from models.initial_access_token import InitialAccessToken
from models.instance import Instance
from models.invitation import Invitation
from models.logout_delivery import LogoutDelivery
from models.oauth_client import OauthClient
from models.oauth_code import OauthCode
from models.oauth_grant import OauthGrant
from models.oauth_request import OauthRequest
from models.oauth_revoked_token import OauthRevokedToken
from models.oauth_token import OauthToken
from models.organization import Organization
from models.saml_message import SamlMessage
from models.sso_connection import SsoConnection
from models.webhook_event import WebhookEvent
from server.components import cleanup
from server.components.scheduler import take_lease
from server.config.settings import AllSettings
from server.config.sources import value_of
from server.database.database import Database
from tests.rows import NOW, add, session, user

MOMENT = timedelta(milliseconds=1)
DAY = timedelta(days=1)


async def left(database: Database, column: Any) -> set[Any]:
    async with database.transaction() as db:
        return set((await db.execute(select(col(column)))).scalars())


def grant(name: str, purpose: Purpose, expires_at: datetime) -> OneTimeToken:
    return OneTimeToken(
        digest=name.encode(), purpose=purpose, expires_at=expires_at, created_at=NOW, updated_at=NOW
    )


def device(user_id: str, name: str, expires_at: datetime) -> TrustedDevice:
    return TrustedDevice(
        id=name, user_id=user_id, digest=name.encode(), expires_at=expires_at, created_at=NOW, updated_at=NOW
    )  # fmt: skip


def key(user_id: str, name: str, expires_at: datetime | None) -> ApiKey:
    return ApiKey(
        id=name, user_id=user_id, digest=name.encode(), kind="default", expires_at=expires_at,
        rate_limit_enabled=False, rate_limit_window_ms=1000, rate_limit_max=1, created_at=NOW, updated_at=NOW,
    )  # fmt: skip


def invitation(owner: User, name: str, expires_at: datetime) -> Invitation:
    return Invitation(
        id=name, organization_id="acme", email=f"{name}@example.com", role="member", status="pending",
        inviter_id=owner.id, expires_at=expires_at, created_at=NOW, updated_at=NOW,
    )  # fmt: skip


def instance(name: str, last_seen_at: datetime) -> Instance:
    return Instance(
        id=name, host="h", process=1, version="1", started_at=NOW, last_seen_at=last_seen_at, settings="{}"
    )  # fmt: skip


def mail(name: str, state: MailState, since: datetime) -> Outbox:
    return Outbox(
        id=name, state=state, template="t", sender="s", next_attempt=since, expires_at=NOW - 99 * DAY,
        created_at=NOW - 99 * DAY, updated_at=since,
    )  # fmt: skip


def webhook_event(name: str, expires_at: datetime) -> WebhookEvent:
    return WebhookEvent(id=name, type="t", expires_at=expires_at, created_at=NOW, updated_at=NOW)


def provided(owner: User, name: str, more: timedelta) -> list[SQLModel]:
    """Return a row of each table of the OAuth provider that clean-up empties."""
    at, ten_minutes_ago = NOW + more, NOW - timedelta(minutes=10) + more
    key = name.encode()
    times: dict[str, Any] = {"created_at": NOW, "updated_at": NOW}
    client = {"client_id": "shop", **times}
    return [
        OauthClient(client_id=name, client_name="Shop", registration="{}", source="dynamic", expires_at=at, **times),
        OauthRequest(handle=key, kind="authorize", payload=b"", expires_at=at, **times),
        OauthGrant(
            id=name, user_id=owner.id, sid="s", scopes="", auth_time=NOW, expires_at=at, **client
        ),
        OauthCode(
            code=key, user_id=owner.id, session_id="kept", redirect_uri="u", code_challenge="c", scopes="",
            expires_at=ten_minutes_ago, **client,
        ),
        OauthToken(token=key, kind="access", scopes="", expires_at=at, kept_until=at, **client),
        OauthRevokedToken(jti=name, expires_at=at),
        InitialAccessToken(id=name, token=key, label="l", uses_left=1, expires_at=at, **times),
        LogoutDelivery(
            id=name, subject=owner.id, sid="s", next_attempt=NOW, expires_at=NOW - timedelta(hours=1) + more, **client
        ),
        DeviceRequest(
            device_code=key, user_code=key, scopes="", interval=5, expires_at=ten_minutes_ago, **client
        ),
    ]  # fmt: skip


def record(name: str, time: datetime) -> Audit:
    return Audit(id=name, time=time, event="sign_out", outcome=Outcome.SUCCESS, details={})


KEPT = dict.fromkeys((Purpose.VERIFY, Purpose.CHANGE_EMAIL), 7 * DAY) | dict.fromkeys(
    (Purpose.CODE_SIGN_IN, Purpose.CODE_VERIFY, Purpose.CODE_RESET, Purpose.CODE_CHANGE),
    timedelta(minutes=15),
)
"""For how long tokens and codes can say that they have expired."""


def of_each_kind(owner: User, name: str, more: timedelta) -> list[SQLModel]:
    """Return a row of each kind that clean-up removes, whose time is over this much after now."""
    at, week, month = NOW + more, NOW - 7 * DAY + more, NOW - 30 * DAY + more
    grants = [grant(f"{name} {each}", each, at - KEPT.get(each, timedelta(0))) for each in Purpose]
    return [
        session(owner, name, id=name, expires_at=at),
        device(owner.id, name, at),
        key(owner.id, name, month),
        invitation(owner, name, NOW - 90 * DAY + more),
        mail(f"{name} sent", MailState.SENT, week),
        mail(f"{name} failed", MailState.FAILED, month),
        Counter(key=name.encode(), count=3, window_end=at),
        DailyCount(day=NOW - 731 * DAY + more, event=name, way_in="", code="", count=1),
        KnownNetwork(user_id=owner.id, network=name.encode(), last_success=NOW - 90 * DAY + more),
        instance(name, NOW - timedelta(hours=1) + more),
        webhook_event(name, at),
        *grants,
    ]


class TestSweep:
    async def test_removes_what_is_over_and_nothing_else(self, migrated: Database) -> None:
        ada = user("ada")
        acme = Organization(id="acme", name="Acme", slug="acme", created_at=NOW, updated_at=NOW)
        await add(migrated, ada, acme)
        connection = SsoConnection(
            id="c", provider_id="acme", type="saml", issuer="i", config=b"", name="Acme", source="cli",
            created_at=NOW, updated_at=NOW,
        )  # fmt: skip
        await add(migrated, connection)
        for name, end in (("over", NOW), ("kept", NOW + MOMENT)):
            message = SamlMessage(
                id=name, connection_id="c", kind="assertion", digest=name.encode(), expires_at=end,
                created_at=NOW, updated_at=NOW,
            )  # fmt: skip
            await add(migrated, message)
        await add(migrated, *of_each_kind(ada, "over", timedelta(0)), *of_each_kind(ada, "kept", MOMENT))
        long_ago = NOW - 30 * DAY
        shop = OauthClient(
            client_id="shop",
            client_name="Shop",
            registration="{}",
            source="cli",
            created_at=NOW,
            updated_at=NOW,
        )
        await add(migrated, shop)
        await add(migrated, *provided(ada, "over", timedelta(0)), *provided(ada, "kept", MOMENT))
        waiting = [mail(state.value, state, long_ago) for state in (MailState.QUEUED, MailState.UNRESOLVED)]
        await add(migrated, key(ada.id, "endless", None), *waiting)

        assert await cleanup.delete_expired(migrated, NOW) == {
            "api_key": 1, "session": 1, "grant": len(Purpose), "outbox": 2, "trusted_device": 1, "counter": 1,
            "known_network": 1, "daily_count": 1, "invitation": 1, "instance": 1, "webhook_event": 1,
            "oauth_client": 1, "oauth_request": 1, "oauth_grant": 1, "oauth_code": 1, "oauth_token": 1,
            "oauth_revoked_token": 1, "initial_access_token": 1, "device_request": 1, "logout_delivery": 1,
            "saml_message": 1,
        }  # fmt: skip

        assert await left(migrated, ApiKey.id) == {"kept", "endless"}
        assert await left(migrated, Outbox.id) == {"kept sent", "kept failed", "queued", "unresolved"}
        assert await left(migrated, OneTimeToken.digest) == {f"kept {each}".encode() for each in Purpose}
        assert await left(migrated, Session.id) == await left(migrated, TrustedDevice.id) == {"kept"}
        assert await left(migrated, Instance.id) == await left(migrated, WebhookEvent.id) == {"kept"}
        assert await left(migrated, DailyCount.event) == await left(migrated, Invitation.id) == {"kept"}
        assert await left(migrated, OauthClient.client_id) == {"kept", "shop"}
        assert await left(migrated, OauthGrant.id) == await left(migrated, LogoutDelivery.id) == {"kept"}
        assert await left(migrated, OauthCode.code) == await left(migrated, OauthToken.token) == {b"kept"}
        assert await left(migrated, SamlMessage.id) == {"kept"}
        assert await left(migrated, Counter.key) == await left(migrated, KnownNetwork.network) == {b"kept"}

    async def test_goes_on_until_nothing_is_left_or_the_lease_is_lost(self, migrated: Database) -> None:
        await add(migrated, *(grant(str(number), Purpose.RESET, NOW) for number in range(1100)))

        async def is_lost() -> bool:
            return False

        assert (await cleanup.delete_expired(migrated, NOW, may_continue=is_lost))["grant"] == 500
        assert len(await left(migrated, OneTimeToken.digest)) == 600
        assert (await cleanup.delete_expired(migrated, NOW))["grant"] == 600
        assert await left(migrated, OneTimeToken.digest) == set()


class TestDeclared:
    """What tables say of the time their rows are kept."""

    def test_a_setting_that_is_named_is_one(self) -> None:
        kept = [each.keep for table in tables() for each in getattr(table, "__retention__", ())]
        named = [keep for keep in kept if isinstance(keep, str)]

        assert "audit.retention" in named
        assert all(isinstance(value_of(AllSettings(), name), timedelta) for name in named)

    async def test_records_go_after_the_time_that_is_set_and_never_where_that_is_nought(
        self, migrated: Database
    ) -> None:
        await add(migrated, record("over", NOW - DAY), record("young", NOW - DAY + MOMENT))

        kept = await cleanup.delete_expired(migrated, NOW, lambda _: timedelta(0))
        swept = await cleanup.delete_expired(migrated, NOW, lambda _: DAY)

        assert ("audit" in kept, swept["audit"]) == (False, 1)
        assert await left(migrated, Audit.id) == {"young"}
        assert {*list(swept)[-2:]} == {"audit", "delivery"}  # What has no setting does not wait for what has.


class TestTurn:
    async def test_sweeps_for_who_gets_the_lease(self, migrated: Database) -> None:
        await take_lease(migrated, "cleanup", "another", now=NOW, seconds=300)
        await add(migrated, grant("over", Purpose.RESET, NOW))

        await cleanup.run(migrated, lambda: NOW, tokens.token())
        kept = await left(migrated, OneTimeToken.digest)
        await cleanup.run(migrated, lambda: NOW + timedelta(seconds=300), tokens.token())

        assert (kept, await left(migrated, OneTimeToken.digest)) == ({b"over"}, set())

    async def test_prolongs_the_lease_while_it_lasts(self, migrated: Database) -> None:
        """Each look at the clock finds it three minutes later."""
        await add(migrated, *(grant(str(number), Purpose.RESET, NOW) for number in range(1100)))
        moments = [NOW + number * timedelta(minutes=3) for number in range(4)]
        later = iter(moments)

        await cleanup.run(migrated, lambda: next(later), tokens.token())

        assert await left(migrated, Lease.until) == {moments[-1] + timedelta(seconds=cleanup.EVERY)}
