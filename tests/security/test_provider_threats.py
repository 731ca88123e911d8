"""The attacks on sign-in by providers, one group of tests per row of the threat list, each marked with its row."""

import asyncio
import base64
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Thread
from typing import Any

import pytest
from authlib.oauth2.rfc7636 import create_s256_code_challenge

from domain import tokens
from domain.admin import operator
from models import Account, OneTimeToken, Purpose, Session, User
from server.components import cleanup
from server.database.database import open_database
from tests.conftest import Headers, MakeService
from tests.contract.reading import JSON_OPERATIONS, responses
from tests.handlers import steps
from tests.handlers.steps import ADA, EVE, NEW_PASSWORD, code, count, join, opens, verify, works
from tests.labs.provider import steps as social_steps
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.labs.provider.steps import (
    OOPS,
    as_user,
    begin,
    begin_link,
    deliver,
    enter,
    error_of,
    go_through,
    identities,
    link,
    opened,
    redirect_path,
    sign_in,
    sign_in_directly,
    visit,
)
from tests.security.conftest import OpenInstance
from tests.security.second_factor import session_count
from tests.service import BASE_URL, START, Service

NOW = int(START.timestamp())
VICTIM = "victim@example.com"
DEFAULT_ERROR_PAGE = "/error"
REDIRECTING = {
    "discovery": 301,
    "jwks": 302,
    "token": 302,
    "userinfo": 307,
    "oauth_token": 302,
    "oauth_user": 307,
}
"""What a provider may redirect, the status it does so with; each is asked for only when those before have answered."""


async def nothing_came_of_it(service: Service) -> bool:
    """Return whether there is no user, no account and no session."""
    return not any([await count(service, table) for table in (User, Account, Session)])


async def own_account(service: Service, session: Headers, provider: str = "test") -> dict[str, Any]:
    """Return the listed account of a user at a provider."""
    answer = await service.get("/list-accounts", headers=session)
    return next(account for account in answer.json() if account["providerId"] == provider)


@pytest.mark.threat("V14")
class TestProviderTokens:
    """Tokens and accounts at a provider are their owner's, nobody else's."""

    @pytest.fixture
    async def ada(self, social: Service, provider: ProviderProcess) -> Headers:
        """A user with tokens of a provider."""
        as_user(provider, ADA, "1001")
        return await enter(social)

    @pytest.mark.parametrize("path", ["/get-access-token", "/refresh-token"])
    async def test_tokens_are_out_of_reach(
        self,
        social: Service,
        provider: ProviderProcess,
        ada: Headers,
        carry: Callable[[str], Headers],
        path: str,
    ) -> None:
        account, body = await own_account(social, ada), {"providerId": "test"}
        as_user(provider, EVE, "1003")
        eve = carry(steps.token_of(await enter(social)))

        nobodys = await social.post(path, body | {"userId": account["userId"]})
        answers = [
            await social.post(path, body | more, headers=eve)
            for more in (
                {"userId": account["userId"]},
                {"accountId": account["id"]},
                {"accountId": account["accountId"]},
            )
        ]

        assert code(nobodys) == "401 UNAUTHORIZED"
        assert [code(answer) for answer in answers] == ["403 FORBIDDEN", *["400 ACCOUNT_NOT_FOUND"] * 2]

    async def test_an_account_is_neither_shown_nor_unlinked(
        self, social: Service, provider: ProviderProcess, ada: Headers
    ) -> None:
        account = await own_account(social, ada)
        as_user(provider, EVE, "1003")
        eve = await enter(social)

        shown = await social.get("/account-info", params={"accountId": account["id"]}, headers=eve)
        unlinked = await social.post("/unlink-account", {"accountId": account["id"]}, headers=eve)

        assert code(shown) == "400 ACCOUNT_NOT_FOUND"
        assert code(unlinked) in {"400 ACCOUNT_NOT_FOUND", "400 FAILED_TO_UNLINK_LAST_ACCOUNT"}
        assert await own_account(social, ada) == account


