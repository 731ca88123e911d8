"""Back-channel logout: what clients are told of the end of sessions, when, and how often."""

import asyncio
import json
from typing import Any
from urllib.parse import parse_qs

import pytest
from joserfc import jws
from joserfc.jwk import KeySet

from domain.admin import operator
from domain.backchannel_logout.session_ids import sid_of
from server.oauth.logout_queue import CLIENT_CONCURRENCY
from tests.conftest import Headers, MakeService, SignIn
from tests.handlers.mailed import BY_MAIL, link_to, open_link
from tests.handlers.people import add_person
from tests.handlers.steps import ADA, NEW_PASSWORD, execute, reset_token, sign_in
from tests.oauth import OAuthTestClient, add_client
from tests.oauth_logout import add_grant, session_of
from tests.receiver import Receiver, hang, redirect, respond
from tests.service import PASSWORD, START, Service

EVENT = "http://schemas.openid.net/event/backchannel-logout"
SETTINGS = {**BY_MAIL, "delete_user.enabled": "true", "session.list_tokens": "true"}


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    """A service with every way to end sessions."""
    return await make_service(SETTINGS)


@pytest.fixture
async def ada(sign_up: SignIn) -> Headers:
    """The session of a user."""
    return await sign_up(ADA)


async def listening(
    service: Service, receiver: Receiver, *sessions: Headers, **columns: Any
) -> OAuthTestClient:
    """Enter a client that wants to be told of the end of these sessions."""
    client = await add_client(service, backchannel_logout_uri=receiver.url())
    for headers in sessions:
        await add_grant(service, client.client_id, await session_of(service, headers), **columns)
    return client


async def attempt(service: Service) -> None:
    """Attempt what is due."""
    await service.services.worker.drain()


async def waiting(service: Service) -> list[Any]:
    """Return what clients are still to be told."""
    return await service.rows("SELECT * FROM logout_delivery ORDER BY created_at, id")


async def outcomes(service: Service) -> list[tuple[str, str | None]]:
    """Return the audit events, each with its reason."""
    rows = await service.rows("SELECT event, details FROM audit WHERE event LIKE 'logout.%'")
    details = [row.details if isinstance(row.details, dict) else json.loads(row.details) for row in rows]
    return [(row.event, one.get("reason")) for row, one in zip(rows, details, strict=True)]


async def told(service: Service, receiver: Receiver) -> list[dict[str, Any]]:
    """Return the claims of the logout tokens that the receiver got, each verified with the published keys."""
    await attempt(service)
    keys = KeySet.import_key_set((await service.get("/jwks")).json())
    claims = []
    for request in receiver.requests:
        assert request.headers["content-type"] == "application/x-www-form-urlencoded"
        [(name, [token])] = parse_qs(request.body.decode(), strict_parsing=True).items()
        signed = jws.deserialize_compact(token, keys, algorithms=["ES256"])
        assert (name, signed.protected["typ"]) == ("logout_token", "logout+jwt")
        claims.append(json.loads(signed.payload))
    return claims


class TestToken:
    @pytest.mark.both_databases
    async def test_it_names_the_session_as_the_client_knows_it(self, service: Service, ada: Headers) -> None:
        async with Receiver() as receiver:
            client = await listening(service, receiver, ada)
            session = await session_of(service, ada)
            await service.post("/sign-out", headers=ada)

            [claims] = await told(service, receiver)

        now = int(service.clock.now.timestamp())
        assert len(claims.pop("jti")) == 32
        assert claims == {
            "iss": "http://localhost:8000",
            "aud": client.client_id,
            "sub": session["userId"],
            "sid": sid_of(service.services.cipher, client.client_id, session["id"]),
            "iat": now,
            "exp": now + 120,
            "events": {EVENT: {}},
        }
        assert (await waiting(service), await outcomes(service)) == ([], [("logout.delivered", None)])

    async def test_each_attempt_has_a_token_of_its_own(self, service: Service, ada: Headers) -> None:
        async with Receiver() as receiver:
            receiver.script += [respond(503)]
            await listening(service, receiver, ada)
            await service.post("/sign-out", headers=ada)
            await attempt(service)
            service.clock.advance(seconds=73)

            first, second = await told(service, receiver)

        assert first["jti"] != second["jti"]
        assert second["iat"] - first["iat"] == 73

    @pytest.mark.threat("O24")
    async def test_two_clients_cannot_compare_sessions(self, service: Service, ada: Headers) -> None:
        async with Receiver() as receiver:
            await listening(service, receiver, ada)
            await listening(service, receiver, ada)
            session = await session_of(service, ada)
            await service.post("/sign-out", headers=ada)

            first, second = await told(service, receiver)

        assert len({first["sid"], second["sid"], session["id"]}) == 3


