"""The operations of openapi/paths/device.yaml."""

import base64
import json

import pytest
from sqlalchemy import text

from domain import tokens
from domain.oauth_clients.metadata import DEVICE_CODE
from tests.conftest import Headers, MakeService, SignIn
from tests.handlers.device_steps import (
    APPROVE,
    CODE,
    DENY,
    DEVICE,
    TOKEN,
    WRONG_CODE,
    add_television,
    approve,
    decide,
    error,
    member_error,
    poll,
    redeem,
    start,
)
from tests.handlers.steps import ADA, AT, EVE, bearer, code, join, works
from tests.oauth import OAuthTestClient, add_client
from tests.service import Service

API, FILES = "https://api.example.com", "https://files.example.com"
FORM = {"content-type": "application/x-www-form-urlencoded"}
REFRESHES = {"grant_types": [DEVICE_CODE, "refresh_token"], "scope": "openid email offline_access"}
DISABLE = text("UPDATE oauth_client SET disabled_at = created_at")


@pytest.fixture
async def ada(sign_up: SignIn) -> Headers:
    """The session of a user."""
    return await sign_up(ADA)


@pytest.fixture
async def television(service: Service) -> OAuthTestClient:
    """An application of the operator for devices, which get a session."""
    return await add_television(service)


@pytest.mark.operation("device.start")
class TestStart:
    @pytest.mark.parametrize("form", ["data", "json"])
    async def test_a_device_gets_two_codes(
        self, service: Service, television: OAuthTestClient, form: str
    ) -> None:
        sent = {"client_id": television.client_id, "scope": "openid email", "user_id": "x" * 32}

        is_form = form == "data"
        answer = await service.client.post(
            CODE, data=sent if is_form else None, json=None if is_form else sent
        )

        shape = answer.json()
        device_code, user_code = shape.pop("device_code"), shape.pop("user_code")
        page = "http://localhost:8000/account/device"
        assert shape == {
            "verification_uri": page,
            "verification_uri_complete": f"{page}?user_code={user_code}",
            "expires_in": 600,
            "interval": 5,
        }
        assert (device_code[:4], tokens.is_token(device_code[4:])) == ("gwd_", True)
        assert set(user_code.replace("-", "", 1)) <= set("BCDFGHJKLMNPQRSTVWXZ")
        assert (len(user_code), user_code[4]) == (9, "-")
        assert answer.headers["cache-control"] == "no-store"

    async def test_the_address_with_the_code_can_be_left_out(self, make_service: MakeService) -> None:
        service = await make_service({"oauth.device.complete_uri": "false"})
        television = await add_television(service)

        assert "verification_uri_complete" not in await start(service, television)

    async def test_a_client_with_a_secret_authenticates(self, service: Service) -> None:
        client = await add_client(
            service, grant_types=["authorization_code", DEVICE_CODE], session_sign_in=True
        )

        nameless = await service.client.post(CODE, data={"client_id": client.client_id, "scope": "openid"})
        named = await service.client.post(CODE, data={"scope": "openid"}, headers=client.basic)

        assert (error(nameless), error(named)) == ("401 invalid_client", "200")

    async def test_only_clients_with_the_grant_type_and_their_scopes(
        self, service: Service, television: OAuthTestClient
    ) -> None:
        shop = await add_client(service)
        other = await add_television(service, gets_session=False)

        async def asked(client: OAuthTestClient, **parameters: str) -> str:
            return error(await service.client.post(CODE, data={**client.form, **parameters}))

        assert await asked(shop, scope="openid") == "400 unauthorized_client"
        assert await asked(television, scope="openid admin") == "400 invalid_scope"
        assert await asked(television, scope="offline_access") == "400 invalid_scope"
        assert await asked(television, resource="https://api.example.com") == "400 invalid_target"
        assert await asked(other) == "400 invalid_scope"
        assert await asked(television) == "200"

    async def test_parameters_count_once(self, service: Service, television: OAuthTestClient) -> None:
        twice = f"client_id={television.client_id}&scope=openid&scope=email"
        assert error(await service.client.post(CODE, content=twice, headers=FORM)) == "400 invalid_request"
        assert error(await service.client.post(CODE, data={"scope": "openid"})) == "401 invalid_client"