@pytest.mark.threat("V15")
class TestPreparedAccounts:
    """An account that a stranger prepared under somebody's address is not shared with its owner."""

    @pytest.mark.threat("V18")
    @pytest.mark.parametrize("verified", [False, None, "true", "false", 1, [True], {}])
    async def test_an_address_the_provider_does_not_vouch_for_takes_nothing_over(
        self, social: Service, provider: ProviderProcess, verified: Any
    ) -> None:
        await join(social, VICTIM)
        await verify(social, VICTIM)
        as_user(provider, VICTIM, "7", email_verified=verified)

        answer = await sign_in(social)

        assert error_of(answer) == "account_not_linked"
        assert not opened(answer)
        assert await identities(social) == []

    async def test_the_spelling_of_an_address_makes_no_second_user(
        self, social: Service, provider: ProviderProcess
    ) -> None:
        await join(social, VICTIM)
        as_user(provider, VICTIM.upper(), "7")

        answer = await sign_in(social)

        assert error_of(answer) == "account_not_linked"
        assert await count(social, User) == 1


@pytest.mark.threat("V16")
class TestMailboxOwners:
    """Whoever proves to own the mailbox ends the sessions and the password of who did not."""

    async def test_a_reset_by_mail_ends_the_identity_the_stranger_came_in_with(
        self, social: Service, provider: ProviderProcess
    ) -> None:
        as_user(provider, VICTIM, "7", email_verified=False)
        stranger = await enter(social)
        token = await steps.reset_token(social, VICTIM)

        await social.post("/reset-password", {"token": token, "newPassword": NEW_PASSWORD})

        assert not await works(social, stranger)
        assert error_of(await sign_in(social)) == "account_not_linked"
        assert await identities(social) == []
        assert await opens(social, NEW_PASSWORD, VICTIM)

    async def test_a_proven_address_keeps_its_identities(
        self, social: Service, provider: ProviderProcess
    ) -> None:
        as_user(provider, VICTIM, "7", email_verified=True)
        await enter(social)
        token = await steps.reset_token(social, VICTIM)

        await social.post("/reset-password", {"token": token, "newPassword": NEW_PASSWORD})

        assert error_of(await sign_in(social)) is None


@pytest.mark.threat("V17")
class TestSigningKeys:
    """An ID token counts when the configured issuer signed it; what it says about its own keys is not looked at."""

    POINTERS = ("jku", "x5u")

    @pytest.fixture
    async def victim(self, social: Service) -> Headers:
        """A user whose address the stranger's token will name."""
        session = await join(social, VICTIM)
        await verify(social, VICTIM)
        return session

    @pytest.mark.parametrize("claimed", ["stranger", "real"])
    async def test_a_strangers_token_is_refused_and_the_stranger_not_asked(
        self,
        social: Service,
        victim: Headers,
        provider: ProviderProcess,
        other_provider: ProviderProcess,
        claimed: str,
    ) -> None:
        issuer = {"stranger": other_provider.issuer, "real": provider.issuer}[claimed]
        token = other_provider.mint(
            claims={"iss": issuer, "sub": "7", "email": VICTIM},
            header=dict.fromkeys(self.POINTERS, f"{other_provider.issuer}/jwks"),
        )

        answer = await sign_in_directly(social, token)

        assert code(answer) == "401 INVALID_TOKEN"
        assert other_provider.log() == []
        assert await identities(social) == []
        assert not opened(answer)

    @pytest.mark.parametrize("pointer", [*POINTERS, "jwk", "x5c"])
    async def test_a_key_that_the_token_brings_along_does_not_count(
        self, social: Service, provider: ProviderProcess, other_provider: ProviderProcess, pointer: str
    ) -> None:
        strangers, own = (one.http.get("/jwks").json()["keys"][0] for one in (other_provider, provider))
        other_provider.reset(now=NOW)
        brought = {"jwk": strangers, "x5c": ["MII"]}.get(pointer, f"{other_provider.issuer}/jwks")
        claims = {"iss": provider.issuer, "sub": "7", "email": VICTIM}

        for named in (own, strangers):
            token = other_provider.mint(claims=claims, header={pointer: brought, "kid": named["kid"]})
            assert code(await sign_in_directly(social, token)) == "401 INVALID_TOKEN"

        assert other_provider.log() == []
        assert await nothing_came_of_it(social)


