"""The operations of openapi/paths/passkeys.yaml."""

import pytest

from tests.authenticator import BE, BS, EDDSA, ES256, RS256, UP, UV, Authenticator, base64url, decoded
from tests.conftest import Headers, MakeService, SignIn
from tests.handlers.passkey_steps import (
    DELETE,
    LIST,
    REGISTER,
    REGISTER_OPTIONS,
    RENAME,
    SIGN_IN,
    SIGN_IN_OPTIONS,
    add,
    options,
    passkeys_of,
    register,
    register_options,
    use,
)
from tests.handlers.steps import ADA, AT, NEW_PASSWORD, bearer, code, join, refusal, works
from tests.service import PASSWORD, Service


@pytest.fixture
async def ada(sign_up: SignIn) -> Headers:
    """The session of a user."""
    return await sign_up(ADA)


@pytest.mark.operation("passkeys.begin_registration")
class TestBeginRegistration:
    async def test_has_these_members(self, service: Service, ada: Headers) -> None:
        user = (await service.get("/get-session", headers=ada)).json()["user"]

        shape = await register_options(service, ada)

        assert len(decoded(shape.pop("challenge"))) == 32
        assert shape == {
            "rp": {"id": "example.com", "name": "Gatewright"},
            "user": {
                "id": base64url(user["id"].encode()),
                "name": ADA,
                "displayName": "Ada",
            },
            "pubKeyCredParams": [{"type": "public-key", "alg": number} for number in (-8, -7, -257)],
            "timeout": 300_000,
            "attestation": "none",
            "excludeCredentials": [],
            "authenticatorSelection": {
                "residentKey": "required",
                "requireResidentKey": True,
                "userVerification": "required",
            },
            "extensions": {"credProps": True},
            "hints": [],
        }

    async def test_asks_for_an_attachment(self, service: Service, ada: Headers) -> None:
        answer = await service.get(f"{REGISTER_OPTIONS}?authenticatorAttachment=platform&name=x", headers=ada)
        refused = await service.get(f"{REGISTER_OPTIONS}?authenticatorAttachment=built-in", headers=ada)

        assert answer.json()["authenticatorSelection"]["authenticatorAttachment"] == "platform"
        assert code(refused) == "400 VALIDATION_ERROR"

    async def test_excludes_the_passkeys_of_the_user(self, service: Service, ada: Headers) -> None:
        device = Authenticator()
        await add(service, ada, device)

        shape = await register_options(service, ada)

        assert shape["excludeCredentials"] == [
            {
                "type": "public-key",
                "id": base64url(device.credential_id),
                "transports": ["internal", "hybrid"],
            }
        ]

    async def test_shows_the_address_of_a_user_without_a_name(
        self, service: Service, sign_up: SignIn
    ) -> None:
        shape = await register_options(service, await sign_up(name=""))

        assert shape["user"]["displayName"] == ADA

    async def test_needs_a_session(self, service: Service) -> None:
        assert code(await service.get(REGISTER_OPTIONS)) == "401 UNAUTHORIZED"

    async def test_is_off_until_it_is_switched_on(self, make_service: MakeService) -> None:
        service = await make_service({"passkey.enabled": "false"})
        ada = await join(service)

        for path in (REGISTER_OPTIONS, SIGN_IN_OPTIONS, LIST):
            assert code(await service.get(path, headers=ada)) == "404 NOT_FOUND"
        for path in (REGISTER, SIGN_IN, RENAME, DELETE):
            assert code(await service.post(path, {}, headers=ada)) == "404 NOT_FOUND"