@pytest.mark.operation("device.read")
class TestRead:
    async def test_without_a_session_there_is_only_the_status(
        self, service: Service, television: OAuthTestClient
    ) -> None:
        user_code = (await start(service, television))["user_code"]

        answer = await service.client.get(DEVICE, params={"user_code": user_code})

        assert answer.json() == {"user_code": user_code, "status": "pending"}

    async def test_a_user_sees_who_asks_for_what(
        self, service: Service, television: OAuthTestClient, ada: Headers
    ) -> None:
        answer = await service.client.post(
            CODE, data={**television.form, "scope": "openid email"}, headers={"user-agent": "Television/1.0"}
        )
        user_code = answer.json()["user_code"]

        shown = await service.client.get(DEVICE, params={"user_code": user_code}, headers=ada)

        assert shown.json() == {
            "user_code": user_code,
            "status": "pending",
            "client_id": television.client_id,
            "client_name": "Television",
            "scope": "openid email",
            "resource": [],
            "network": "127.0.0.1",
            "userAgent": "Television/1.0",
            "createdAt": AT,
        }

    async def test_case_spaces_and_hyphens_do_not_matter(
        self, service: Service, television: OAuthTestClient
    ) -> None:
        user_code = (await start(service, television))["user_code"]

        for written in (user_code.lower(), user_code.replace("-", ""), f" {user_code[:6]} {user_code[6:]} "):
            answer = await service.client.get(DEVICE, params={"user_code": written})
            assert (answer.status_code, answer.json()["user_code"]) == (200, written)

    async def test_the_code_of_no_device(self, service: Service, television: OAuthTestClient) -> None:
        user_code = (await start(service, television))["user_code"]

        for written in (WRONG_CODE, "x", "AEIOUAEI", user_code + "B", "\u0299" * 8):
            answer = await service.client.get(DEVICE, params={"user_code": written})
            assert member_error(answer) == ("INVALID_USER_CODE", "invalid_request")

    async def test_the_code_of_a_disabled_client(self, service: Service, television: OAuthTestClient) -> None:
        user_code = (await start(service, television))["user_code"]
        async with service.services.database.begin() as db:
            await db.execute(DISABLE)
            await db.commit()

        answer = await service.client.get(DEVICE, params={"user_code": user_code})

        assert member_error(answer) == ("EXPIRED_USER_CODE", "expired_token")