Forgery = dict[str, Any]

FORGED: dict[str, Forgery] = {
    "alg none": {"header": {"alg": "none"}, "sign_with": "none"},
    "alg none in other letters": {"header": {"alg": "nOnE"}, "sign_with": "none"},
    "no alg": {"header": {"alg": None}},
    "no signature": {"sign_with": "none"},
    "HS256 under the public key": {"header": {"alg": "HS256"}, "sign_with": "hmac-public-key"},
    "HS256 under the public key, called RS256": {"sign_with": "hmac-public-key"},
    "another key of the same id": {"sign_with": "stranger"},
    "a key id that is none": {"header": {"kid": "../../etc/passwd"}},
    "a key id that is a number": {"header": {"kid": 7}},
    "a key of another type": {"header": {"alg": "ES256"}},
    "an unknown crit": {"header": {"crit": ["exp"], "exp": 1}},
    "a crit that means nothing": {"header": {"crit": ["b64"], "b64": False}},
    "an empty crit": {"header": {"crit": []}},
    "an access token": {"header": {"typ": "at+jwt"}},
    "a logout token": {"header": {"typ": "application/logout+JWT"}},
    "a type that is a list": {"header": {"typ": ["JWT"]}},
}
"""Tokens whose content is right, and whose header or signature is not."""

FALSE: dict[str, dict[str, Any]] = {
    "another client": {"aud": "another"},
    "several clients, not this one": {"aud": ["one", "two"]},
    "several clients, another one authorised": {"aud": ["gatewright", "two"], "azp": "two"},
    "several clients, none authorised": {"aud": ["gatewright", "two"]},
    "no client": {"aud": None},
    "no clients": {"aud": []},
    "a client that is a table": {"aud": {"gatewright": True}},
    "no issuer": {"iss": None},
    "another issuer": {"iss": "https://accounts.example.com"},
    "the issuers as a list": {"iss": []},
    "no end": {"exp": None},
    "an end in words": {"exp": "tomorrow"},
    "ended": {"exp": NOW - 61},
    "not yet": {"nbf": NOW + 61},
    "a beginning in words": {"nbf": "yesterday"},
    "no subject": {"sub": None},
    "an empty subject": {"sub": ""},
}
"""Tokens signed by the provider that are not for this service, not for now, or about nobody."""

P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


def respelt(token: str) -> str:
    """Return an ES256 token with the other signature that anybody can make of a valid one: (r, n - s) for (r, s)."""
    signed, _, encoded = token.rpartition(".")
    signature = base64.urlsafe_b64decode(encoded + "==")
    other = P256_ORDER - int.from_bytes(signature[32:])
    changed = signature[:32] + other.to_bytes(32)
    return f"{signed}.{base64.urlsafe_b64encode(changed).rstrip(b'=').decode()}"


