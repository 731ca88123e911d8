"""The operations of openapi/paths/jwt.yaml, and the token on /get-session."""

import json
import re
import warnings
from datetime import timedelta
from typing import Any

import httpx
import pytest
from joserfc import jws
from joserfc.errors import SecurityWarning
from joserfc.jwk import import_key

from domain.jwt import rotation
from models.lease import Lease
from server.components.jwt import SigningKeyStore
from tests import rows
from tests.conftest import Headers, MakeService, SignIn
from tests.handlers.people import Person, add_person
from tests.handlers.steps import code, execute
from tests.service import BASE_URL, START, Service
from tests.trail import of_event, only

DOCUMENTS = ("/jwks", "/.well-known/jwks.json")


@pytest.fixture
async def service(make_service: MakeService, request: pytest.FixtureRequest) -> Service:
    """The service with the settings of the test's parameter, and new keys."""
    service = await make_service(getattr(request, "param", {}))
    await service.services.port[SigningKeyStore].prepare()
    return service


def settings(**names: str) -> pytest.MarkDecorator:
    """Run a test with these settings of `jwt`."""
    return pytest.mark.parametrize(
        "service", [{f"jwt.{key}": value for key, value in names.items()}], indirect=True
    )


async def opened(service: Service, token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return header and claims of a token that a published key verifies."""
    header = jws.extract_compact(token.encode()).headers()
    published = {key["kid"]: key for key in (await service.get("/jwks")).json()["keys"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)
        found = jws.deserialize_compact(
            token, import_key(published[header["kid"]]), algorithms=[header["alg"]]
        )
    return header, json.loads(found.payload)


async def token(service: Service, headers: Headers, **query: str) -> str:
    answer = await service.get("/token", headers=headers, params=query)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["token"])


@pytest.mark.operation("jwt.issue")
class TestIssue:
    async def test_says_who_the_caller_is(self, service: Service, sign_up: SignIn) -> None:
        ada = await sign_up()
        session = (await service.get("/get-session", headers=ada)).json()

        answer = await service.get("/token", headers=ada)
        header, claims = await opened(service, answer.json()["token"])

        assert answer.headers["cache-control"] == "no-store"
        assert (header["alg"], header["typ"], set(header)) == ("ES256", "JWT", {"alg", "typ", "kid"})
        assert re.fullmatch(r"[A-Za-z0-9]{32}", claims.pop("jti"))
        now = int(START.timestamp())
        assert claims == {
            "iss": BASE_URL, "sub": session["user"]["id"], "aud": BASE_URL, "iat": now, "exp": now + 300,
            "sid": session["session"]["id"], "auth_time": now, "amr": ["pwd"],
            "email": "ada@example.com", "emailVerified": False, "name": "Ada",
        }  # fmt: skip

    async def test_says_how_the_session_began(self, service: Service, sign_up: SignIn) -> None:
        ada = await sign_up()
        for method, amr, told in (
            ("passkey", "pop user mfa", ["pop", "user", "mfa"]),
            # Sessions of an earlier version have a method alone.
            ("username", "", ["pwd"]),
            ("totp", "", ["pwd", "otp", "mfa"]),
            ("backup_code", "", ["pwd", "otp", "mfa"]),
            ("id_token:google", "", ["fed"]),
            ("magic_link", "", ["mca"]),
            ("email_otp", "", ["mca"]),
            ("unknown", "", None),
        ):
            await execute(service, "UPDATE session SET method = :method, amr = :amr", method=method, amr=amr)

            _, claims = await opened(service, await token(service, ada))

            assert claims.get("amr") == told, method

    async def test_needs_a_session(self, service: Service) -> None:
        assert code(await service.get("/token")) == "401 UNAUTHORIZED"

    @settings(
        claims="id,role,username,image",
        expires_in="1h",
        audiences="https://api.example.com,https://files.example.com",
    )
    async def test_holds_the_configured_fields_that_are_set_for_the_audience_that_is_asked_for(
        self, service: Service, sign_up: SignIn
    ) -> None:
        ada = await sign_up(username="ada_l")

        _, claims = await opened(service, await token(service, ada))
        _, other = await opened(service, await token(service, ada, audience="https://files.example.com"))

        assert (claims["id"], claims["role"], claims["username"]) == (claims["sub"], "user", "ada_l")
        assert claims.keys().isdisjoint({"email", "emailVerified", "name", "image"})
        assert claims["exp"] - claims["iat"] == 3600
        assert (claims["aud"], other["aud"]) == ("https://api.example.com", "https://files.example.com")

    @settings(algorithms="EdDSA,ES256", issuer="https://id.example.com")
    async def test_is_signed_by_the_first_algorithm(self, service: Service, sign_up: SignIn) -> None:
        header, claims = await opened(service, await token(service, await sign_up()))

        assert (header["alg"], claims["iss"], claims["aud"]) == ("EdDSA", *["https://id.example.com"] * 2)

    async def test_without_a_key_that_signs_is_unavailable(self, service: Service, sign_up: SignIn) -> None:
        service.clock.advance(days=91)
        ada = await sign_up()

        assert code(await service.get("/token", headers=ada)) == "503 SERVICE_UNAVAILABLE"

    async def test_is_off_until_it_is_switched_on(self, make_service: MakeService) -> None:
        service = await make_service({"jwt.enabled": "false"})

        answers = [await service.get(path) for path in ("/token", *DOCUMENTS)]

        assert [answer.status_code for answer in answers] == [404, 404, 404]


ORGANIZATIONS = {
    "organizations.enabled": "true",
    "organizations.teams.enabled": "true",
    "jwt.claims": "activeOrganizationId,organizationRole,activeTeamId",
}


@pytest.mark.both_databases
@pytest.mark.parametrize("service", [ORGANIZATIONS], indirect=True)
class TestOrganizations:
    async def claims(self, service: Service, headers: Headers) -> dict[str, Any]:
        _, claims = await opened(service, await token(service, headers))
        return {name: claims[name] for name in ORGANIZATIONS["jwt.claims"].split(",") if name in claims}

    async def post(self, service: Service, headers: Headers, name: str, /, **body: Any) -> Any:
        answer = await service.post(f"/organization/{name}", body, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    @pytest.mark.threat("JWT6")
    async def test_says_the_roles_in_the_active_organization(self, service: Service, sign_up: SignIn) -> None:
        ada, keeper = await sign_up(), await add_person(service, "admin")
        assert await self.claims(service, ada) == {}

        made = await self.post(service, ada, "create", name="Acme", slug="acme")
        team = (await service.get("/organization/list-teams", headers=ada)).json()[0]["id"]
        about = {"activeOrganizationId": made["id"], "activeTeamId": team}
        assert await self.claims(service, ada) == {**about, "organizationRole": "owner"}

        await self.post(
            service, keeper.headers, "add-member", userId=keeper.id, role="owner", organizationId=made["id"]
        )
        member = made["members"][0]["id"]
        await self.post(service, ada, "update-member-role", memberId=member, role=["admin", "member"])
        assert await self.claims(service, ada) == {**about, "organizationRole": "admin,member"}

        other = await self.post(service, ada, "create", name="Other", slug="other")
        await self.post(service, ada, "set-active", organizationId=other["id"])
        active = {"activeOrganizationId": other["id"], "organizationRole": "owner"}
        assert (await self.claims(service, ada)).items() >= active.items()
        await self.post(service, ada, "set-active", organizationId=made["id"])
        assert await self.claims(service, ada) == {
            "activeOrganizationId": made["id"],
            "organizationRole": "admin,member",
        }

        await self.post(service, keeper.headers, "remove-member", memberIdOrEmail=member,
                        organizationId=made["id"])  # fmt: skip
        assert await self.claims(service, ada) == {}

    async def test_says_nothing_without_an_active_organization(
        self, service: Service, sign_up: SignIn
    ) -> None:
        ada = await sign_up()
        made = await self.post(service, ada, "create", name="Acme", slug="acme")
        await self.post(service, ada, "set-active", organizationId=None)

        assert await self.claims(service, ada) == {}
        await self.post(service, ada, "set-active", organizationSlug="acme")
        assert (await self.claims(service, ada))["activeOrganizationId"] == made["id"]


@pytest.mark.operation("jwt.keys", "jwt.well_known_keys")
class TestKeys:
    @settings(algorithms="ES256,RS256,EdDSA")
    async def test_publishes_public_keys_alone(self, service: Service) -> None:
        first, second = [await service.get(path) for path in DOCUMENTS]

        keys = first.json()["keys"]
        assert first.content == second.content
        assert [list(key) for key in keys] == [
            ["kty", "crv", "x", "y", "kid", "alg", "use"],
            ["kty", "crv", "x", "kid", "alg", "use"],
            ["kty", "n", "e", "kid", "alg", "use"],
        ]
        assert [key["alg"] for key in keys] == ["ES256", "EdDSA", "RS256"]
        assert all(import_key(key).thumbprint() == key["kid"] for key in keys)

    @settings(jwks_max_age="10m", publish_ahead="1h", header="true")
    async def test_may_be_kept_and_asked_about(self, service: Service) -> None:
        answer = await service.get("/jwks")
        etag = answer.headers["etag"]

        asked = [
            await service.get("/jwks", headers={"If-None-Match": value})
            for value in (etag, f'"other", W/{etag}', "*", '"other"', "", "],;")
        ]  # fmt: skip

        assert answer.headers["cache-control"] == "public, max-age=600"
        assert answer.headers["content-type"] == "application/json"
        assert [one.status_code for one in asked] == [304, 304, 304, 200, 200, 200]
        assert all(one.headers["etag"] == etag and "set-cookie" not in one.headers for one in asked)
        assert asked[0].headers["cache-control"] == "public, max-age=600"

    async def test_answers_head(self, service: Service) -> None:
        for path in DOCUMENTS:
            answer = await service.client.head(path)

            assert (answer.status_code, answer.content) == (200, b"")
            assert answer.headers["content-length"] == str(len((await service.get(path)).content))

    async def test_pages_of_every_origin_may_read_it(self, service: Service) -> None:
        def cors(answer: httpx.Response) -> tuple[str | None, str | None]:
            names = ("access-control-allow-origin", "access-control-allow-credentials")
            return answer.headers.get(names[0]), answer.headers.get(names[1])

        trusted, other, none = [
            await service.get("/jwks", headers=headers)
            for headers in ({"Origin": BASE_URL}, {"Origin": "https://any.example"}, {})
        ]  # fmt: skip

        assert (cors(trusted), cors(other), cors(none)) == ((BASE_URL, "true"), ("*", None), ("*", None))
        assert "Origin" in none.headers["vary"]

    async def test_reads_no_credentials(self, service: Service) -> None:
        answer = await service.get("/jwks", headers={"Cookie": "service.session-token=" + "x" * 32})

        assert (answer.status_code, answer.headers.get("set-cookie")) == (200, None)

    async def test_moves_with_the_base_path(self, make_service: MakeService, sign_up: SignIn) -> None:
        service = await make_service({"base_path": "/api/auth"})
        ada = await sign_up(on=service)

        _, claims = await opened(service, await token(service, ada))

        assert claims["iss"] == BASE_URL + "/api/auth"
        assert (await service.get("/.well-known/jwks.json")).status_code == 200


class TestHeader:
    @settings(jwks_max_age="10m", publish_ahead="1h", header="true")
    async def test_the_session_comes_with_a_token_while_a_key_signs(
        self, service: Service, sign_up: SignIn
    ) -> None:
        ada = await sign_up()

        answer = await service.get("/get-session", headers={**ada, "Origin": BASE_URL})
        _, claims = await opened(service, answer.headers["set-auth-jwt"])

        assert claims["sid"] == answer.json()["session"]["id"]
        assert "set-auth-jwt" in answer.headers["access-control-expose-headers"]
        service.clock.advance(days=91)
        answer = await service.get("/get-session", headers=await sign_up("bo@example.com"))
        assert (answer.status_code, answer.headers.get("set-auth-jwt")) == (200, None)

    async def test_is_off_until_it_is_switched_on(self, service: Service, sign_up: SignIn) -> None:
        answer = await service.get("/get-session", headers=await sign_up())

        assert "set-auth-jwt" not in answer.headers


@pytest.mark.operation("jwt.list_signing_keys", "jwt.rotate_signing_key", "jwt.revoke_signing_key")
class TestAdministration:
    @pytest.fixture
    async def admin(self, service: Service) -> Person:
        """An administrator, a minute after the first key was created."""
        service.clock.advance(minutes=1)
        return await add_person(service, "admin")

    async def states(self, service: Service, admin: Person) -> list[str]:
        listed = await service.get("/admin/list-signing-keys", headers=admin.headers)
        return [key["state"] for key in listed.json()["keys"]]

    async def post(self, service: Service, by: Person, name: str, **body: object) -> httpx.Response:
        return await service.post(f"/admin/{name}-signing-key", body, headers=by.headers)

    async def test_a_key_is_listed_without_its_private_part(self, service: Service, admin: Person) -> None:
        [published] = (await service.get("/jwks")).json()["keys"]

        listed = (await service.get("/admin/list-signing-keys", headers=admin.headers)).json()

        assert listed == {
            "keys": [
                {
                    "id": published["kid"],
                    "algorithm": "ES256",
                    "state": "signing",
                    "createdAt": "2026-01-01T12:00:00.000Z",
                    "signsFrom": "2026-01-01T12:00:00.000Z",
                    "signsUntil": listed["keys"][0]["signsUntil"],
                    "publishedUntil": listed["keys"][0]["publishedUntil"],
                    "revokedAt": None,
                }
            ]
        }

    async def test_the_next_key_is_announced_once(self, service: Service, admin: Person) -> None:
        announced = await self.post(service, admin, "rotate", algorithm="ES256")
        again = await self.post(service, admin, "rotate", algorithm="ES256")

        assert [key["state"] for key in announced.json()["keys"]] == ["announced", "signing"]
        assert code(again) == "409 SIGNING_KEY_ALREADY_ANNOUNCED"
        assert len((await service.get("/jwks")).json()["keys"]) == 2
        [new, _] = announced.json()["keys"]
        record = await only(service, "signing_key.created", kid=new["id"])
        assert (record.actor_id, "by" in record.details) == (admin.id, False)

    async def test_a_key_that_is_rotated_now_signs_the_next_token(
        self, service: Service, admin: Person
    ) -> None:
        rotated = await self.post(service, admin, "rotate", algorithm="ES256", now=True)

        header, _ = await opened(service, await token(service, admin.headers))
        assert header["kid"] == rotated.json()["keys"][0]["id"]
        assert [key["state"] for key in rotated.json()["keys"]] == ["signing", "retired"]

    async def test_a_revoked_key_is_replaced_and_no_longer_published(
        self, service: Service, admin: Person
    ) -> None:
        [old] = (await service.get("/jwks")).json()["keys"]

        revoked = await self.post(service, admin, "revoke", keyId=old["kid"])

        assert sorted(key["state"] for key in revoked.json()["keys"]) == ["revoked", "signing"]
        assert old["kid"] not in {key["kid"] for key in (await service.get("/jwks")).json()["keys"]}
        [record] = await of_event(service, "signing_key.revoked")
        assert (record.actor_id, "by" in record.details) == (admin.id, False)
        again = await self.post(service, admin, "revoke", keyId=old["kid"])
        assert code(again) == "409 SIGNING_KEY_ALREADY_REVOKED"
        unknown = await self.post(service, admin, "revoke", keyId="x")
        assert code(unknown) == "404 SIGNING_KEY_NOT_FOUND"

    async def test_an_algorithm_that_is_not_used_is_refused(self, service: Service, admin: Person) -> None:
        answer = await self.post(service, admin, "rotate", algorithm="RS256")

        assert code(answer) == "400 VALIDATION_ERROR"
        assert answer.json()["fields"][0]["name"] == "algorithm"

    @pytest.mark.threat("ADM24", "ADM14")
    async def test_only_those_who_manage_the_service_and_signed_in_recently_may(
        self, service: Service, admin: Person
    ) -> None:
        [key] = (await service.get("/jwks")).json()["keys"]
        user = await add_person(service)
        refused = [
            await service.get("/admin/list-signing-keys", headers=user.headers),
            await self.post(service, user, "rotate", algorithm="ES256"),
            await self.post(service, user, "revoke", keyId=key["kid"]),
        ]
        assert {code(answer) for answer in refused} == {"403 YOU_ARE_NOT_ALLOWED_TO_MANAGE_SERVICE"}

        service.clock.advance(hours=25)
        stale = [
            await self.post(service, admin, "rotate", algorithm="ES256"),
            await self.post(service, admin, "revoke", keyId=key["kid"]),
        ]
        assert {code(answer) for answer in stale} == {"403 SESSION_NOT_FRESH"}
        assert await self.states(service, admin) == ["signing"]

    @pytest.mark.threat("JWT11")
    async def test_while_another_instance_changes_keys_it_has_to_wait(
        self, service: Service, admin: Person
    ) -> None:
        end = START + timedelta(seconds=90)
        await execute(service, "DELETE FROM lease")
        await rows.add(service.services.database, Lease(name=rotation.LEASE, holder="other", until=end))

        answer = await self.post(service, admin, "rotate", algorithm="ES256")

        assert code(answer) == "503 SERVICE_UNAVAILABLE"
        assert await self.states(service, admin) == ["signing"]