class Acts:
    """The acts that end the session of `ada`; `other` is another session of the same user, `eve` an administrator's."""

    def __init__(self, service: Service, ada: Headers, other: Headers, eve: Headers, user_id: str) -> None:
        self.service = service
        self.ada, self.other, self.eve, self.user_id = ada, other, eve, user_id

    async def _post(self, path: str, body: Any = None, headers: Headers | None = None) -> None:
        answer = await self.service.post(path, body, headers=headers)
        assert answer.status_code == 200, answer.text

    async def sign_out(self) -> None:
        await self._post("/sign-out", headers=self.ada)

    async def sign_out_by_cookie(self) -> None:
        token = self.ada["Authorization"].removeprefix("Bearer ")
        cookie = {"Cookie": f"service.session-token={token}"}
        await self._post("/sign-out", headers={**cookie, **self.eve})

    async def revoke(self) -> None:
        token = self.ada["Authorization"].removeprefix("Bearer ")
        await self._post("/revoke-session", {"token": token}, self.other)

    async def revoke_all(self) -> None:
        await self._post("/revoke-sessions", headers=self.other)

    async def revoke_others(self) -> None:
        await self._post("/revoke-other-sessions", headers=self.other)

    async def change_password(self) -> None:
        body = {"currentPassword": PASSWORD, "newPassword": NEW_PASSWORD, "revokeOtherSessions": True}
        await self._post("/change-password", body, self.other)

    async def reset_password(self) -> None:
        token = await reset_token(self.service)
        await self._post("/reset-password", {"newPassword": NEW_PASSWORD, "token": token})

    async def prove_mailbox(self) -> None:
        """Of an address that was never verified."""
        await open_link(self.service, await link_to(self.service))

    async def delete_user(self) -> None:
        await self._post("/delete-user", {"password": PASSWORD}, self.other)

    async def revoke_by_admin(self) -> None:
        session = await session_of(self.service, self.ada)
        await self._post("/admin/revoke-user-session", {"sessionToken": f"rvk_{session['id']}"}, self.eve)

    async def revoke_all_by_admin(self) -> None:
        await self._post("/admin/revoke-user-sessions", {"userId": self.user_id}, self.eve)

    async def ban(self) -> None:
        await self._post("/admin/ban-user", {"userId": self.user_id}, self.eve)

    async def set_password(self) -> None:
        body = {"userId": self.user_id, "newPassword": NEW_PASSWORD}
        await self._post("/admin/set-user-password", body, self.eve)

    async def remove_user(self) -> None:
        await self._post("/admin/remove-user", {"userId": self.user_id}, self.eve)

    async def sign_out_everyone(self) -> None:
        await self.service.services.unit_of_work.run(operator.sign_out_everyone)


ACTS = [name for name in vars(Acts) if not name.startswith("_")]


class TestEndOfSessions:
    @pytest.mark.parametrize("act", ACTS)
    async def test_a_client_is_told_of_every_act(self, service: Service, ada: Headers, act: str) -> None:
        other = {"Authorization": f"Bearer {(await sign_in(service)).json()['token']}"}
        eve = (await add_person(service, "admin")).headers
        service.client.cookies.clear()
        async with Receiver() as receiver:
            client = await listening(service, receiver, ada)
            session = await session_of(service, ada)
            acts = Acts(service, ada, other, eve, session["userId"])

            await getattr(acts, act)()
            claims = await told(service, receiver)

        assert [(one["sub"], one["sid"]) for one in claims] == [
            (session["userId"], sid_of(service.services.cipher, client.client_id, session["id"]))
        ]

    async def test_the_oldest_session_above_the_limit_is_one(self, make_service: MakeService) -> None:
        service = await make_service({"session.max_per_user": "1"})
        body = {"name": "Ada", "email": ADA, "password": PASSWORD}
        token = (await service.post("/sign-up/email", body)).json()["token"]
        service.client.cookies.clear()
        async with Receiver() as receiver:
            await listening(service, receiver, {"Authorization": f"Bearer {token}"})
            service.clock.advance(seconds=1)
            await sign_in(service)

            assert len(await told(service, receiver)) == 1

    @pytest.mark.parametrize(
        "columns", [{"offline": True}, {"revoked_at": START}], ids=["offline", "revoked"]
    )
    async def test_a_revoked_or_offline_grant_counts(
        self, service: Service, ada: Headers, columns: dict[str, Any]
    ) -> None:
        async with Receiver() as receiver:
            await listening(service, receiver, ada, **columns)
            await service.post("/sign-out", headers=ada)

            assert len(await told(service, receiver)) == 1

    async def test_several_grants_of_a_session_are_told_once(self, service: Service, ada: Headers) -> None:
        async with Receiver() as receiver:
            await listening(service, receiver, ada, ada)
            await service.post("/sign-out", headers=ada)

            assert len(await told(service, receiver)) == 1

    async def test_another_session_is_none_of_it(self, service: Service, ada: Headers) -> None:
        other = {"Authorization": f"Bearer {(await sign_in(service)).json()['token']}"}
        service.client.cookies.clear()
        async with Receiver() as receiver:
            await listening(service, receiver, ada)
            await service.post("/sign-out", headers=other)

            assert await told(service, receiver) == []

    async def test_a_session_that_expires_is_told_to_nobody(self, service: Service, ada: Headers) -> None:
        async with Receiver() as receiver:
            await listening(service, receiver, ada)
            service.clock.advance(days=30)
            await service.get("/get-session", headers=ada)

            assert await told(service, receiver) == []

    async def test_other_clients_are_told_nothing(self, service: Service, ada: Headers) -> None:
        client = await add_client(service, client_name='"backchannel_logout_uri"')
        await add_grant(service, client.client_id, await session_of(service, ada))
        async with Receiver() as receiver:
            disabled = await listening(service, receiver, ada)
            await execute(
                service,
                "UPDATE oauth_client SET disabled_at = created_at WHERE client_id = :client",
                client=disabled.client_id,
            )

            await service.post("/sign-out", headers=ada)

        assert await waiting(service) == []

    async def test_a_client_that_was_disabled_meanwhile_is_told_nothing(
        self, service: Service, ada: Headers
    ) -> None:
        async with Receiver() as receiver:
            await listening(service, receiver, ada)
            await service.post("/sign-out", headers=ada)
            await execute(service, "UPDATE oauth_client SET disabled_at = created_at")

            assert (await told(service, receiver), await waiting(service)) == ([], [])