@pytest.mark.threat("V18")
class TestClaims:
    """An ID token is for this client, for now, about somebody, and the answer to the nonce that was sent."""

    @pytest.mark.parametrize("what", FALSE)
    async def test_false_claims_are_refused(
        self, social: Service, provider: ProviderProcess, what: str
    ) -> None:
        as_user(provider, VICTIM, "7")
        provider.control(id_token=FALSE[what])

        direct = await sign_in_directly(social, provider.mint(claims=FALSE[what]))
        answer = await sign_in(social)

        assert code(direct) in {"401 INVALID_TOKEN", "401 FAILED_TO_GET_USER_INFO"}
        assert (redirect_path(answer), error_of(answer)) == (OOPS, "unable_to_get_user_info")
        assert await nothing_came_of_it(social)

    @pytest.mark.parametrize("issued", [None, NOW - 7200, "now"])
    async def test_a_token_presented_directly_is_young(
        self, social: Service, provider: ProviderProcess, issued: Any
    ) -> None:
        answer = await sign_in_directly(social, provider.mint(claims={"iat": issued}))

        assert code(answer) == "401 INVALID_TOKEN"
        assert await nothing_came_of_it(social)

    @pytest.mark.parametrize("nonce", [None, "another", "", 7])
    async def test_the_nonce_that_was_sent_must_be_there(
        self, social: Service, provider: ProviderProcess, nonce: Any
    ) -> None:
        as_user(provider, VICTIM, "7")
        provider.control(id_token={"nonce": nonce})
        token = provider.mint(claims={"nonce": nonce})

        direct = await sign_in_directly(social, {"token": token, "nonce": "mine"})
        answer = await sign_in(social)

        assert code(direct) == "401 INVALID_TOKEN"
        assert error_of(answer) == "unable_to_get_user_info"
        assert await nothing_came_of_it(social)

    async def test_the_nonce_of_an_earlier_flow_is_not_this_ones(
        self, social: Service, provider: ProviderProcess
    ) -> None:
        as_user(provider, VICTIM, "7")
        earlier, later = await begin(social), await begin(social)
        provider.control(id_token={"nonce": earlier.url.params["nonce"]})

        answer = await go_through(social, later)

        assert earlier.url.params["nonce"] != later.url.params["nonce"]
        assert error_of(answer) == "unable_to_get_user_info"
        assert await nothing_came_of_it(social)

    @pytest.mark.parametrize("subject", ["8", None, "", 8, ["7"]])
    async def test_userinfo_about_somebody_else_is_not_believed(
        self, social: Service, provider: ProviderProcess, subject: Any
    ) -> None:
        as_user(provider, VICTIM, "7")
        provider.control(
            id_token={"email": None, "name": None},
            misbehave={"userinfo": {"json": {"sub": subject, "email": ADA, "email_verified": True}}},
        )

        answer = await sign_in(social)

        assert error_of(answer) in {"unable_to_get_user_info", "email_not_found"}
        assert await nothing_came_of_it(social)

    @pytest.mark.parametrize("names", [True, False])
    @pytest.mark.parametrize("first", ["as it is", "respelt"])
    async def test_a_token_that_answers_a_nonce_signs_in_once(
        self, social: Service, provider: ProviderProcess, names: bool, first: str
    ) -> None:
        token = provider.mint(claims={"nonce": "abc"}, algorithm="ES256")
        used, other = (token, respelt(token)) if first == "as it is" else (respelt(token), token)

        answers = [
            await sign_in_directly(social, {"token": spelt, "nonce": "abc"} if names else spelt)
            for spelt in (used, used, other)
        ]

        assert used != other
        assert [code(answer) for answer in answers] == ["200", *["401 INVALID_TOKEN"] * 2]
        assert await session_count(social) == 1

    async def test_it_links_once_and_signs_in_no_more(
        self, social: Service, provider: ProviderProcess
    ) -> None:
        ada = await join(social, ADA)
        token = provider.mint(claims={"sub": "7", "email": ADA, "email_verified": True, "nonce": "abc"})
        body = {"provider": "test", "idToken": {"token": token, "nonce": "abc"}}

        linked = [await social.post("/link-social", body, headers=ada) for _ in range(2)]
        answer = await sign_in_directly(social, body["idToken"])

        assert [code(one) for one in (*linked, answer)] == ["200", *["401 INVALID_TOKEN"] * 2]
        assert await session_count(social) == 1

    @pytest.mark.both_databases
    async def test_at_two_instances_at_once_one_wins(
        self, open_instance: OpenInstance, provider: ProviderProcess
    ) -> None:
        instances = [await open_instance(social_settings(provider)) for _ in range(2)]
        token = {"token": provider.mint(claims={"nonce": "abc"}), "nonce": "abc"}

        answers = await asyncio.gather(*(sign_in_directly(one, token) for one in instances * 4))

        assert Counter(map(code, answers)) == {"200": 1, "401 INVALID_TOKEN": 7}
        assert await session_count(instances[0]) == 1

    @pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
    async def test_nobody_slips_in_after_a_look_that_saw_no_mark(
        self, open_instance: OpenInstance, provider: ProviderProcess
    ) -> None:
        instance = await open_instance(social_settings(provider))
        token, now = provider.mint(claims={"nonce": "abc"}), instance.clock.now
        digest = tokens.digest(token.rpartition(".")[0])
        mark = OneTimeToken(
            digest=digest, purpose=Purpose.SPENT, expires_at=now, created_at=now, updated_at=now
        )
        looks: list[str] = []

        async def commit_mark() -> None:
            url = instance.services.settings.database_url.get_secret_value()
            database = await open_database(url, pool_size=3, timeout=20)
            async with database.transaction() as db:
                db.add(mark)
            await database.close()

        @contextmanager
        def let_another_go_ahead(sql: str, arguments: Sequence[object]) -> Iterator[None]:
            yield
            if digest in arguments and not looks:
                looks.append(sql)
                other = Thread(target=asyncio.run, args=(commit_mark(),))
                other.start()
                other.join()

        instance.services.database.hook = let_another_go_ahead

        assert code(await sign_in_directly(instance, {"token": token, "nonce": "abc"})) == "401 INVALID_TOKEN"
        assert looks[0].startswith("SELECT")
        assert await session_count(instance) == 0

    async def test_it_stays_used_as_long_as_it_is_valid(
        self, social: Service, provider: ProviderProcess
    ) -> None:
        token = provider.mint(claims={"nonce": "abc", "iat": NOW + 60, "exp": NOW + 7200})
        first = await sign_in_directly(social, token)
        answers, marks = [], []

        for minutes in (61, 2):
            social.clock.advance(minutes=minutes)
            await cleanup.delete_expired(social.services.database, social.clock())
            marks.append(await count(social, OneTimeToken))
            answers.append(await sign_in_directly(social, token))

        assert [code(answer) for answer in (first, *answers)] == ["200", *["401 INVALID_TOKEN"] * 2]
        assert marks == [1, 0]

    async def test_it_stays_used_when_everybody_is_signed_out(
        self, social: Service, provider: ProviderProcess
    ) -> None:
        token = provider.mint(claims={"nonce": "abc"})
        await sign_in_directly(social, token)

        await social.services.unit_of_work.run(operator.sign_out_everyone)

        assert code(await sign_in_directly(social, token)) == "401 INVALID_TOKEN"

    @pytest.mark.parametrize(
        ("path", "nonce"),
        [("/get-access-token", {}), ("/refresh-token", {}), ("/refresh-token", {"nonce": None})],
    )
    async def test_a_token_that_the_service_asked_for_signs_nobody_in(
        self, social: Service, provider: ProviderProcess, path: str, nonce: dict[str, None]
    ) -> None:
        as_user(provider, ADA, "1001")
        ada = await enter(social)
        provider.control(id_token=nonce)
        token = (await social.post(path, {"providerId": "test"}, headers=ada)).json()["idToken"]
        await social.services.unit_of_work.run(operator.sign_out_everyone)

        answer = await sign_in_directly(social, token)

        assert code(answer) == "401 INVALID_TOKEN"
        assert await session_count(social) == 0

    async def test_nor_does_it_link(self, social: Service, provider: ProviderProcess) -> None:
        as_user(provider, ADA, "1001")
        ada = await enter(social)
        tokens = await social.post("/get-access-token", {"providerId": "test"}, headers=ada)
        await social.post("/delete-user", headers=ada)
        again = await join(social, ADA)
        body = {"provider": "test", "idToken": tokens.json()["idToken"]}

        answer = await social.post("/link-social", body, headers=again)

        assert code(answer) == "401 INVALID_TOKEN"
        assert await identities(social) == []

    async def test_a_token_that_came_by_linking_signs_nobody_in(
        self, social: Service, provider: ProviderProcess
    ) -> None:
        as_user(provider, ADA, "1001")
        ada = await join(social, ADA)
        await link(social, ada)
        tokens = await social.post("/get-access-token", {"providerId": "test"}, headers=ada)

        answer = await sign_in_directly(social, tokens.json()["idToken"])

        assert code(answer) == "401 INVALID_TOKEN"