@pytest.mark.operation("device.approve", "device.deny", "device.sign_in")
class TestDecision:
    async def test_an_approved_device_is_signed_in(
        self, service: Service, television: OAuthTestClient, ada: Headers
    ) -> None:
        started = await start(service, television)
        assert error(await poll(service, television, started["device_code"])) == "400 authorization_pending"
        service.clock.advance(seconds=5)

        await approve(service, started["user_code"].lower(), ada)
        answer = await poll(service, television, started["device_code"])

        shape = answer.json()
        headers = bearer(shape.pop("access_token"))
        assert shape == {"token_type": "Bearer", "expires_in": 7 * 24 * 3600, "scope": "openid email"}
        assert (await service.get("/get-session", headers=headers)).json()["user"]["email"] == ADA
        assert "set-cookie" not in answer.headers
        rows = await service.rows("SELECT method, amr FROM session ORDER BY method")
        assert [tuple(row) for row in rows] == [("device", "pwd"), ("password", "pwd")]

    async def test_a_device_that_was_refused(
        self, service: Service, television: OAuthTestClient, ada: Headers
    ) -> None:
        started = await start(service, television)

        assert code(await decide(service, started["user_code"], ada, DENY)) == "200"

        assert error(await poll(service, television, started["device_code"])) == "400 access_denied"
        assert await service.rows("SELECT id FROM oauth_consent") == []

    async def test_a_decision_is_final(
        self, service: Service, television: OAuthTestClient, ada: Headers
    ) -> None:
        user_code = (await start(service, television))["user_code"]
        await approve(service, user_code, ada)

        for path in (APPROVE, DENY):
            answer = await decide(service, user_code, ada, path)
            assert member_error(answer) == ("DEVICE_CODE_ALREADY_PROCESSED", "invalid_request")

    @pytest.mark.parametrize("path", [APPROVE, DENY])
    async def test_a_code_of_no_device_and_an_old_one(
        self, service: Service, television: OAuthTestClient, ada: Headers, path: str
    ) -> None:
        user_code = (await start(service, television))["user_code"]
        service.clock.advance(minutes=10)

        old = await decide(service, user_code, ada, path)
        unknown = await decide(service, WRONG_CODE, ada, path)

        assert member_error(old) == ("EXPIRED_USER_CODE", "expired_token")
        assert member_error(unknown) == ("INVALID_USER_CODE", "invalid_request")

    async def test_a_device_code_expires(
        self, service: Service, television: OAuthTestClient, ada: Headers
    ) -> None:
        started = await start(service, television)
        await approve(service, started["user_code"], ada)
        service.clock.advance(minutes=10)

        assert error(await poll(service, television, started["device_code"])) == "400 expired_token"

    async def test_an_approval_is_a_consent(self, service: Service, ada: Headers) -> None:
        television = await add_television(service)
        for scope in ("openid", "email"):
            await approve(service, (await start(service, television, scope=scope))["user_code"], ada)

        [consent] = await service.rows("SELECT client_id, scopes FROM oauth_consent")

        assert tuple(consent) == (television.client_id, "openid email")

    async def test_the_user_is_told_by_email(
        self, service: Service, television: OAuthTestClient, ada: Headers
    ) -> None:
        await approve(service, (await start(service, television))["user_code"], ada)

        [mail] = await service.inbox(ADA, "device-authorized")

        assert mail["subject"] == "A device was connected to your account"
        assert "Application: Television" in mail["text"]
        assert "Network address of the device: 127.0.0.1" in mail["text"]

    async def test_what_happened_is_in_the_audit_trail(
        self, service: Service, television: OAuthTestClient, ada: Headers
    ) -> None:
        started = await start(service, television)
        await approve(service, started["user_code"], ada)
        await poll(service, television, started["device_code"])
        await decide(service, (await start(service, television))["user_code"], ada, DENY)
        await service.services.audit_writer.flush()

        rows = await service.rows("SELECT event FROM audit WHERE event LIKE 'device%' ORDER BY event")

        names = ["approved", "denied", "redeemed", "started", "started"]
        assert [row.event for row in rows] == [f"device.{name}" for name in names]

    async def test_it_takes_a_session(self, service: Service, television: OAuthTestClient) -> None:
        user_code = (await start(service, television))["user_code"]

        assert code(await service.post(APPROVE, {"userCode": user_code})) == "401 UNAUTHORIZED"


@pytest.mark.operation("device.sign_in")
class TestSignIn:
    async def test_a_code_is_for_its_client_and_once(
        self, service: Service, television: OAuthTestClient, ada: Headers
    ) -> None:
        other = await add_television(service)
        started = await start(service, television)
        await approve(service, started["user_code"], ada)

        assert error(await poll(service, other, started["device_code"])) == "400 invalid_grant"
        assert error(await poll(service, television, "gwd_" + "x" * 32)) == "400 invalid_grant"
        assert error(await poll(service, television, started["device_code"])) == "200"
        assert error(await poll(service, television, started["device_code"])) == "400 invalid_grant"

    async def test_it_takes_the_grant_type_and_the_code(
        self, service: Service, television: OAuthTestClient
    ) -> None:
        started = await start(service, television)
        sent = {"device_code": started["device_code"], "client_id": television.client_id}

        assert error(await service.post(TOKEN, sent)) == "400 invalid_request"
        wrong = {**sent, "grant_type": "authorization_code"}
        assert error(await service.post(TOKEN, wrong)) == "400 unsupported_grant_type"
        codeless = {"grant_type": DEVICE_CODE, "client_id": television.client_id}
        assert error(await service.post(TOKEN, codeless)) == "400 invalid_request"

    async def test_the_session_is_one_of_the_user_s(
        self, service: Service, television: OAuthTestClient, ada: Headers, sign_up: SignIn
    ) -> None:
        await sign_up(EVE)
        started = await start(service, television)
        await approve(service, started["user_code"], ada)
        token = (await poll(service, television, started["device_code"])).json()["access_token"]

        await service.post("/revoke-other-sessions", headers=ada)

        assert not await works(service, bearer(token))

    @pytest.mark.parametrize("gets_session", [True, False])
    async def test_only_clients_of_the_operator_get_a_session(
        self, service: Service, ada: Headers, gets_session: bool
    ) -> None:
        client = await add_television(service, gets_session=gets_session)
        started = await start(service, client)
        await approve(service, started["user_code"], ada)

        answer = await poll(service, client, started["device_code"])

        assert error(answer) == ("200" if gets_session else "400 unauthorized_client")