class TestAttempts:
    async def test_there_are_three_within_ten_minutes(self, service: Service, ada: Headers) -> None:
        async with Receiver() as receiver:
            receiver.otherwise = respond(400)
            await listening(service, receiver, ada)
            await service.post("/sign-out", headers=ada)
            counts = []
            for minutes in (0, 1.21, 6.01, 2):
                service.clock.advance(minutes=minutes)
                await attempt(service)
                counts.append(len(receiver.requests))

        assert counts == [1, 2, 3, 3]
        assert (await waiting(service), await outcomes(service)) == ([], [("logout.failed", "status")])

    @pytest.mark.threat("O23")
    async def test_a_redirect_is_not_followed(self, service: Service, ada: Headers) -> None:
        async with Receiver() as inner, Receiver() as receiver:
            receiver.otherwise = redirect(307, inner.url())
            await listening(service, receiver, ada)
            await service.post("/sign-out", headers=ada)
            await attempt(service)

        assert (len(receiver.requests), inner.requests) == (1, [])

    @pytest.mark.threat("O23")
    @pytest.mark.parametrize(
        "url", ["https://169.254.169.254/", "https://10.0.0.1/", "http://localhost:8000/"]
    )
    async def test_an_internal_address_is_refused(self, service: Service, ada: Headers, url: str) -> None:
        client = await add_client(service, backchannel_logout_uri=url)
        await add_grant(service, client.client_id, await session_of(service, ada))
        await service.post("/sign-out", headers=ada)
        for minutes in (0, 1.21, 6.01):
            service.clock.advance(minutes=minutes)
            await attempt(service)

        assert await outcomes(service) == [("logout.failed", "refused_address")]

    @pytest.mark.threat("O23")
    async def test_the_sign_out_does_not_wait_for_a_client(self, service: Service, ada: Headers) -> None:
        async with Receiver() as slow, Receiver() as fast:
            slow.otherwise = hang()
            await listening(service, slow, ada)
            await listening(service, fast, ada)

            assert (await service.post("/sign-out", headers=ada)).status_code == 200
            worker = asyncio.create_task(attempt(service))
            await fast.wait_for(1)
            await slow.wait_for(1)
            assert not worker.done()
        await worker

    @pytest.mark.threat("O23")
    @pytest.mark.both_databases
    async def test_a_storm_is_bounded(self, service: Service, ada: Headers) -> None:
        """Of many sessions a slow client is told few at a time, and what it could not be told in time is dropped."""
        many = 3 * CLIENT_CONCURRENCY
        async with Receiver() as slow:
            slow.otherwise = hang()
            client = await listening(service, slow, ada)
            session = await session_of(service, ada)
            for number in range(many - 1):
                await add_grant(service, client.client_id, session, sid=f"other-{number}")
            await service.post("/delete-user", {"password": PASSWORD}, headers=ada)
            assert len(await waiting(service)) == many

            worker = asyncio.create_task(attempt(service))
            await slow.wait_for(CLIENT_CONCURRENCY)
            in_flight = [row for row in await waiting(service) if row.attempts]
            service.clock.advance(minutes=10)
        await worker

        assert len(in_flight) == CLIENT_CONCURRENCY
        assert await waiting(service) == []
        assert sorted(await outcomes(service)) == [
            *[("logout.failed", "connect")] * CLIENT_CONCURRENCY,
            *[("logout.failed", "expired")] * (many - CLIENT_CONCURRENCY),
        ]

    async def test_a_refused_act_files_nothing(self, service: Service, ada: Headers) -> None:
        async with Receiver() as receiver:
            await listening(service, receiver, ada)
            refused = await service.post("/delete-user", {"password": "wrong"}, headers=ada)
            assert refused.status_code == 400

            assert await told(service, receiver) == []


async def test_without_the_provider_nothing_is_filed(make_service: MakeService, sign_up: SignIn) -> None:
    service = await make_service({"oauth.enabled": "false"})
    ada = await sign_up(on=service)
    async with Receiver() as receiver:
        await listening(service, receiver, ada)
        await service.post("/sign-out", headers=ada)

        assert await waiting(service) == []