@pytest.mark.threat("V19")
class TestAlgorithms:
    """The library that reads signatures is not led astray, and does not read what is too long."""

    @pytest.mark.parametrize("what", FORGED)
    async def test_forged_tokens_are_refused(
        self, social: Service, provider: ProviderProcess, what: str
    ) -> None:
        forgery = FORGED[what]
        direct = await sign_in_directly(social, provider.mint(**forgery))
        as_user(provider, VICTIM, "7")
        provider.control(
            id_token_header=forgery.get("header", {}),
            id_token={"iat": NOW},
            sign_with=forgery.get("sign_with", "own"),
        )

        answer = await sign_in(social)

        assert code(direct) == "401 INVALID_TOKEN"
        assert error_of(answer) == "unable_to_get_user_info"
        assert await nothing_came_of_it(social)

    @pytest.mark.parametrize(
        ("size", "expected", "error"),
        [
            (20_000, "401 INVALID_TOKEN", "unable_to_get_user_info"),
            (2**20, "413 PAYLOAD_TOO_LARGE", "provider_unavailable"),
        ],
    )
    async def test_a_long_header_is_not_read(
        self, social: Service, provider: ProviderProcess, size: int, expected: str, error: str
    ) -> None:
        header = {"padding": "x" * size}
        as_user(provider, VICTIM, "7")
        provider.control(id_token_header=header)

        direct = await sign_in_directly(social, provider.mint(header=header))
        answer = await sign_in(social)

        assert (code(direct), error_of(answer)) == (expected, error)
        assert await nothing_came_of_it(social)