@pytest.mark.operation("oauth.token")
class TestGrant:
    async def test_a_device_gets_tokens(self, service: Service, ada: Headers) -> None:
        client = await add_television(service, gets_session=False, **REFRESHES)
        started = await start(service, client, scope="openid email offline_access")
        assert error(await redeem(service, client, started["device_code"])) == "400 authorization_pending"
        await approve(service, started["user_code"], ada)
        service.clock.advance(seconds=5)

        answer = await redeem(service, client, started["device_code"])

        shape = answer.json()
        assert (shape["token_type"], shape["scope"]) == ("Bearer", "openid email offline_access")
        assert {name[:4] for name in (shape["access_token"], shape["refresh_token"])} == {"gwa_", "gwr_"}
        claims = json.loads(claims_of(shape["id_token"]))
        assert (claims["aud"], claims["email"], claims["amr"]) == (client.client_id, ADA, ["pwd"])
        assert "nonce" not in claims
        assert error(await redeem(service, client, started["device_code"])) == "400 invalid_grant"
        [grant] = await service.rows("SELECT offline, scopes FROM oauth_grant")
        assert (bool(grant.offline), grant.scopes) == (True, "openid email offline_access")

    async def test_an_approval_without_offline_access_ends_with_the_session(
        self, service: Service, ada: Headers
    ) -> None:
        client = await add_television(service, gets_session=False, **REFRESHES)
        started = await start(service, client)
        await approve(service, started["user_code"], ada)

        answer = await redeem(service, client, started["device_code"])

        assert "refresh_token" not in answer.json()
        [grant] = await service.rows("SELECT session_id FROM oauth_grant")
        [session] = await service.rows("SELECT id FROM session")
        assert grant.session_id == session.id

    async def test_a_request_for_one_resource_of_several(self, make_service: MakeService) -> None:
        resources = {uri: {"name": uri[8:], "scopes": ["read"]} for uri in (API, FILES)}
        service = await make_service(
            {"oauth.scopes": '{"read": "Read"}', "oauth.resources": json.dumps(resources)}
        )
        ada = await join(service, ADA)
        client = await add_television(
            service, gets_session=False, scope="openid read", resources=[API, FILES]
        )
        form = {**client.form, "scope": "openid read", "resource": [API, FILES]}
        started = (await service.client.post(CODE, data=form)).json()
        await approve(service, started["user_code"], ada)

        assert error(await redeem(service, client, started["device_code"])) == "400 invalid_target"
        answer = await redeem(service, client, started["device_code"], resource=API)

        assert json.loads(claims_of(answer.json()["access_token"]))["aud"] == API

    async def test_devices_that_get_a_session_get_no_tokens(
        self, service: Service, television: OAuthTestClient, ada: Headers
    ) -> None:
        started = await start(service, television)
        await approve(service, started["user_code"], ada)

        assert error(await redeem(service, television, started["device_code"])) == "400 unauthorized_client"

    async def test_other_states(self, service: Service, ada: Headers) -> None:
        client = await add_television(service, gets_session=False)
        denied, old = await start(service, client), await start(service, client)
        await decide(service, denied["user_code"], ada, DENY)

        assert error(await redeem(service, client, denied["device_code"])) == "400 access_denied"
        assert error(await redeem(service, client, "gwd_unknown")) == "400 invalid_grant"
        assert error(await redeem(service, client, old["device_code"])) == "400 authorization_pending"
        assert error(await redeem(service, client, old["device_code"])) == "400 slow_down"
        service.clock.advance(minutes=10)
        assert error(await redeem(service, client, old["device_code"])) == "400 expired_token"


def claims_of(jwt: str) -> bytes:
    """Return the claims of a JWT, as JSON."""
    payload = jwt.split(".")[1]
    return base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))


async def test_it_is_off_until_it_is_switched_on(make_service: MakeService) -> None:
    service = await make_service({"oauth.device.enabled": "false"})

    assert (await service.client.get(DEVICE, params={"user_code": WRONG_CODE})).status_code == 404
    for path in (CODE, TOKEN, APPROVE, DENY):
        assert (await service.post(path)).status_code == 404
    client = await add_television(service)
    assert error(await redeem(service, client, "gwd_" + "x" * 32)) == "400 unsupported_grant_type"