@pytest.mark.operation("passkeys.finish_registration")
class TestFinishRegistration:
    @pytest.mark.both_databases
    @pytest.mark.parametrize(
        ("algorithm", "attestation"),
        [(ES256, "none"), (ES256, "packed"), (EDDSA, "packed"), (RS256, "packed")],
    )
    async def test_stores_a_passkey(
        self, service: Service, ada: Headers, algorithm: int, attestation: str
    ) -> None:
        device = Authenticator(algorithm, attestation=attestation, flags=UP | UV | BE | BS)

        shape = await add(service, ada, device, name="Laptop")

        [row] = await service.rows("SELECT algorithm, rp_id FROM passkey")
        assert (row.algorithm, row.rp_id) == (algorithm, "example.com")
        assert shape["credentialID"] == base64url(device.credential_id)
        [mail] = await service.inbox(ADA, "passkey-added")
        assert "Laptop" in mail["text"]
        [record] = await service.rows("SELECT * FROM audit WHERE event = 'passkey.registered'")
        assert shape["id"] in str(record.details)
        del shape["id"], shape["publicKey"], shape["credentialID"], shape["userId"]
        assert shape == {
            "name": "Laptop",
            "counter": 0,
            "deviceType": "multiDevice",
            "backedUp": True,
            "transports": "internal,hybrid",
            "aaguid": "00000000-0000-0000-0000-000000000000",
            "createdAt": AT,
            "lastUsedAt": None,
        }

    async def test_a_session_is_neither_opened_nor_ended(self, service: Service, ada: Headers) -> None:
        answer = await register(service, ada, Authenticator(), createSession=True)

        assert answer.status_code == 200
        assert "set-auth-token" not in answer.headers
        assert len((await service.get("/list-sessions", headers=ada)).json()) == 1

    async def test_drops_unknown_transports(self, service: Service, ada: Headers) -> None:
        response = Authenticator().create(await register_options(service, ada))
        response["response"]["transports"] = ["smoke", "usb"]

        answer = await service.post(REGISTER, {"response": response}, headers=ada)

        assert answer.json()["transports"] == "usb"

    async def test_says_what_is_malformed(self, service: Service, ada: Headers) -> None:
        response = Authenticator().create(await register_options(service, ada))
        response["response"]["attestationObject"] += "="

        answer = await service.post(REGISTER, {"response": response}, headers=ada)

        assert code(answer) == "400 VALIDATION_ERROR"
        assert answer.json()["fields"][0]["name"] == "response.response.attestationObject"

    async def test_failures_are_recorded(self, service: Service, ada: Headers) -> None:
        device = Authenticator(flags=UP)

        answer = await register(service, ada, device)

        assert refusal(answer) == (400, "FAILED_TO_VERIFY_REGISTRATION", "Failed to verify registration")
        [record] = await service.rows("SELECT * FROM audit WHERE event = 'passkey.registration_failed'")
        assert record.code == "FAILED_TO_VERIFY_REGISTRATION"


@pytest.mark.operation("passkeys.sign_in")
class TestSignIn:
    @pytest.mark.both_databases
    @pytest.mark.parametrize("algorithm", [ES256, EDDSA, RS256])
    async def test_opens_a_session(self, service: Service, ada: Headers, algorithm: int) -> None:
        device = Authenticator(algorithm)
        passkey = await add(service, ada, device)
        service.clock.advance(minutes=1)

        answer = await use(service, device)

        shape = answer.json()
        assert set(shape) == {"session", "user"}
        assert shape["user"]["email"] == ADA
        token = shape["session"]["token"]
        assert answer.headers["set-auth-token"] == token
        assert f"service.session-token={token}" in answer.headers["set-cookie"]
        assert await works(service, bearer(token))
        [listed] = await passkeys_of(service, ada)
        assert listed == {**passkey, "lastUsedAt": "2026-01-01T12:01:00.000Z"}
        session = {"id": shape["session"]["id"]}
        [row] = await service.rows("SELECT method, amr FROM session WHERE id = :id", **session)
        [record] = await service.rows(
            "SELECT method, details FROM audit WHERE event = 'sign_in.succeeded' AND session_id = :id",
            **session,
        )
        assert (row.method, row.amr, record.method) == ("passkey", "pop user mfa", "passkey")
        assert passkey["id"] in str(record.details)

    async def test_may_end_with_the_browser(self, service: Service, ada: Headers) -> None:
        device = Authenticator()
        await add(service, ada, device)

        answer = await use(service, device, rememberMe=False)

        assert "Max-Age" not in answer.headers["set-cookie"]

    async def test_refusals_are_recorded(self, service: Service, ada: Headers) -> None:
        device = Authenticator()
        await add(service, ada, device)
        device.flags = UP

        answer = await use(service, device)

        assert refusal(answer) == (401, "AUTHENTICATION_FAILED", "Authentication failed")
        await service.services.audit_writer.flush()
        [record] = await service.rows("SELECT * FROM audit WHERE event = 'passkey.failed'")
        assert (record.code, record.user_id is not None) == ("AUTHENTICATION_FAILED", True)