@pytest.mark.threat("V20")
class TestSubjects:
    """A subject means something at its own provider only, and nothing when there is none."""

    async def test_a_number_is_the_same_subject_as_its_digits_at_one_provider(
        self, social: Service, provider: ProviderProcess
    ) -> None:
        provider.control(user={"sub": 99999, "email": ADA})
        first = await steps.user_of(social, await enter(social, "plain"))
        provider.control(user={"sub": "99999", "email": EVE})

        second = await steps.user_of(social, await enter(social, "plain"))

        assert first["id"] == second["id"]
        assert await identities(social) == [("plain", "99999")]

    @pytest.mark.parametrize("subject", [None, "", "   ", 0, 1.5, True, ["7"], {"id": 7}])
    async def test_no_subject_is_nobody(
        self, social: Service, provider: ProviderProcess, subject: Any
    ) -> None:
        provider.control(user={"sub": subject, "email": VICTIM})

        answers = [await sign_in(social, provider_id) for provider_id in ("test", "plain")]
        direct = await sign_in_directly(social, provider.mint(claims={"sub": subject}))

        assert [error_of(answer) for answer in answers] == ["unable_to_get_user_info"] * 2
        assert code(direct) in {"401 INVALID_TOKEN", "401 FAILED_TO_GET_USER_INFO"}
        assert await nothing_came_of_it(social)


