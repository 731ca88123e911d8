"""The events of webhooks: each is raised through its own operation, and held to the contract."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from codegen import webhooks
from domain import errors, tokens
from domain.admin import operator
from domain.context import Context
from domain.data_import import store
from domain.data_import.eligibility import ImportedUser, Outcome
from domain.scim.directories import FEWEST_GUARDED
from domain.users.events import WEBHOOK_UPDATED
from domain.webhooks.publication import WEBHOOK_EVENTS, publish
from models.user import SELECT_USER
from models.webhook_event import ADD_EVENT, PAYLOAD
from server.components.jwt import SigningKeyStore
from tests import oauth_codes, rows
from tests.authenticator import Authenticator
from tests.conftest import MakeService
from tests.contract.webhook_events import check_webhook, contract
from tests.handlers import passkey_steps, sso_steps
from tests.handlers.mailed import BY_MAIL, code_for, link_to, open_link
from tests.handlers.organization_steps import BOB, Company, add_verified, found_company
from tests.handlers.people import Person, add_person
from tests.handlers.steps import (
    ADA,
    EVE,
    NEW_ADDRESS,
    NEW_PASSWORD,
    change_token,
    execute,
    join,
    reset_token,
    set_user,
    sign_in,
    until_blocked,
    user_of,
    verify,
)
from tests.labs.provider import steps as provider_steps
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.oauth import add_client
from tests.scim import add_directory, group
from tests.security import second_factor
from tests.service import PASSWORD, Service
from tests.webhooks import SETTINGS, add_endpoint, deliveries

RECEIVER = "http://127.0.0.1:9/"
"""Of an endpoint that nothing is delivered to in these tests."""
ALL = ("*", "sign_in.failed")
EVENTS = {
    **SETTINGS,
    **BY_MAIL,
    "webhooks.management": "admin",
    "limits.enabled": "false",
    "change_email.enabled": "true",
    "delete_user.enabled": "true",
}


@dataclass
class Scene:
    """A service with an endpoint for every event, and the provider that its users sign in through."""

    service: Service
    provider: ProviderProcess
    events: list[dict[str, Any]] = field(default_factory=list)

    async def read(self) -> list[dict[str, Any]]:
        """Return the events since the last call, each held to the contract."""
        self.events = await events_of(self.service)
        await execute(self.service, "DELETE FROM webhook_event")
        return self.events

    async def only(self, type_: str) -> dict[str, Any]:
        """Return the data of the only event of a type since the last call."""
        [event] = [event for event in await self.read() if event["type"] == type_]
        data: dict[str, Any] = event["data"]
        return data

    async def post(self, path: str, body: Any = None, by: Person | None = None, **more: Any) -> Any:
        """Call an operation that must succeed; return its body."""
        if by is not None:
            more["headers"] = by.headers
        answer = await self.service.post(path, body, **more)
        self.service.client.cookies.clear()
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def fail(self, path: str, body: Any, **more: Any) -> str:
        """Call an operation that must be refused; return the code."""
        answer = await self.service.post(path, body, **more)
        assert answer.status_code >= 400, answer.text
        code: str = answer.json()["code"]
        return code

    async def people(self) -> tuple[Person, Person]:
        """Create an administrator and a user, whose events are read already."""
        root, user = await add_person(self.service, "admin"), await add_person(self.service)
        await self.read()
        return root, user

    async def company(self) -> Company:
        """Found an organization, whose events are read already."""
        company = await found_company(self.service)
        await self.read()
        return company


async def events_of(service: Service) -> list[dict[str, Any]]:
    """Return all stored events that are not erased, each held to the contract."""
    events: list[dict[str, Any]] = []
    for row in await service.rows("SELECT type, payload FROM webhook_event WHERE payload IS NOT NULL"):
        body = service.services.cipher.decrypt(PAYLOAD, row.payload)
        assert body is not None
        check_webhook(contract(), body.encode())
        events.append(json.loads(body))
        assert events[-1]["type"] == row.type
    return events


Act = Callable[[Scene], Awaitable[None]]
CASES: dict[str, list[Act]] = {}


def raises(*types: str) -> Callable[[Act], Act]:
    """Declare the types of events that a case raises and checks."""

    def declare(act: Act) -> Act:
        for type_ in types:
            CASES.setdefault(type_, []).append(act)
        return act

    return declare


def acts() -> Iterator[Any]:
    """Yield each case once."""
    for act in dict.fromkeys(act for those in CASES.values() for act in those):
        yield pytest.param(act, id=act.__name__)


def shown(person: Person, name: str = "Ada") -> dict[str, Any]:
    """Return a user as events show them by default."""
    return {"id": person.id, "email": person.email, "emailVerified": False, "name": name}


# --- Users ----------------------------------------------------------------------------------------------------


@raises("user.created", "session.created")
async def sign_up(scene: Scene) -> None:
    ada = await add_person(scene.service, email=ADA)

    created, opened = sorted(await scene.read(), key=lambda event: event["type"], reverse=True)
    assert created == {
        "type": "user.created",
        "timestamp": "2026-01-01T12:00:00.000Z",
        "data": {"user": shown(ada), "method": "password", "actorId": None},
    }
    session = opened["data"].pop("sessionId")
    agent = opened["data"].pop("userAgent")
    assert opened["data"] == {
        "user": shown(ada), "actorId": None, "method": "password", "address": "127.0.0.1"
    }  # fmt: skip
    [row] = await scene.service.rows("SELECT id, user_agent FROM session")
    assert (row.id, row.user_agent) == (session, agent)


@raises("user.created")
async def creation_by_an_administrator(scene: Scene) -> None:
    root, _ = await scene.people()
    for password, method in (({"password": NEW_PASSWORD}, "password"), ({}, None)):
        body = {"email": f"{method}@example.com", "name": "Mary", **password}
        await scene.post("/admin/create-user", body, by=root)

        data = await scene.only("user.created")
        assert (data["actorId"], data["method"], data["user"]["name"]) == (root.id, method, "Mary")


@raises("user.updated")
async def change_of_the_profile(scene: Scene) -> None:
    root, user = await scene.people()
    changes = {"name": "Augusta", "displayUsername": "Augusta", "username": "augusta", "locale": "de"}
    await scene.post("/update-user", changes, by=user)
    data = await scene.only("user.updated")
    assert (data["actorId"], data["changed"]) == (user.id, ["displayUsername", "locale", "name", "username"])
    assert data["user"]["name"] == "Augusta"

    await scene.post("/admin/update-user", {"userId": user.id, "data": {"image": None}}, by=root)
    assert (await scene.only("user.updated"))["changed"] == ["image"]
    await scene.post("/admin/set-role", {"userId": user.id, "role": "admin"}, by=root)
    data = await scene.only("user.updated")
    assert (data["actorId"], data["changed"]) == (root.id, ["role"])


@raises("user.deleted")
async def deletion(scene: Scene) -> None:
    root, user = await scene.people()
    await scene.post("/admin/remove-user", {"userId": user.id}, by=root)
    assert await scene.only("user.deleted") == {"user": {"id": user.id}, "actorId": root.id}

    ada = await add_person(scene.service, email=ADA)
    await scene.post("/delete-user", {"password": PASSWORD}, by=ada)
    assert await scene.only("user.deleted") == {"user": {"id": ada.id}, "actorId": ada.id}


@raises("user.unproven_access_removed", "user.email_verified")
async def first_proof_of_a_mailbox(scene: Scene) -> None:
    ada = await add_person(scene.service, email=ADA)
    await scene.post("/api-key/create", {}, by=ada)
    await scene.read()
    assert (await open_link(scene.service, await link_to(scene.service))).status_code == 200

    events = {event["type"]: event["data"] for event in await scene.read()}
    assert set(events) == {
        "user.email_verified", "user.unproven_access_removed", "session.revoked", "session.created"
    }  # fmt: skip
    user = {**shown(ada), "emailVerified": True}
    assert events["user.email_verified"] == {"user": user, "actorId": None}
    counts = events["user.unproven_access_removed"]["counts"]
    assert (counts["sessions"], counts["passwords"]) == (1, 1)
    ended = events["session.revoked"]
    assert (ended["sessionIds"], ended["all"], ended["reason"]) == ([], True, "unproven_access_removed")
    assert events["session.created"]["method"] == "magic_link"


@raises("user.email_verified")
async def verification(scene: Scene) -> None:
    root, user = await scene.people()
    await scene.post("/send-verification-email", {"email": user.email})
    await verify(scene.service, user.email)
    assert (await scene.only("user.email_verified"))["actorId"] is None

    other = await add_person(scene.service, email=EVE)
    await scene.read()
    await scene.post("/admin/update-user", {"userId": other.id, "data": {"emailVerified": True}}, by=root)
    events = {event["type"]: event["data"] for event in await scene.read()}
    assert set(events) == {"user.updated", "user.email_verified"}
    assert events["user.email_verified"]["actorId"] == root.id
    assert events["user.updated"]["changed"] == ["emailVerified"]


@raises("user.email_changed")
async def change_of_the_address(scene: Scene) -> None:
    ada = await add_verified(scene.service, ADA)
    token = await change_token(scene.service, ada.headers)
    await scene.read()
    answer = await scene.service.get("/verify-email", params={"token": token}, headers=ada.headers)
    assert answer.status_code == 200

    data = await scene.only("user.email_changed")
    assert (data["previousEmail"], data["user"]["email"], data["actorId"]) == (ADA, NEW_ADDRESS, ada.id)


@raises("user.banned", "user.unbanned", "session.revoked")
async def ban(scene: Scene) -> None:
    root, user = await scene.people()
    await scene.post("/admin/ban-user", {"userId": user.id, "banExpiresIn": 3600}, by=root)

    events = {event["type"]: event["data"] for event in await scene.read()}
    assert set(events) == {"user.banned", "session.revoked"}
    assert events["user.banned"] == {
        "user": shown(user), "actorId": root.id, "until": "2026-01-01T13:00:00.000Z"
    }  # fmt: skip
    ended = events["session.revoked"]
    assert (len(ended["sessionIds"]), ended["all"], ended["reason"]) == (1, True, "banned")

    await scene.post("/admin/unban-user", {"userId": user.id}, by=root)
    assert await scene.only("user.unbanned") == {"user": shown(user), "actorId": root.id}
    await scene.post("/admin/ban-user", {"userId": user.id}, by=root)
    assert (await scene.only("user.banned"))["until"] is None


# --- Sessions -------------------------------------------------------------------------------------------------


@raises("session.created")
async def impersonation(scene: Scene) -> None:
    root, user = await scene.people()
    body = await scene.post("/admin/impersonate-user", {"userId": user.id}, by=root)
    data = await scene.only("session.created")
    assert (data["method"], data["actorId"], data["user"]["id"]) == ("impersonation", root.id, user.id)

    acting = Person(user.id, user.email, body["session"]["token"])
    await scene.post("/update-user", {"name": "Eve"}, by=acting)
    assert (await scene.only("user.updated"))["actorId"] == root.id
    await scene.post("/admin/stop-impersonating", by=acting)
    ended = await scene.only("session.revoked")
    assert ended["sessionIds"] == [data["sessionId"]]
    assert (ended["actorId"], ended["reason"]) == (root.id, "impersonation_ended")


@raises("session.revoked")
async def ends_of_sessions(scene: Scene) -> None:
    root, user = await scene.people()
    seen: list[tuple[str, int, bool, str | None]] = []

    async def note() -> None:
        ended = [event["data"] for event in await scene.read() if event["type"] == "session.revoked"]
        seen.extend((one["reason"], len(one["sessionIds"]), one["all"], one["actorId"]) for one in ended)

    async def open_one() -> Person:
        opened = await scene.post("/sign-in/email", {"email": user.email, "password": PASSWORD})
        return Person(user.id, user.email, opened["token"])

    other = await open_one()
    await scene.post("/sign-out", by=other)
    await note()
    await scene.post("/revoke-session", {"token": (await open_one()).token}, by=user)
    await note()
    await scene.post("/admin/revoke-user-session", {"sessionToken": (await open_one()).token}, by=root)
    await note()
    for _ in range(2):
        await open_one()
    await scene.post("/revoke-other-sessions", by=user)
    await note()
    await scene.post("/revoke-sessions", by=user)
    await note()
    await open_one()
    await scene.post("/admin/revoke-user-sessions", {"userId": user.id}, by=root)
    await note()
    await scene.post("/admin/revoke-user-sessions", {"userId": user.id}, by=root)
    await note()

    assert seen == [
        ("sign_out", 1, False, user.id),
        ("revoked", 1, False, user.id),
        ("admin", 1, False, root.id),
        ("revoked", 2, False, user.id),
        ("revoked", 1, True, user.id),
        ("admin", 1, True, root.id),
    ]


@raises("session.revoked")
async def password_that_ends_sessions(scene: Scene) -> None:
    ada = await add_verified(scene.service, ADA)
    await scene.read()
    body = {"currentPassword": PASSWORD, "newPassword": NEW_PASSWORD, "revokeOtherSessions": True}
    await scene.post("/change-password", body, by=ada)
    events = {event["type"]: event["data"] for event in await scene.read()}
    assert set(events) == {"password.changed", "session.revoked", "session.created"}
    assert (events["session.revoked"]["reason"], events["session.revoked"]["all"]) == (
        "password_changed",
        True,
    )
    assert events["session.created"]["actorId"] == ada.id


@raises("sign_in.failed")
async def failures(scene: Scene) -> None:
    ada = await add_person(scene.service, email=ADA)
    await scene.read()
    await scene.fail("/sign-in/email", {"email": ADA, "password": "a wrong one"})
    failed = await scene.only("sign_in.failed")
    assert failed == {
        "user": shown(ada), "actorId": None, "code": "INVALID_EMAIL_OR_PASSWORD", "method": "password",
        "address": "127.0.0.1",
    }  # fmt: skip
    await scene.fail("/sign-in/email", {"email": "canary@example.com", "password": "a wrong one"})
    failed = await scene.only("sign_in.failed")
    assert (failed["user"], "canary" in json.dumps(failed)) == (None, False)

    await set_user(scene.service, ADA, banned=True)
    await scene.fail("/sign-in/email", {"email": ADA, "password": PASSWORD})
    assert (await scene.only("sign_in.failed"))["code"] == "BANNED_USER"
    await set_user(scene.service, ADA, banned=False)
    await scene.post("/email-otp/send-verification-otp", {"email": ADA, "type": "sign-in"})
    await scene.fail("/sign-in/email-otp", {"email": ADA, "otp": "000000"})
    failed = await scene.only("sign_in.failed")
    assert (failed["code"], failed["method"]) == ("INVALID_OTP", "email_otp")


@raises("sign_in.failed")
async def failure_at_a_provider(scene: Scene) -> None:
    flow = await provider_steps.begin(scene.service)
    back = f"/callback/test?error=access_denied&state={flow.state}"
    await provider_steps.deliver(scene.service, back, flow)

    failed = await scene.only("sign_in.failed")
    assert (failed["user"], failed["code"], failed["method"]) == (None, "access_denied", "oauth:test")


# --- Passwords ------------------------------------------------------------------------------------------------


@raises("password.changed")
async def change_of_the_password(scene: Scene) -> None:
    root, user = await scene.people()
    body = {"currentPassword": PASSWORD, "newPassword": NEW_PASSWORD}
    await scene.post("/change-password", body, by=user)
    assert await scene.only("password.changed") == {
        "user": shown(user),
        "actorId": user.id,
        "method": "change",
    }

    await scene.post("/admin/set-user-password", {"userId": user.id, "newPassword": PASSWORD}, by=root)
    events = {event["type"]: event["data"] for event in await scene.read()}
    assert events["password.changed"] == {"user": shown(user), "actorId": root.id, "method": "admin"}
    assert events["session.revoked"]["reason"] == "password_changed"


@raises("password_reset.completed")
async def reset(scene: Scene) -> None:
    ada = await add_verified(scene.service, ADA)
    token = await reset_token(scene.service)
    await scene.read()
    await scene.post("/reset-password", {"token": token, "newPassword": NEW_PASSWORD})
    events = {event["type"]: event["data"] for event in await scene.read()}
    user = {**shown(ada), "emailVerified": True}
    assert events["password_reset.completed"] == {"user": user, "actorId": None, "method": "link"}
    assert events["session.revoked"]["reason"] == "password_reset"

    code = await code_for(scene.service, kind="forget-password")
    await scene.post("/email-otp/reset-password", {"email": ADA, "otp": code, "password": PASSWORD})
    assert (await scene.only("password_reset.completed"))["method"] == "email_otp"


# --- The second factor ----------------------------------------------------------------------------------------


@raises("two_factor.enabled", "two_factor.disabled")
async def second_factor_on_and_off(scene: Scene) -> None:
    owner = await second_factor.enrol(scene.service)
    assert (await scene.only("two_factor.enabled"))["method"] == "totp"
    await scene.post("/two-factor/disable", {"password": PASSWORD}, headers=owner.session)
    assert (await scene.only("two_factor.disabled"))["method"] is None
    await scene.post("/two-factor/enable", {"password": PASSWORD, "method": "otp"}, headers=owner.session)
    assert (await scene.only("two_factor.enabled"))["method"] == "otp"


@raises("two_factor.locked", "sign_in.failed")
async def wrong_codes(scene: Scene) -> None:
    owner = await second_factor.enrol(scene.service)
    await scene.read()
    await second_factor.lock(scene.service, owner)

    events = await scene.read()
    failed = [event["data"] for event in events if event["type"] == "sign_in.failed"]
    assert {one["method"] for one in failed} == {"totp", "otp", "backup_code"}
    [locked] = [event["data"] for event in events if event["type"] == "two_factor.locked"]
    assert (locked["method"], locked["actorId"], locked["user"]["email"]) == ("otp", None, ADA)


@raises("trusted_device.added")
async def trust(scene: Scene) -> None:
    owner = await second_factor.enrol(scene.service)
    await second_factor.trusted_device(scene.service, owner)
    assert (await scene.only("trusted_device.added"))["method"] == "backup_code"


# --- Ways to sign in ------------------------------------------------------------------------------------------


@raises("account.linked", "account.unlinked", "user.created")
async def accounts_of_providers(scene: Scene) -> None:
    provider_steps.as_user(scene.provider, ADA, "1001", email_verified=True)
    session = await provider_steps.enter(scene.service)
    events = {event["type"]: event["data"] for event in await scene.read()}
    assert events["user.created"]["method"] == "oauth:test"
    assert (events["account.linked"]["providerId"], events["account.linked"]["actorId"]) == ("test", None)

    provider_steps.as_user(scene.provider, ADA, "77")
    await provider_steps.link(scene.service, session, "plain")
    user = await user_of(scene.service, session)
    data = await scene.only("account.linked")
    assert (data["providerId"], data["actorId"]) == ("plain", user["id"])
    await scene.post("/unlink-account", {"providerId": "plain"}, headers=session)
    data = await scene.only("account.unlinked")
    assert (data["providerId"], data["actorId"]) == ("plain", user["id"])


@raises("sso.signed_in", "sso.identity_linked", "session.revoked")
async def organizations_sign_in(scene: Scene) -> None:
    provider = scene.provider
    provider_steps.as_user(provider, "ada@acme.example", "acme-1")
    await sso_steps.connect(scene.service, sso_steps.oidc(provider), provider.issuer)
    await sso_steps.enter(scene.service)
    events = {event["type"]: event["data"] for event in await scene.read()}
    assert (events["sso.signed_in"]["providerId"], events["sso.signed_in"]["isNew"]) == ("acme", True)
    assert events["sso.identity_linked"]["user"]["email"] == "ada@acme.example"

    event = "http://schemas.openid.net/event/backchannel-logout"
    claims: dict[str, Any] = {"events": {event: {}}, "jti": "t1", "sub": "acme-1", "nonce": None}
    token = provider.mint(claims=claims, header={"typ": "logout+jwt"})
    await scene.service.client.post("/sso/backchannel-logout/acme", data={"logout_token": token})
    assert (await scene.only("session.revoked"))["reason"] == "provider_sign_out"


@raises("passkey.added", "passkey.removed", "sign_in.failed")
async def passkeys(scene: Scene) -> None:
    session, device = await join(scene.service), Authenticator()
    scene.service.client.cookies.clear()
    await scene.read()
    added = await passkey_steps.add(scene.service, session, device, name="Laptop")
    data = await scene.only("passkey.added")
    assert (data["passkeyId"], data["name"], data["actorId"]) == (added["id"], "Laptop", data["user"]["id"])
    assert data["deviceType"] == added["deviceType"]

    device.counter = 0
    await passkey_steps.use(scene.service, device)
    await scene.read()
    await scene.post(passkey_steps.DELETE, {"id": added["id"]}, headers=session)
    data = await scene.only("passkey.removed")
    assert (data["passkeyId"], data["name"], data["deviceType"]) == (
        added["id"],
        "Laptop",
        added["deviceType"],
    )


@raises("signing_key.created", "signing_key.revoked")
async def signing_keys(scene: Scene) -> None:
    root, _ = await scene.people()
    before = {key["kid"] for key in (await scene.service.get("/jwks")).json()["keys"]}
    body = await scene.post("/admin/rotate-signing-key", {"algorithm": "ES256"}, by=root)
    [new] = {key["id"] for key in body["keys"]} - before
    assert await scene.only("signing_key.created") == {"actorId": root.id, "kid": new}
    await scene.post("/admin/revoke-signing-key", {"keyId": new}, by=root)
    assert await scene.only("signing_key.revoked") == {"actorId": root.id, "kid": new}


@raises("oauth.refresh_reused")
async def reused_refresh_tokens(scene: Scene) -> None:
    ada = await add_person(scene.service, email=ADA)
    grant_types = ["authorization_code", "refresh_token"]
    client = await add_client(scene.service, grant_types=grant_types, scope="email offline_access")
    issued = await oauth_codes.first_tokens(scene.service, client, ada.headers, "email offline_access")
    await oauth_codes.refresh(scene.service, client, issued["refresh_token"])
    await scene.read()
    scene.service.clock.advance(minutes=1)
    answer = await oauth_codes.refresh(scene.service, client, issued["refresh_token"])
    assert oauth_codes.error(answer) == "400 invalid_grant"
    assert await scene.only("oauth.refresh_reused") == {
        "user": shown(ada),
        "actorId": None,
        "clientId": client.client_id,
    }


# --- Organizations --------------------------------------------------------------------------------------------


@raises("organization.created", "organization.updated", "organization.deleted", "member.added")
async def organizations(scene: Scene) -> None:
    ada = await add_person(scene.service, email=ADA)
    await scene.read()
    made = await scene.post("/organization/create", {"name": "Acme", "slug": "acme"}, by=ada)
    events = {event["type"]: event["data"] for event in await scene.read()}
    acme = {"id": made["id"], "name": "Acme", "slug": "acme"}
    assert events["organization.created"] == {"organization": acme, "actorId": ada.id}
    assert (events["member.added"]["user"], events["member.added"]["role"]) == (shown(ada), "owner")
    assert events["member.added"]["organizationId"] == made["id"]

    body = {"organizationId": made["id"], "data": {"name": "Acme Ltd", "metadata": {"a": 1}}}
    await scene.post("/organization/update", body, by=ada)
    data = await scene.only("organization.updated")
    assert data == {
        "organization": {**acme, "name": "Acme Ltd"}, "actorId": ada.id, "changed": ["metadata", "name"]
    }  # fmt: skip
    await scene.post("/organization/delete", {"organizationId": made["id"]}, by=ada)
    assert await scene.only("organization.deleted") == {"organization": {"id": made["id"]}, "actorId": ada.id}


@raises("member.added", "member.role_changed", "member.removed")
async def members(scene: Scene) -> None:
    company = await scene.company()
    added = await company.add(company.outsider)
    data = await scene.only("member.added")
    about = {"organizationId": company.id, "memberId": added["id"], "user": shown(company.outsider)}
    assert data == {**about, "role": "member", "actorId": company.keeper.id}

    await company.post(company.owner, "update-member-role", memberId=added["id"], role=["admin", "member"])
    data = await scene.only("member.role_changed")
    assert data == {
        **about, "role": data["role"], "previousRole": "member", "actorId": company.owner.id
    }  # fmt: skip
    assert set(data["role"].split(",")) == {"admin", "member"}
    await company.post(company.owner, "remove-member", memberIdOrEmail=added["id"])
    assert await scene.only("member.removed") == {**about, "role": data["role"], "actorId": company.owner.id}
    await company.post(company.member, "leave")
    data = await scene.only("member.removed")
    assert (data["user"], data["actorId"]) == (shown(company.member), company.member.id)


@raises("invitation.created", "invitation.accepted", "invitation.rejected", "invitation.cancelled")
async def invitations(scene: Scene) -> None:
    company, bob = await scene.company(), await add_verified(scene.service, BOB)
    await scene.read()

    async def invite() -> dict[str, Any]:
        invited = await company.invite()
        data = await scene.only("invitation.created")
        about = {"organizationId": company.id, "invitationId": invited["id"], "email": BOB, "role": "member"}
        assert data == {**about, "status": "pending", "actorId": company.owner.id}
        return about

    for path, by, status in (
        ("cancel-invitation", company.owner, "canceled"),
        ("reject-invitation", bob, "rejected"),
        ("accept-invitation", bob, "accepted"),
    ):
        about = await invite()
        await scene.post(f"/organization/{path}", {"invitationId": about["invitationId"]}, by=by)
        events = {event["type"]: event["data"] for event in await scene.read()}
        type_ = {"canceled": "cancelled"}.get(status, status)
        assert events.pop(f"invitation.{type_}") == {**about, "status": status, "actorId": by.id}
        assert list(events) == (["member.added"] if status == "accepted" else [])


@raises(
    "scim.user_created", "scim.user_updated", "scim.user_disabled", "scim.user_enabled", "scim.user_removed"
)
async def directory_users(scene: Scene) -> None:
    company = await scene.company()
    directory = await add_directory(scene.service, company.id)
    about = {"actorId": None, "providerId": "acme", "organizationId": company.id}
    made = await directory.create("ada@example.com")
    assert {**await scene.only("scim.user_created"), "user": None} == {**about, "user": None}
    await directory.change(f"/Users/{made['id']}", {"op": "add", "path": "title", "value": "Countess"})
    assert (await scene.only("scim.user_updated"))["changed"] == ["attributes"]
    for active, name in ((False, "disabled"), (True, "enabled")):
        await directory.set_active(made["id"], active)
        assert (await scene.only(f"scim.user_{name}"))["user"]["id"] == made["id"]
    await directory.send("DELETE", f"/Users/{made['id']}")
    assert (await scene.only("scim.user_removed"))["user"]["id"] == made["id"]


@raises("scim.group_changed", "scim.stopped")
async def directory_groups(scene: Scene) -> None:
    company = await scene.company()
    directory = await add_directory(scene.service, company.id)
    about = {"actorId": None, "providerId": "acme", "organizationId": company.id}
    staff = (await directory.send("POST", "/Groups", group("Staff"))).json()
    assert await scene.only("scim.group_changed") == {**about, "teamId": staff["id"], "change": "created"}
    ids = [(await directory.create(f"u{number}@example.com"))["id"] for number in range(FEWEST_GUARDED)]
    await scene.read()
    for id_ in ids[: FEWEST_GUARDED // 2 + 1]:
        await directory.set_active(id_, False)
    stopped = {"disabled": FEWEST_GUARDED // 2, "members": FEWEST_GUARDED}
    assert await scene.only("scim.stopped") == {**about, **stopped}


@raises("team.created", "team.updated", "team.deleted", "team_member.added", "team_member.removed")
async def teams(scene: Scene) -> None:
    company = await scene.company()
    team = await company.team()
    about = {"organizationId": company.id, "actorId": company.owner.id}
    sales = {"id": team["id"], "name": "Sales"}
    assert await scene.only("team.created") == {**about, "team": sales}
    change = {"teamId": team["id"], "data": {"name": "Support"}}
    await company.service.post("/organization/update-team", change, headers=company.owner.headers)
    support = {**sales, "name": "Support"}
    assert await scene.only("team.updated") == {**about, "team": support}

    member = {**about, "teamId": team["id"], "user": shown(company.member)}
    body = {"teamId": team["id"], "userId": company.member.id}
    await company.service.post("/organization/add-team-member", body, headers=company.owner.headers)
    assert await scene.only("team_member.added") == member
    await company.service.post("/organization/remove-team-member", body, headers=company.owner.headers)
    assert await scene.only("team_member.removed") == member
    await company.post(company.owner, "remove-team", teamId=team["id"])
    assert await scene.only("team.deleted") == {**about, "team": support}


@raises("webhook.test")
async def trial_of_an_endpoint(scene: Scene) -> None:
    root, _ = await scene.people()
    [endpoint] = await scene.service.rows("SELECT id FROM webhook_endpoint")
    await scene.post("/webhooks/send-test", {"id": endpoint.id}, by=root)
    assert await scene.only("webhook.test") == {"actorId": root.id, "endpointId": endpoint.id}


# --- The cases ------------------------------------------------------------------------------------------------


@pytest.fixture
async def scene(make_service: MakeService, provider: ProviderProcess) -> Scene:
    """A service with an endpoint for every event."""
    service = await make_service({**EVENTS, **social_settings(provider)})
    await service.services.port[SigningKeyStore].prepare()
    scene = Scene(service, provider)
    await add_endpoint(service, RECEIVER, events=ALL)
    return scene


@pytest.mark.parametrize("act", list(acts()))
async def test_an_operation_raises_its_events(scene: Scene, act: Act) -> None:
    await act(scene)


@pytest.mark.both_databases
@pytest.mark.threat("WH21")
async def test_a_deleted_user_leaves_no_payload(scene: Scene) -> None:
    """Neither in what happened before, nor in what the deletion itself causes."""
    root, user = await add_person(scene.service, "admin"), await add_person(scene.service, email=ADA)
    await scene.post("/organization/create", {"name": "Acme", "slug": "acme"}, by=user)
    before = len(await events_of(scene.service))
    await scene.post("/admin/remove-user", {"userId": user.id}, by=root)

    events = await events_of(scene.service)
    about = [event for event in events if event["data"].get("user", {}).get("id") == user.id]
    assert [(event["type"], event["data"]["user"]) for event in about] == [("user.deleted", {"id": user.id})]
    assert ADA not in json.dumps(events)
    assert (before, [event["type"] for event in events].count("organization.deleted")) == (8, 1)


@pytest.mark.threat("WH21")
async def test_the_address_of_a_deleted_user_is_not_left_in_invitations(scene: Scene) -> None:
    root, user = await add_person(scene.service, "admin"), await add_verified(scene.service, ADA)
    company = await found_company(scene.service)
    invited = await company.invite(ADA)
    await scene.post("/organization/cancel-invitation", {"invitationId": invited["id"]}, by=company.owner)
    before = [event["type"] for event in await events_of(scene.service) if ADA in json.dumps(event)]
    assert {"invitation.created", "invitation.cancelled"} <= set(before)
    await scene.post("/admin/remove-user", {"userId": user.id}, by=root)

    assert ADA not in json.dumps(await events_of(scene.service))


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
@pytest.mark.threat("WH21")
async def test_an_event_that_is_written_during_the_deletion_is_erased(make_service: MakeService) -> None:
    """The lock of a user lets rows that refer to the user be inserted, so the deletion needs another one."""
    service = await make_service(EVENTS)
    await add_endpoint(service, RECEIVER, events=["user.updated"])
    root, user = await add_person(service, "admin"), await add_person(service, email=ADA)
    async with service.services.database.begin() as db:
        now = {"created_at": service.clock.now, "updated_at": service.clock.now}
        sealed = service.services.cipher.encrypt(PAYLOAD, "about Ada")
        more = {
            "type": "user.updated",
            "payload": sealed,
            "user_id": user.id,
            "expires_at": service.clock.now,
        }
        await db.execute(ADD_EVENT, id=tokens.token(), **more, **now)
        deleting = asyncio.create_task(
            service.post("/admin/remove-user", {"userId": user.id}, headers=root.headers)
        )
        await until_blocked(service)
        await db.commit()

    assert (await deleting).status_code == 200
    [row] = await service.rows("SELECT user_id, payload FROM webhook_event")
    assert (row.user_id, row.payload) == (None, None)


@pytest.mark.parametrize(
    ("subscriptions", "expected"),
    [
        (("*",), ["session.created", "user.created"]),
        (("user.*",), ["user.created"]),
        (("session.created", "user.banned"), ["session.created"]),
        (("sign_in.failed",), ["sign_in.failed"]),
        (("sign_in.*",), []),
        (("team.*",), []),
        ((), []),
    ],
)
async def test_an_endpoint_receives_what_it_subscribes_to(
    make_service: MakeService, subscriptions: tuple[str, ...], expected: list[str]
) -> None:
    service = await make_service(EVENTS)
    if subscriptions:
        await add_endpoint(service, RECEIVER, events=subscriptions)
    await add_endpoint(service, RECEIVER, events=ALL, state="paused")
    await add_endpoint(service, RECEIVER, events=ALL, state="disabled")
    await join(service)
    await sign_in(service, password="a wrong one")

    assert sorted(event["type"] for event in await events_of(service)) == expected
    assert len(await deliveries(service)) == len(expected)


async def test_each_subscribed_endpoint_has_a_delivery_of_the_same_event(make_service: MakeService) -> None:
    service = await make_service(EVENTS)
    ids = {await add_endpoint(service, RECEIVER, events=events) for events in (["user.*"], ["user.created"])}
    await join(service)

    found = await deliveries(service)
    assert {row.endpoint_id for row in found} == ids
    assert len({row.event_id for row in found}) == len(await events_of(service)) == 1


async def test_nothing_is_written_while_webhooks_are_off(make_service: MakeService) -> None:
    service = await make_service({**EVENTS, "webhooks.enabled": "false"})
    await add_endpoint(service, RECEIVER, events=ALL)
    await join(service)
    await sign_in(service, password="a wrong one")

    assert await service.rows("SELECT id FROM webhook_event") == []


@pytest.mark.both_databases
async def test_what_is_rolled_back_has_no_event(make_service: MakeService) -> None:
    service = await make_service(EVENTS)
    await add_endpoint(service, RECEIVER, events=ALL)
    ada = await join(service)
    await execute(service, "DELETE FROM webhook_event")
    user = await user_of(service, ada)

    async def refused(ctx: Context) -> None:
        await ctx.db.execute(SELECT_USER)
        publish(ctx, WEBHOOK_UPDATED, user_id=user["id"], changed=["name"])
        raise errors.NotFound

    async def broken(ctx: Context) -> None:
        publish(ctx, WEBHOOK_UPDATED, user_id=user["id"], changed=["name"])
        raise ZeroDivisionError

    for job, error in ((refused, errors.NotFound), (broken, ZeroDivisionError)):
        with pytest.raises(error):
            await service.services.unit_of_work.run(job)
    taken = await service.post("/change-email", {"newEmail": ADA}, headers=ada)

    assert taken.status_code == 400
    assert await events_of(service) == []


@pytest.mark.parametrize(
    "name", ['line\nbreak\r\n"quoted" \\ and \u2028 \u2029', "\U0001f600" * 256, "</script>\t\x7f"]
)
@pytest.mark.threat("WH16")
async def test_any_name_makes_valid_json(make_service: MakeService, name: str) -> None:
    service = await make_service(EVENTS)
    await add_endpoint(service, RECEIVER, events=["user.*"])
    created = await service.post("/sign-up/email", {"name": name, "email": ADA, "password": PASSWORD})
    if created.status_code == 400:
        # A sign-up takes no such name, but an import may have stored it.
        session = await join(service)
        await execute(service, "DELETE FROM webhook_event")
        await set_user(service, ADA, name=name)
        await service.post("/update-user", {"locale": "de"}, headers=session)

    [event] = await events_of(service)
    [row] = await service.rows('SELECT name FROM "user"')
    assert event["data"]["user"]["name"] == row.name


async def test_a_payload_that_would_be_too_large_has_only_the_id(make_service: MakeService) -> None:
    service = await make_service({**EVENTS, "webhooks.user_fields": '["id", "image", "createdAt"]'})
    await add_endpoint(service, RECEIVER, events=["user.updated"])
    session = await join(service)
    await service.post("/update-user", {"name": "Augusta"}, headers=session)
    [small] = await events_of(service)
    await execute(service, "DELETE FROM webhook_event")
    user = await user_of(service, session)
    await set_user(service, ADA, image="https://example.com/" + "x" * 20_480)
    await service.post("/update-user", {"name": "Augusta"}, headers=session)

    [large] = await events_of(service)
    assert small["data"]["user"] == {"id": user["id"], "image": None, "createdAt": user["createdAt"]}
    assert large["data"]["user"] == {"id": user["id"]}


async def test_many_sessions_are_listed_in_several_events_or_not_at_all(make_service: MakeService) -> None:
    service = await make_service({**EVENTS, "session.max_per_user": "0"})
    ada = await join(service)
    user = await user_of(service, ada)
    await add_endpoint(service, RECEIVER, events=["session.revoked"])

    async def add(number: int) -> None:
        owner = rows.user("ada", id=user["id"])
        added = [rows.session(owner, tokens.token()) for _ in range(number)]
        await rows.add(service.services.database, *added)

    await add(101)
    await service.post("/revoke-other-sessions", headers=ada)
    others = [event["data"] for event in await events_of(service)]
    await execute(service, "DELETE FROM webhook_event")
    await add(101)
    await service.post("/revoke-sessions", headers=ada)
    [every] = [event["data"] for event in await events_of(service)]

    assert sorted(len(one["sessionIds"]) for one in others) == [1, 100]
    assert [one["all"] for one in others] == [False, False]
    assert (every["sessionIds"], every["all"]) == ([], True)


async def test_an_import_sends_nothing(make_service: MakeService) -> None:
    service = await make_service(EVENTS)
    await add_endpoint(service, RECEIVER, events=ALL)
    imported = ImportedUser(id="1", email=ADA, name="Ada")
    [outcome] = await service.services.unit_of_work.run(lambda ctx: store.add(ctx, [imported]))

    assert (outcome.outcome, await events_of(service)) == (Outcome.IMPORTED, [])


async def test_a_ban_that_has_expired_has_no_event(make_service: MakeService) -> None:
    service = await make_service(EVENTS)
    await join(service)
    await set_user(service, ADA, banned=True, ban_expires=service.clock.now)
    service.clock.advance(seconds=1)
    await add_endpoint(service, RECEIVER, events=ALL)

    assert (await sign_in(service)).status_code == 200
    assert [event["type"] for event in await events_of(service)] == ["session.created"]


async def test_members_added_directly_settle_their_invitation(make_service: MakeService) -> None:
    service = await make_service(EVENTS)
    company, bob = await found_company(service), await add_verified(service, BOB)
    invited = await company.invite()
    await add_endpoint(service, RECEIVER, events=["invitation.*"])
    await company.add(bob)

    [event] = await events_of(service)
    assert (event["type"], event["data"]["invitationId"]) == ("invitation.accepted", invited["id"])
    assert (event["data"]["status"], event["data"]["actorId"]) == ("accepted", company.keeper.id)


async def test_the_oldest_sessions_above_the_limit_are_listed(make_service: MakeService) -> None:
    service = await make_service({**EVENTS, "session.max_per_user": "1"})
    await join(service)
    await add_endpoint(service, RECEIVER, events=["session.revoked"])
    [old] = await service.rows("SELECT id FROM session")
    await sign_in(service)

    [event] = await events_of(service)
    assert (event["data"]["sessionIds"], event["data"]["reason"]) == ([old.id], "session_limit")


async def test_the_operator_is_no_actor(make_service: MakeService) -> None:
    service = await make_service(EVENTS)
    await add_endpoint(service, RECEIVER, events=ALL)
    await join(service)
    await service.services.unit_of_work.run(lambda ctx: operator.verify_email(ctx, ADA))
    await execute(service, "DELETE FROM webhook_event")
    await service.services.unit_of_work.run(lambda ctx: operator.set_role(ctx, ADA, "admin"))
    await service.services.unit_of_work.run(operator.sign_out_everyone)

    events = {event["type"]: event["data"] for event in await events_of(service)}
    assert events["user.updated"]["actorId"] is None
    ended: dict[str, Any] = {"user": None, "actorId": None, "sessionIds": [], "all": True, "reason": "admin"}
    assert events["session.revoked"] == ended


OF_CONNECTIONS = {
    *("sso.connection_created", "sso.connection_updated", "sso.connection_paused", "sso.connection_deleted"),
    *("sso.domain_verified", "sso.domain_lost"),
}
"""Events that tests/handlers/test_sso.py raises, because they need a name server."""


def test_every_declared_event_has_a_case_and_a_schema() -> None:
    assert set(CASES) | OF_CONNECTIONS == set(WEBHOOK_EVENTS)
    assert set(webhooks.schemas(contract())) == set(WEBHOOK_EVENTS)