@pytest.mark.operation("passkeys.begin_sign_in")
class TestBeginSignIn:
    async def test_names_the_passkeys_of_a_caller_who_signs_in_again(
        self, service: Service, ada: Headers
    ) -> None:
        without = await options(service, ada)
        device = Authenticator()
        await add(service, ada, device)

        shape = await options(service, ada)

        assert "allowCredentials" not in without
        assert [each["id"] for each in shape["allowCredentials"]] == [base64url(device.credential_id)]
        response = device.get(shape)
        del response["response"]["userHandle"]  # Found by its id, an authenticator need not tell.
        assert (await service.post(SIGN_IN, {"response": response})).status_code == 200


@pytest.mark.operation("passkeys.list_own", "passkeys.remove", "passkeys.rename")
class TestListRenameRemove:
    async def test_lists_the_oldest_first(self, service: Service, ada: Headers) -> None:
        for name in ("b", "a"):
            await add(service, ada, name=name)
            service.clock.advance(minutes=1)

        assert [passkey["name"] for passkey in await passkeys_of(service, ada)] == ["b", "a"]

    async def test_renames(self, service: Service, ada: Headers) -> None:
        passkey = await add(service, ada)

        answer = await service.post(RENAME, {"id": passkey["id"], "name": "Key"}, headers=ada)

        assert answer.json() == {"passkey": {**passkey, "name": "Key"}}
        assert await passkeys_of(service, ada) == [{**passkey, "name": "Key"}]
        assert await service.rows("SELECT id FROM audit WHERE event = 'passkey.renamed'")

    async def test_removes(self, service: Service, ada: Headers) -> None:
        device = Authenticator()
        passkey = await add(service, ada, device, name="Key")
        session = (await use(service, device)).json()["session"]["token"]

        answer = await service.post(DELETE, {"id": passkey["id"]}, headers=ada)

        assert answer.json() == {"status": True}
        assert await passkeys_of(service, ada) == []
        assert await works(service, bearer(session))
        assert refusal(await use(service, device)) == (401, "PASSKEY_NOT_FOUND", "Passkey not found")
        [mail] = await service.inbox(ADA, "passkey-removed")
        assert "Key" in mail["text"]
        assert await service.rows("SELECT id FROM audit WHERE event = 'passkey.removed'")


class TestElsewhere:
    async def test_a_changed_password_names_the_passkeys(self, service: Service, ada: Headers) -> None:
        await add(service, ada)
        changed = {"currentPassword": PASSWORD, "newPassword": NEW_PASSWORD}

        await service.post("/change-password", changed, headers=ada)

        [mail] = await service.inbox(ADA, "password-changed")
        assert "1 of your passkeys still signs in" in mail["text"]

    async def test_they_are_no_accounts_and_go_with_the_user(self, service: Service, ada: Headers) -> None:
        await add(service, ada)

        accounts = (await service.get("/list-accounts", headers=ada)).json()
        await service.post("/delete-user", {"password": PASSWORD}, headers=ada)

        assert [account["providerId"] for account in accounts] == ["credential"]
        assert await service.rows("SELECT id FROM passkey") == []