@pytest.mark.threat("V56")
class TestMixUp:
    """What began at one provider does not end at another."""

    @pytest.mark.parametrize(
        ("provider_id", "said"), [("test", "&error=access_denied&code=x"), ("plain", "")]
    )
    async def test_another_issuer_is_not_listened_to(
        self, social: Service, provider_id: str, said: str
    ) -> None:
        flow = await begin(social, provider_id)

        answer = await deliver(
            social, f"/callback/{provider_id}?state={flow.state}{said}&iss=https://evil.test", flow
        )

        assert error_of(answer) == "issuer_mismatch"

    async def test_an_announced_issuer_must_be_there(
        self, make_cold_service: MakeService, provider: ProviderProcess
    ) -> None:
        service = await make_cold_service(social_settings(provider))
        as_user(provider, ADA, "1001")
        provider.control(announce_iss=True)

        without = await sign_in(service)
        provider.control(send_iss=True)
        with_it = await sign_in(service)

        assert (error_of(without), error_of(with_it)) == ("issuer_mismatch", None)


@pytest.mark.threat("V57")
class TestPkce:
    """Every exchange is bound to the flow that asked for it (PKCE with S256)."""

    @pytest.mark.parametrize(("provider_id", "endpoint"), [("test", "token"), ("plain", "oauth_token")])
    async def test_the_verifier_fits_the_challenge_and_is_new_each_time(
        self, social: Service, provider: ProviderProcess, provider_id: str, endpoint: str
    ) -> None:
        as_user(provider, ADA, "1001")
        flows = [await begin(social, provider_id) for _ in range(3)]

        for flow in flows:
            assert error_of(await go_through(social, flow)) is None

        verifiers = [seen["form"]["code_verifier"] for seen in provider.log(endpoint)]
        assert len(set(verifiers)) == 3
        assert all(re.fullmatch(r"[A-Za-z0-9._~-]{43,128}", verifier) for verifier in verifiers)
        assert [create_s256_code_challenge(verifier) for verifier in verifiers] == [
            flow.url.params["code_challenge"] for flow in flows
        ]
        assert {flow.url.params["code_challenge_method"] for flow in flows} == {"S256"}
        assert all(verifier not in str(flow.url) for verifier in verifiers for flow in flows)


@pytest.mark.threat("V58")
class TestSimultaneousCallbacks:
    """A callback works once, however often it arrives at the same time."""

    @pytest.mark.both_databases
    async def test_ten_links_at_once_are_one_account(
        self, social: Service, provider: ProviderProcess
    ) -> None:
        session = await join(social, ADA)
        as_user(provider, ADA, "1001")
        flow = await begin_link(social, session)
        back = await visit(flow)

        answers = await asyncio.gather(*(deliver(social, back, flow) for _ in range(10)))

        assert Counter(map(error_of, answers)) == {None: 1, "state_mismatch": 9}
        assert await identities(social) == [("test", "1001")]
        assert len(provider.log("token")) == 1


@pytest.mark.threat("V59")
class TestAddressesOfProviders:
    """A provider sends this service nowhere."""

    async def test_redirects_of_a_provider_are_not_followed(
        self, make_cold_service: MakeService, provider: ProviderProcess, other_provider: ProviderProcess
    ) -> None:
        service = await make_cold_service(social_settings(provider))
        as_user(provider, ADA, "1001")
        provider.control(id_token={"email": None})
        target = f"{other_provider.issuer}/latest/meta-data/iam"

        for endpoint, status in REDIRECTING.items():
            redirect = {endpoint: {"redirect": target, "status": status}}
            provider.control(misbehave=redirect, now=service.clock.now.timestamp())
            answer = await social_steps.ask(service, "plain" if endpoint.startswith("oauth") else "test")
            ended = (
                code(answer)
                if answer.status_code != 200
                else error_of(await go_through(service, social_steps.begun(answer)))
            )
            assert ended in {"503 PROVIDER_UNAVAILABLE", "provider_unavailable"}, endpoint
            assert provider.log(endpoint)
            provider.control(misbehave={endpoint: None})
            # What has just failed is not asked for again at once.
            service.clock.advance(minutes=2)

        assert other_provider.log() == []
        assert await nothing_came_of_it(service)


