"""Rows P1 to P25: passkeys."""

import asyncio
import hashlib
from collections import Counter
from copy import copy
from typing import Any

import cbor2
import pytest
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from server.components import cleanup
from tests.authenticator import (
    BE,
    BS,
    EDDSA,
    ES256,
    RS256,
    UP,
    UV,
    Authenticator,
    base64url,
    decoded,
)
from tests.conftest import Headers, MakeService, SignIn
from tests.handlers.passkey_steps import (
    DELETE,
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
from tests.handlers.steps import (
    ADA,
    EVE,
    NEW_PASSWORD,
    UNKNOWN,
    bearer,
    code,
    execute,
    join,
    refusal,
    reset_token,
)
from tests.security.conftest import UNLIMITED
from tests.security.second_factor import PENDING, cookie, enrol, is_pending, session_count, set_cookies
from tests.service import BASE_URL, Service

NO_MAIL = {"magic_links.enabled": "false", "email_codes.enabled": "false", "password_reset.sender": "none"}
"""Without the ways to sign in that need no more than an email address."""
NOT_VERIFIED = "400 FAILED_TO_VERIFY_REGISTRATION"
FAILED = "401 AUTHENTICATION_FAILED"
NO_CHALLENGE = "400 CHALLENGE_NOT_FOUND"

Json = dict[str, Any]


@pytest.fixture
async def service(make_service: MakeService, request: pytest.FixtureRequest) -> Service:
    return await make_service({**UNLIMITED, **getattr(request, "param", {})})


@pytest.fixture
async def ada(sign_up: SignIn) -> Headers:
    return await sign_up(ADA)


@pytest.fixture
async def eve(ada: Headers, sign_up: SignIn) -> Headers:
    return await sign_up(EVE)


@pytest.fixture
async def device(service: Service, ada: Headers) -> Authenticator:
    """Ada's authenticator."""
    device = Authenticator()
    await add(service, ada, device)
    return device


def settings(**names: str) -> pytest.MarkDecorator:
    """Run a test with these settings of `passkey`."""
    named = {f"passkey.{name}": value for name, value in names.items()}
    return pytest.mark.parametrize("service", [named], indirect=True)


async def finish(service: Service, session: Headers, response: Json, **more: Any) -> str:
    return code(await service.post(REGISTER, {"response": response, **more}, headers=session))


async def submit(service: Service, response: Json) -> str:
    answer = await service.post(SIGN_IN, {"response": response})
    service.client.cookies.clear()
    return code(answer)


async def is_refused(service: Service, session: Headers, device: Authenticator, **lies: Any) -> None:
    """See that neither ceremony accepts an authenticator that lies, and that both challenges are gone."""
    before = await passkeys_of(service, session)
    created = Authenticator(**lies).create(await register_options(service, session))
    assert [await finish(service, session, created) for _ in range(2)] == [NOT_VERIFIED, NO_CHALLENGE], lies
    lying = copy(device)
    vars(lying).update(lies)
    await signs_in_not(service, lying)
    assert await passkeys_of(service, session) == before


async def signs_in_not(service: Service, device: Authenticator) -> None:
    """See that a sign-in is refused, and that its challenge is gone."""
    sessions = await session_count(service)
    response = device.get(await options(service))
    assert [await submit(service, response) for _ in range(2)] == [FAILED, NO_CHALLENGE], device
    assert await session_count(service) == sessions


class TestWhoAsks:
    @pytest.mark.threat("P1")
    async def test_a_response_for_another_domain_is_refused(
        self, service: Service, ada: Headers, device: Authenticator
    ) -> None:
        for rp_id in ("evil.example.com", "com", "example.com.evil.test", "EXAMPLE.COM", ""):
            await is_refused(service, ada, device, rp_id=rp_id)

    @pytest.mark.threat("P2")
    async def test_a_response_of_another_page_is_refused(
        self, service: Service, ada: Headers, device: Authenticator
    ) -> None:
        origins = [
            "https://app.example.com.evil.test",
            "http://app.example.com",
            "https://app.example.com:8443",
            "https://app.example.com:443",
            "https://app.example.com/",
            "https://APP.example.com",
            "https://example.com",
            "null",
            BASE_URL,
            ...,
            None,
            ["https://app.example.com"],
        ]
        for origin in origins:
            await is_refused(service, ada, device, page={"origin": origin})

    @pytest.mark.threat("P2")
    async def test_the_header_is_not_consulted(
        self, service: Service, ada: Headers, device: Authenticator
    ) -> None:
        good = device.get(await options(service))
        device.page = {"origin": BASE_URL}
        bad = device.get(await options(service))

        answers = [
            await service.post(SIGN_IN, {"response": response}, headers={"Origin": BASE_URL})
            for response in (bad, good)
        ]

        assert [code(answer) for answer in answers] == [FAILED, "200"]

    @pytest.mark.threat("P3")
    async def test_a_page_in_a_frame_is_refused(
        self, service: Service, ada: Headers, device: Authenticator
    ) -> None:
        pages: list[Json] = [
            {"crossOrigin": True},
            {"crossOrigin": None},
            {"crossOrigin": "false"},
            {"topOrigin": "https://app.example.com"},
            {"crossOrigin": True, "topOrigin": "https://evil.test"},
        ]
        for page in pages:
            await is_refused(service, ada, device, page=page)

    @pytest.mark.threat("P3")
    async def test_old_browsers_say_nothing_of_frames(self, service: Service, ada: Headers) -> None:
        device = Authenticator(page={"crossOrigin": ...})
        await add(service, ada, device)

        assert (await use(service, device)).status_code == 200

    async def test_the_type_says_what_it_is_for(
        self, service: Service, ada: Headers, device: Authenticator
    ) -> None:
        device.page = {"type": "webauthn.create"}
        await signs_in_not(service, device)

        other = Authenticator(page={"type": "webauthn.get"})
        created = other.create(await register_options(service, ada))
        assert await finish(service, ada, created) == NOT_VERIFIED


class TestUserVerification:
    @pytest.mark.threat("P4")
    async def test_it_is_required(self, service: Service, ada: Headers, device: Authenticator) -> None:
        for flags in (UP, UV, 0):
            await is_refused(service, ada, device, flags=flags)

    @pytest.mark.threat("P4", "P15")
    @settings(user_verification="preferred")
    async def test_without_it_a_passkey_is_one_factor(self, service: Service) -> None:
        ada, device = await enrol(service), Authenticator(flags=UP)
        await add(service, ada.session, device)
        assert (await options(service))["userVerification"] == "preferred"

        alone = await use(service, device)
        device.flags = UP | UV
        verified = await use(service, device)

        assert is_pending(alone)
        assert set(verified.json()) == {"session", "user"}

    @pytest.mark.threat("P15")
    @settings(counts_as_two_factors="false")
    async def test_it_need_not_be_two_factors(self, service: Service) -> None:
        ada, device = await enrol(service), Authenticator()
        await add(service, ada.session, device)
        before = await session_count(service)

        answer = await use(service, device)

        assert is_pending(answer)
        assert await session_count(service) == before
        entered = await service.post(
            "/two-factor/verify-totp",
            {"code": ada.code(service, 1)},
            headers=bearer(answer.json()["token"]),
        )
        assert entered.status_code == 200

    @pytest.mark.threat("P15")
    @settings(user_verification="preferred")
    async def test_without_a_second_factor_one_is_enough(self, service: Service, ada: Headers) -> None:
        device = Authenticator(flags=UP)
        await add(service, ada, device)

        session = (await use(service, device)).json()["session"]

        [row] = await service.rows("SELECT amr FROM session WHERE id = :id", id=session["id"])
        assert row.amr == "pop"


class TestChallenge:
    @pytest.mark.threat("P5")
    async def test_it_is_used_once(self, service: Service, ada: Headers, device: Authenticator) -> None:
        response = device.get(await options(service))
        created = Authenticator().create(await register_options(service, ada))

        answers = [await submit(service, response) for _ in range(2)]
        answers += [await finish(service, ada, created) for _ in range(2)]

        assert answers == ["200", NO_CHALLENGE, "200", NO_CHALLENGE]

    @pytest.mark.threat("P5")
    async def test_it_expires(self, service: Service, ada: Headers, device: Authenticator) -> None:
        response = device.get(await options(service))
        created = Authenticator().create(await register_options(service, ada))
        service.clock.advance(minutes=5)

        assert await submit(service, response) == NO_CHALLENGE
        assert await finish(service, ada, created) == NO_CHALLENGE

    @pytest.mark.threat("P5")
    async def test_it_is_of_one_ceremony(self, service: Service, ada: Headers, device: Authenticator) -> None:
        response = device.get(await register_options(service, ada))
        begun = {**await register_options(service, ada), "challenge": (await options(service))["challenge"]}

        assert await submit(service, response) == NO_CHALLENGE
        assert await finish(service, ada, Authenticator().create(begun)) == NO_CHALLENGE

    @pytest.mark.threat("P5")
    async def test_it_has_one_spelling(self, service: Service, device: Authenticator) -> None:
        begun = await options(service)
        right = begun["challenge"]
        wrong: list[Any] = [base64url(bytes(32)), "", right + "=", f"{right[:-1]}+{right[-1]}", right + " "]
        for challenge in (*wrong, right[:-1], 7, None, ...):
            device.page = {"challenge": challenge}
            assert await submit(service, device.get(begun)) == NO_CHALLENGE, challenge

        device.page = {}
        assert await submit(service, device.get(begun)) == "200"

    @pytest.mark.threat("P5")
    async def test_what_cannot_be_read_is_refused(
        self, service: Service, ada: Headers, device: Authenticator
    ) -> None:
        object_without_challenge = b'{"a":' * 900 + b"1" + b"}" * 900
        unreadable = [
            b"{",
            b"[]",
            b"\xff",
            b"7",
            b"[" * 5000,
            b"{" + b",".join(b'"%d":1' % number for number in range(21)) + b"}",
        ]
        for client_data in (object_without_challenge, *unreadable):
            response = device.get(await options(service))
            created = Authenticator().create(await register_options(service, ada))
            for each in (response, created):
                each["response"]["clientDataJSON"] = base64url(client_data)
            answers = [await submit(service, response), await finish(service, ada, created)]
            is_object = client_data is object_without_challenge
            assert answers == ([NO_CHALLENGE] * 2 if is_object else [FAILED, NOT_VERIFIED]), client_data[:9]

    @pytest.mark.threat("P6")
    async def test_it_is_of_one_session(
        self, service: Service, ada: Headers, eve: Headers, sign_in: SignIn
    ) -> None:
        created = Authenticator().create(await register_options(service, ada))
        again = await sign_in(ADA)

        answers = [await finish(service, session, created) for session in (eve, again, ada)]

        assert answers == [NO_CHALLENGE, NO_CHALLENGE, "200"]

    @pytest.mark.threat("P5", "P8")
    async def test_it_may_be_of_one_user(
        self, service: Service, ada: Headers, device: Authenticator, eve: Headers
    ) -> None:
        others = Authenticator()
        await add(service, eve, others)

        assert await submit(service, others.get(await options(service, ada))) == FAILED
        assert await submit(service, device.get(await options(service, ada))) == "200"


class TestSession:
    @pytest.mark.threat("P7")
    async def test_it_must_be_fresh(self, service: Service, ada: Headers) -> None:
        passkey = await add(service, ada)
        created = Authenticator().create(await register_options(service, ada))
        service.clock.advance(days=1, seconds=1)

        assert code(await service.get(REGISTER_OPTIONS, headers=ada)) == "403 SESSION_NOT_FRESH"
        assert await finish(service, ada, created) == "403 SESSION_NOT_FRESH"
        deleted = await service.post(DELETE, {"id": passkey["id"]}, headers=ada)
        assert code(deleted) == "403 SESSION_NOT_FRESH"
        assert len(await passkeys_of(service, ada)) == 1
        renamed = await service.post(RENAME, {"id": passkey["id"], "name": "Key"}, headers=ada)
        assert renamed.status_code == 200

    @pytest.mark.threat("P7")
    @pytest.mark.parametrize("service", [{"admin.impersonation.restricted": "false"}], indirect=True)
    async def test_it_must_be_the_users_own(self, service: Service, ada: Headers, eve: Headers) -> None:
        passkey = await add(service, eve)
        await execute(service, "UPDATE \"user\" SET role = 'admin' WHERE email = :email", email=ADA)
        acted = await service.post("/admin/impersonate-user", {"userId": passkey["userId"]}, headers=ada)
        acting = bearer(acted.json()["session"]["token"])
        service.client.cookies.clear()

        answers = [await service.get(REGISTER_OPTIONS, headers=acting)]
        answers.append(await service.post(DELETE, {"id": passkey["id"]}, headers=acting))
        created = Authenticator().create(await register_options(service, eve))
        answers.append(await service.post(REGISTER, {"response": created}, headers=acting))

        assert {code(answer) for answer in answers} == {"403 NOT_ALLOWED_WHILE_IMPERSONATING"}
        assert len(await passkeys_of(service, eve)) == 1


class TestOwner:
    @pytest.mark.threat("P8")
    async def test_a_foreign_handle_and_none_are_refused(
        self, service: Service, device: Authenticator, eve: Headers
    ) -> None:
        others = Authenticator()
        await add(service, eve, others)

        for handle in (device.user_handle, None):
            others.user_handle = handle
            await signs_in_not(service, others)

    @pytest.mark.threat("P8")
    async def test_the_handle_of_an_imported_passkey_is_not_known(
        self, service: Service, device: Authenticator
    ) -> None:
        await execute(service, "UPDATE passkey SET user_handle = NULL")
        device.user_handle = b"random"

        assert (await use(service, device)).status_code == 200

    @pytest.mark.threat("P9")
    async def test_a_known_credential_has_one_owner(
        self, service: Service, device: Authenticator, eve: Headers
    ) -> None:
        claimed = Authenticator(credential_id=device.credential_id)

        answer = await register(service, eve, claimed)

        assert code(answer) == "400 PREVIOUSLY_REGISTERED"
        assert (await use(service, device)).json()["user"]["email"] == ADA
        await signs_in_not(service, Authenticator(credential_id=device.credential_id, user_handle=b"x"))

    @pytest.mark.threat("P20")
    async def test_nobody_touches_those_of_others(
        self, service: Service, ada: Headers, device: Authenticator, eve: Headers
    ) -> None:
        [passkey] = await passkeys_of(service, ada)

        answers = [
            await service.post(path, {"id": passkey_id, "name": "Mine"}, headers=eve)
            for passkey_id in (passkey["id"], UNKNOWN)
            for path in (RENAME, DELETE)
        ]

        not_found = (404, "PASSKEY_NOT_FOUND", "Passkey not found")
        assert [refusal(answer) for answer in answers] == [not_found] * 4
        assert await passkeys_of(service, eve) == []
        assert await passkeys_of(service, ada) == [passkey]


class TestCounter:
    @pytest.mark.threat("P10")
    async def test_a_clone_is_refused(self, service: Service, ada: Headers) -> None:
        device = Authenticator(counter=7)
        await add(service, ada, device)

        for counter in (7, 6, 0):
            device.counter = counter
            await signs_in_not(service, device)

        records = await service.rows("SELECT * FROM audit WHERE event = 'passkey.counter_regressed'")
        assert [record.user_id is not None for record in records] == [True] * 3
        assert [passkey["counter"] for passkey in await passkeys_of(service, ada)] == [7]
        device.counter = 9
        assert (await use(service, device)).status_code == 200
        assert [passkey["counter"] for passkey in await passkeys_of(service, ada)] == [9]

    @pytest.mark.threat("P10")
    async def test_a_synced_passkey_does_not_count(self, service: Service, device: Authenticator) -> None:
        assert [(await use(service, device)).status_code for _ in range(2)] == [200, 200]

    @pytest.mark.threat("P10")
    async def test_a_counter_may_fill_32_bits(self, service: Service, ada: Headers) -> None:
        device = Authenticator(counter=2**32 - 2)
        await add(service, ada, device)
        device.counter = 2**32 - 1

        assert (await use(service, device)).status_code == 200


class TestFlags:
    @pytest.mark.threat("P11")
    @pytest.mark.parametrize(("before", "after"), [(0, BE), (BE, 0)])
    async def test_a_passkey_does_not_become_another_kind(
        self, service: Service, ada: Headers, before: int, after: int
    ) -> None:
        device = Authenticator(flags=UP | UV | before)
        await add(service, ada, device)
        device.flags = UP | UV | after

        await signs_in_not(service, device)

    @pytest.mark.threat("P11")
    async def test_a_copy_needs_that_there_may_be_one(
        self, service: Service, ada: Headers, device: Authenticator
    ) -> None:
        await is_refused(service, ada, device, flags=UP | UV | BS)

    @pytest.mark.threat("P11")
    async def test_the_copy_may_come_later(self, service: Service, ada: Headers) -> None:
        device = Authenticator(flags=UP | UV | BE)
        await add(service, ada, device)
        device.flags |= BS

        await use(service, device)

        assert [passkey["backedUp"] for passkey in await passkeys_of(service, ada)] == [True]


def _keys() -> dict[str, Any]:
    """Keys that no authenticator makes, by what is wrong with them."""
    ec, okp, rsa = (Authenticator(algorithm).cose_key for algorithm in (ES256, EDDSA, RS256))
    weak = Authenticator(RS256, rsa_bits=1024).cose_key
    x, y = ec[-2], ec[-3]
    return {
        "rsa that claims to be ES256": {**rsa, 3: ES256},
        "p-256 that claims to be RS256": {**ec, 3: RS256},
        "ed25519 that claims to be ES256": {**okp, 3: ES256},
        "RS1": {**rsa, 3: -65535},
        "PS256": {**rsa, 3: -37},
        "ES384": {**ec, 3: -35},
        "no algorithm": {name: value for name, value in ec.items() if name != 3},
        "1024 bits": weak,
        "16384 bits": {**rsa, -1: b"\xff" * 2048},
        "a long exponent": {**rsa, -2: b"\xff" * 256},
        "exponent 1": {**rsa, -2: b"\x01"},
        "not on the curve": {**ec, -3: bytes(reversed(y))},
        "the origin": {**ec, -2: bytes(32), -3: bytes(32)},
        "a point of an older form": b"\x04" + x + y,
        "p-256 on another curve": {**ec, -1: 2},
        "a short point of ed25519": {**okp, -2: b"\x01" * 31},
        "text": {**ec, -2: "x" * 32},
        "no map": 7,
        "a list": [1, 2, 3],
    }


class TestKeys:
    @pytest.mark.threat("P12")
    async def test_only_keys_of_authenticators_are_accepted(self, service: Service, ada: Headers) -> None:
        answers = {}
        for name, key in _keys().items():
            created = Authenticator().create(await register_options(service, ada), key=key)
            answers[name] = await finish(service, ada, created)

        assert answers == dict.fromkeys(answers, NOT_VERIFIED)
        assert await passkeys_of(service, ada) == []

    @pytest.mark.threat("P12")
    @pytest.mark.parametrize("algorithm", [ES256, EDDSA, RS256])
    async def test_a_key_keeps_its_algorithm(self, service: Service, ada: Headers, algorithm: int) -> None:
        device = Authenticator(algorithm)
        await add(service, ada, device)
        other = RS256 if algorithm != RS256 else ES256
        await execute(service, "UPDATE passkey SET algorithm = :other", other=other)

        await signs_in_not(service, device)


def _attestations() -> dict[str, tuple[str, Any]]:
    """Formats and statements that are not accepted."""
    certificate = {"alg": ES256, "sig": b"x" * 70, "x5c": [b"\x30" * 100]}
    return {
        "tpm": ("tpm", {**certificate, "ver": "2.0", "certInfo": b"x", "pubArea": b"x"}),
        "android-key": ("android-key", certificate),
        "android-safetynet": ("android-safetynet", {"ver": "1", "response": b"x"}),
        "apple": ("apple", {"x5c": [b"x"]}),
        "fido-u2f": ("fido-u2f", {"sig": b"x", "x5c": [b"x"]}),
        "packed with a chain": ("packed", certificate),
        "packed with an empty chain": ("packed", {**certificate, "x5c": []}),
        "packed, ECDAA": ("packed", {"alg": ES256, "sig": b"x", "ecdaaKeyId": b"x"}),
        "packed with a wrong signature": ("packed", {"alg": ES256, "sig": b"x" * 70}),
        "packed with another algorithm": ("packed", {"alg": EDDSA, "sig": b"x" * 64}),
        "none with a statement": ("none", {"sig": b"x"}),
        "unknown": ("other", {}),
        "a long name": ("none" * 1000, {}),
        "no text": (7, {}),  # type: ignore[dict-item]
        "no map": ("none", []),
    }


def _wrong_cbor() -> dict[str, bytes]:
    """Attestation objects that are not what an authenticator writes."""
    good = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": b"x" * 37})
    return {
        "nothing": b"\xff",
        "cut": good[:-1],
        "trailing bytes": good + b"\x00",
        "nested": b"\x81" * 10_000 + b"\x00",
        "nested maps": b"\xa1\x01" * 5_000 + b"\x00",
        "array bomb": b"\x9b" + b"\xff" * 8,
        "map bomb": b"\xbb\x00\x00\x00\x0f\xff\xff\xff\xff",
        "string bomb": b"\x5b\x7f" + b"\xff" * 7,
        "endless": b"\xbf\x63fmt\x64none\xff",
        "twice": b"\xa4" + good[1:] + b"\x63fmt\x64none",
        "a regular expression": cbor2.dumps(
            {"fmt": cbor2.CBORTag(35, "(a+)+$"), "attStmt": {}, "authData": b""}
        ),
        "a date": cbor2.dumps({"fmt": "none", "attStmt": cbor2.CBORTag(0, "x"), "authData": b""}),
        "a shared value": b"\xd8\x1c\x81\xd8\x1d\x00",
        "a big number": b"\xc2\x59\x20\x00" + b"\xff" * 8192,
        "a float": cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": 1.5}),
        "no data": cbor2.dumps({"fmt": "none", "attStmt": {}}),
        "more members": cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": b"x" * 37, "more": 1}),
        "short data": cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": b"x" * 36}),
    }


class TestAttestation:
    @pytest.mark.threat("P13")
    async def test_other_formats_are_refused(self, service: Service, ada: Headers) -> None:
        answers = {}
        for name, (form, statement) in _attestations().items():
            device = Authenticator(attestation=form)
            created = device.create(await register_options(service, ada), statement=statement)
            answers[name] = await finish(service, ada, created)

        assert answers == dict.fromkeys(answers, NOT_VERIFIED)
        assert await passkeys_of(service, ada) == []

    @pytest.mark.threat("P13")
    async def test_other_cbor_is_refused(self, service: Service, ada: Headers) -> None:
        device, answers = Authenticator(), {}
        for name, attestation in _wrong_cbor().items():
            begun = await register_options(service, ada)
            client = device.client_data("webauthn.create", begun["challenge"])
            answers[name] = await finish(service, ada, device.registration(client, attestation))

        assert answers == dict.fromkeys(answers, NOT_VERIFIED)

    @pytest.mark.threat("P13")
    async def test_a_right_chain_of_certificates_is_refused_too(self, service: Service, ada: Headers) -> None:
        device = Authenticator(attestation="packed")
        begun = await register_options(service, ada)
        client = device.client_data("webauthn.create", begun["challenge"])
        data = device.authenticator_data(device.attested())
        signature = device.sign(data + hashlib.sha256(client).digest())
        statement = {"alg": ES256, "sig": signature, "x5c": [device.certificate()]}
        attestation = cbor2.dumps({"fmt": "packed", "attStmt": statement, "authData": data})

        assert await finish(service, ada, device.registration(client, attestation)) == NOT_VERIFIED

    @pytest.mark.threat("P13")
    async def test_there_is_nothing_after_the_attestation(self, service: Service, ada: Headers) -> None:
        device = Authenticator()
        created = device.create(await register_options(service, ada))
        sent = created["response"]
        sent["attestationObject"] = base64url(decoded(sent["attestationObject"]) + b"\x00")

        assert await finish(service, ada, created) == NOT_VERIFIED

    @pytest.mark.threat("P13")
    async def test_there_is_nothing_after_the_key(self, service: Service, ada: Headers) -> None:
        device = Authenticator()
        for more in (b"\x00", b"\xa0"):
            key = cbor2.dumps(device.cose_key) + more
            created = device.create(await register_options(service, ada), key=key)
            assert await finish(service, ada, created) == NOT_VERIFIED

    @pytest.mark.threat("P13")
    async def test_a_credential_is_about_itself(self, service: Service, ada: Headers) -> None:
        device = Authenticator()
        created = device.create(await register_options(service, ada))
        other = base64url(b"another credential")
        mixed = {**device.create(await register_options(service, ada)), "id": other}

        assert await finish(service, ada, {**created, "id": other, "rawId": other}) == NOT_VERIFIED
        assert await finish(service, ada, mixed) == NOT_VERIFIED

    @pytest.mark.threat("P13")
    async def test_a_credential_id_has_a_length(self, service: Service, ada: Headers) -> None:
        for length, expected in ((0, "400 VALIDATION_ERROR"), (1024, NOT_VERIFIED)):
            device = Authenticator(credential_id=bytes(length))
            created = device.create(await register_options(service, ada))
            assert await finish(service, ada, created) == expected


class TestSignature:
    @pytest.mark.threat("P14")
    @pytest.mark.parametrize("algorithm", [ES256, EDDSA, RS256])
    async def test_it_must_be_right(self, service: Service, ada: Headers, algorithm: int) -> None:
        device = Authenticator(algorithm)
        await add(service, ada, device)
        for wrong in ("flipped", "other data", "longer", "one byte", "nothing"):
            response = device.get(await options(service))
            right = decoded(response["response"]["signature"])
            signature = {
                "flipped": right[:-1] + bytes([right[-1] ^ 1]),
                "other data": device.sign(b"other data"),
                "longer": right + b"\x00",
                "one byte": b"\x30",
                "nothing": b"",
            }[wrong]
            response["response"]["signature"] = base64url(signature)
            expected = FAILED if signature else "400 VALIDATION_ERROR"
            assert await submit(service, response) == expected, wrong

    @pytest.mark.threat("P14")
    async def test_there_is_nothing_inside_the_der(self, service: Service, device: Authenticator) -> None:
        response = device.get(await options(service))
        r, s = decode_dss_signature(decoded(response["response"]["signature"]))
        # Right numbers, and a third that a lax reader skips.
        parts = b"".join(_integer(number) for number in (r, s, 1))
        response["response"]["signature"] = base64url(bytes([0x30, len(parts)]) + parts)

        assert await submit(service, response) == FAILED

    @pytest.mark.threat("P14")
    async def test_it_covers_all_that_was_said(self, service: Service, device: Authenticator) -> None:
        begun = await options(service)
        response = device.get(begun)
        data = decoded(response["response"]["authenticatorData"])
        response["response"]["authenticatorData"] = base64url(data[:-1] + b"\x09")

        assert await submit(service, response) == FAILED

    @pytest.mark.threat("P14")
    async def test_there_is_nothing_after_the_data(self, service: Service, device: Authenticator) -> None:
        response = device.get(await options(service))
        data = decoded(response["response"]["authenticatorData"]) + b"\x00"
        client = decoded(response["response"]["clientDataJSON"])
        signed = device.sign(data + hashlib.sha256(client).digest())
        response["response"] |= {"authenticatorData": base64url(data), "signature": base64url(signed)}

        assert await submit(service, response) == FAILED


def _integer(number: int) -> bytes:
    written = number.to_bytes((number.bit_length() + 8) // 8, "big")
    return bytes([0x02, len(written)]) + written


class TestGate:
    @pytest.mark.threat("P16")
    async def test_a_banned_user_stays_out(self, service: Service, device: Authenticator) -> None:
        await execute(service, 'UPDATE "user" SET banned = true')
        before = await session_count(service)
        response = device.get(await options(service))

        assert await submit(service, response) == "403 BANNED_USER"
        assert await submit(service, response) == NO_CHALLENGE
        assert await session_count(service) == before

    @pytest.mark.threat("P16")
    @pytest.mark.parametrize("service", [{"email_verification.required": "true"}], indirect=True)
    async def test_an_unverified_user_stays_out(self, service: Service) -> None:
        await service.post(
            "/sign-up/email", {"name": "Ada", "email": ADA, "password": "correct horse battery"}
        )
        await execute(service, 'UPDATE "user" SET email_verified = true')
        signed_in = await service.post("/sign-in/email", {"email": ADA, "password": "correct horse battery"})
        service.client.cookies.clear()
        device = Authenticator()
        await add(service, bearer(signed_in.json()["token"]), device)
        await execute(service, 'UPDATE "user" SET email_verified = false')
        response = device.get(await options(service))

        assert await submit(service, response) == "403 EMAIL_NOT_VERIFIED"
        assert await submit(service, response) == NO_CHALLENGE
        [row] = await service.rows('SELECT email_verified FROM "user"')
        assert not row.email_verified

    @pytest.mark.threat("P17")
    async def test_options_tell_nothing(self, service: Service, ada: Headers) -> None:
        queries = ("", f"?email={ADA}", "?email=x")
        without = await service.get(SIGN_IN_OPTIONS)
        await add(service, ada)

        answers = [without, *[await service.get(f"{SIGN_IN_OPTIONS}{query}") for query in queries]]

        assert {len(answer.content) for answer in answers} == {len(without.content)}
        shapes = [answer.json() for answer in answers]
        challenges = {shape.pop("challenge") for shape in shapes}
        assert [len(decoded(challenge)) for challenge in challenges] == [32] * 4
        assert shapes == [{"rpId": "example.com", "timeout": 300_000, "userVerification": "required"}] * 4

    @pytest.mark.threat("P18")
    async def test_another_site_signs_nobody_in(self, service: Service, device: Authenticator) -> None:
        response = device.get(await options(service))
        foreign: list[Headers] = [
            {"Origin": "https://evil.test"},
            {"Origin": "null"},
            {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
            {"Sec-Fetch-Site": "cross-site"},
        ]

        answers = [await service.post(SIGN_IN, {"response": response}, headers=each) for each in foreign]

        assert [(answer.status_code, "set-cookie" in answer.headers) for answer in answers] == [
            (403, False)
        ] * 4
        assert await submit(service, response) == "200"


class TestLimits:
    @pytest.mark.threat("P21")
    @pytest.mark.parametrize("service", [NO_MAIL], indirect=True)
    async def test_the_last_way_in_stays(self, service: Service, ada: Headers) -> None:
        [first, second] = [await add(service, ada) for _ in range(2)]
        await execute(service, "DELETE FROM account")

        answers = await asyncio.gather(
            *(service.post(DELETE, {"id": passkey["id"]}, headers=ada) for passkey in (first, second))
        )

        assert sorted(map(code, answers)) == ["200", "400 FAILED_TO_DELETE_LAST_PASSKEY"]
        assert len(await passkeys_of(service, ada)) == 1

    @pytest.mark.threat("P21")
    @pytest.mark.parametrize("kept", ["account", "mail"])
    async def test_the_last_passkey_may_go_where_there_is_another_way(
        self, make_service: MakeService, kept: str
    ) -> None:
        service = await make_service(NO_MAIL if kept == "account" else {})
        ada = await join(service)
        passkey = await add(service, ada)
        if kept == "mail":
            await execute(service, "DELETE FROM account")

        assert (await service.post(DELETE, {"id": passkey["id"]}, headers=ada)).status_code == 200

    @pytest.mark.threat("P22")
    @settings(max_per_user="2")
    async def test_there_are_not_too_many(self, service: Service, ada: Headers) -> None:
        await add(service, ada)
        begun = [Authenticator().create(await register_options(service, ada)) for _ in range(2)]

        answers = await asyncio.gather(*(finish(service, ada, created) for created in begun))

        assert sorted(answers) == ["200", "400 TOO_MANY_PASSKEYS"]
        assert code(await service.get(REGISTER_OPTIONS, headers=ada)) == "400 TOO_MANY_PASSKEYS"
        assert len(await passkeys_of(service, ada)) == 2

    @pytest.mark.threat("P23")
    async def test_names_are_checked(self, service: Service, ada: Headers) -> None:
        passkey = await add(service, ada, name="\U0001f600" * 64)
        created = Authenticator().create(await register_options(service, ada))

        for name in ("", " ", "\u00a0\u2003 ", "x" * 65, "a\u202eb", "a\x00b", "a\nb", "\u2066", 7):
            assert await finish(service, ada, created, name=name) == "400 VALIDATION_ERROR", name
            renamed = await service.post(RENAME, {"id": passkey["id"], "name": name}, headers=ada)
            assert code(renamed) == "400 VALIDATION_ERROR", name
            assert [field["name"] for field in renamed.json()["fields"]] == ["name"], name
        assert await finish(service, ada, created) == "200"

    @pytest.mark.threat("P23")
    async def test_forms_are_checked(self, service: Service, ada: Headers) -> None:
        created = Authenticator().create(await register_options(service, ada))
        right = created["response"]
        wrong: list[Json] = [
            {"response": {**right, "transports": ["usb"] * 1000}},
            {"response": {**right, "transports": ["x" * 33]}},
            {"response": {**right, "transports": [7]}},
            {"response": {**right, "transports": "usb"}},
            {"response": {**right, "clientDataJSON": "A" * 8193}},
            {"response": {**right, "clientDataJSON": ""}},
            {"response": {**right, "attestationObject": "A" * 16_385}},
            {"response": {**right, "attestationObject": "A+/="}},
            {"response": {**right, "attestationObject": "A"}},
            {"id": "A" * 2049},
            {"type": "password"},
        ]

        answers = [await finish(service, ada, {**created, **changed}) for changed in wrong]

        assert answers == ["400 VALIDATION_ERROR"] * len(wrong)

    @pytest.mark.threat("P25")
    async def test_options_are_limited_and_cleaned_up(self, make_service: MakeService) -> None:
        service = await make_service({"limits.requests": "20"})

        answers = [await service.get(SIGN_IN_OPTIONS) for _ in range(30)]

        assert {answer.status_code for answer in answers[:20]} == {200}
        assert {answer.status_code for answer in answers[20:]} == {429}
        service.clock.advance(minutes=5, seconds=1)
        await cleanup.delete_expired(service.services.database, service.clock())
        assert await service.rows("SELECT * FROM \"grant\" WHERE purpose = 'passkey-sign-in'") == []


@pytest.mark.both_databases
class TestRaces:
    @pytest.mark.threat("P19")
    async def test_a_response_signs_in_once(self, service: Service, device: Authenticator) -> None:
        response = device.get(await options(service))

        answers = await asyncio.gather(*(submit(service, response) for _ in range(50)))

        assert Counter(answers) == {"200": 1, NO_CHALLENGE: 49}

    @pytest.mark.threat("P19")
    async def test_a_registration_is_stored_once(self, service: Service, ada: Headers) -> None:
        created = Authenticator().create(await register_options(service, ada))

        answers = await asyncio.gather(*(finish(service, ada, created) for _ in range(10)))

        assert Counter(answers) == {"200": 1, NO_CHALLENGE: 9}
        assert len(await passkeys_of(service, ada)) == 1

    @pytest.mark.threat("P10", "P19")
    async def test_a_counter_counts_once(self, service: Service, ada: Headers) -> None:
        device = Authenticator(counter=1)
        await add(service, ada, device)
        device.counter = 2
        responses = [device.get(await options(service)) for _ in range(10)]

        answers = await asyncio.gather(*(submit(service, response) for response in responses))

        assert Counter(answers) == {"200": 1, FAILED: 9}

    @pytest.mark.threat("P9", "P19")
    async def test_a_credential_gets_one_owner(self, service: Service, ada: Headers, eve: Headers) -> None:
        device = Authenticator()
        begun = [(session, device.create(await register_options(service, session))) for session in (ada, eve)]

        answers = await asyncio.gather(*(finish(service, session, created) for session, created in begun))

        assert sorted(answers) == ["200", "400 PREVIOUSLY_REGISTERED"]
        assert len(await service.rows("SELECT id FROM passkey")) == 1

    @pytest.mark.threat("P19")
    async def test_a_removed_passkey_opens_nothing_afterwards(
        self, service: Service, ada: Headers, device: Authenticator
    ) -> None:
        [passkey] = await passkeys_of(service, ada)
        response = device.get(await options(service))

        removed, signed_in = await asyncio.gather(
            service.post(DELETE, {"id": passkey["id"]}, headers=ada), submit(service, response)
        )

        assert removed.status_code == 200
        assert signed_in in ("200", "401 PASSKEY_NOT_FOUND")
        assert await submit(service, device.get(await options(service))) == "401 PASSKEY_NOT_FOUND"


async def test_a_reset_of_the_password_removes_what_a_stranger_added(service: Service, ada: Headers) -> None:
    await add(service, ada)
    body = {"token": await reset_token(service), "newPassword": NEW_PASSWORD}

    answer = await service.post("/reset-password", body)

    assert answer.status_code == 200
    assert await service.rows("SELECT id FROM passkey") == []


async def test_a_verified_user_keeps_passkeys_after_a_reset(service: Service, ada: Headers) -> None:
    await add(service, ada)
    await execute(service, 'UPDATE "user" SET email_verified = true')
    body = {"token": await reset_token(service), "newPassword": NEW_PASSWORD}

    await service.post("/reset-password", body)

    assert len(await service.rows("SELECT id FROM passkey")) == 1
    assert "1 of your passkeys" in (await service.inbox(ADA, "password-changed"))[-1]["text"]


async def test_a_pending_sign_in_ends_with_a_passkey(service: Service) -> None:
    ada, device = await enrol(service), Authenticator()
    await add(service, ada.session, device)
    waiting = await service.post("/sign-in/email", {"email": ADA, "password": "correct horse battery"})
    assert is_pending(waiting)
    pending = cookie(PENDING, waiting.json()["token"])

    response = {"response": device.get(await options(service))}
    answer = await service.post(SIGN_IN, response, headers=pending)

    assert set_cookies(answer)[PENDING] == ""