HOSTILE = "<script>alert(1)</script>é\r\nX-Injected: 1\x1b\u202e"


@pytest.mark.threat("V60")
class TestErrorsOfProviders:
    """What a provider, or anybody, says about an error is passed on as words, not as headers or markup."""

    async def test_without_a_flow_nothing_is_passed_on(self, social: Service) -> None:
        answer = await social.get(
            "/callback/test", params={"error": "\r\nX: 1", "error_description": HOSTILE}
        )

        assert (redirect_path(answer), error_of(answer)) == (DEFAULT_ERROR_PAGE, "state_not_found")
        assert "script" not in answer.headers["location"]

    @pytest.mark.parametrize("query", ["error=%ff%fe", "error_description=%00", "state=%c3%28&error=a"])
    async def test_bytes_that_are_no_text_break_nothing(self, social: Service, query: str) -> None:
        flow = await begin(social)

        answer = await social.get(f"/callback/test?state={flow.state}&{query}", headers=flow.headers)

        assert answer.status_code in {302, 400}
        assert not opened(answer)

    async def test_a_form_is_no_way_around(self, social: Service) -> None:
        flow = await begin(social)
        form = {"state": flow.state, "error": "\r\nX: 1", "error_description": HOSTILE}

        answer = await social.client.post("/callback/test", data=form, headers=flow.headers)

        assert answer.status_code == 303
        assert re.fullmatch(r"[!-~]+", answer.headers["location"])
        assert "x-injected" not in answer.headers
        assert answer.headers["location"].startswith(f"{BASE_URL}/callback/test?")

    @pytest.mark.parametrize("provider_id", ["%0d%0aX-Injected:%201", "a%3f%23b", "%3Cscript%3E", "t%c3%28"])
    async def test_nor_is_the_name_of_a_provider(self, social: Service, provider_id: str) -> None:
        answer = await social.client.post(f"/callback/{provider_id}", data={"state": "a"})

        assert answer.status_code == 303
        assert "x-injected" not in answer.headers
        location = answer.headers["location"]
        assert re.fullmatch(r"[!-~]+", location)
        assert re.fullmatch(rf"{re.escape(BASE_URL)}/callback/[^/?#<>]+\?state=a", location)


EXPECTED = {
    "response_type",
    "client_id",
    "redirect_uri",
    "scope",
    "state",
    "nonce",
    "code_challenge",
    "code_challenge_method",
}
INJECTIONS = (
    "&prompt=none&client_id=x",
    "a@b.test&redirect_uri=https://evil.test/",
    "%26prompt=none",
    "#fragment",
    "a b+c;d=e",
    "é\u202e",
)


@pytest.mark.threat("V61")
class TestParameters:
    """What a caller supplies is one value of the provider's address, whatever is in it."""

    @pytest.mark.parametrize("injection", INJECTIONS)
    async def test_a_login_hint_and_scopes_add_no_parameter(self, social: Service, injection: str) -> None:
        # The contract has no other scopes than those of ASCII.
        scopes = [[injection], injection] if injection.isascii() else []

        flows = [await begin(social, loginHint=injection, scopes=some) for some in ([], *scopes)]

        for flow in flows:
            names = Counter(name for name, _ in flow.url.params.multi_items())
            assert names == Counter(EXPECTED | {"login_hint"})
            assert flow.url.params["login_hint"] == injection
            assert flow.url.params["client_id"] == "gatewright"
            assert flow.url.params["redirect_uri"] == f"{BASE_URL}/callback/test"
            assert "openid" in flow.url.params["scope"].split()
            assert not flow.url.fragment


@pytest.mark.threat("V62")
class TestRedirectCodes:
    """No redirect makes a browser send a body once more."""

    def test_the_contract_knows_no_307_or_308(self) -> None:
        redirects = {
            status
            for operation in JSON_OPERATIONS.values()
            for status in responses(operation)
            if 300 <= status < 400
        }

        assert redirects - {304} == {302, 303}
