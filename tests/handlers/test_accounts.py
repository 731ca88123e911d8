"""Linked accounts and what providers gave for later calls, through the public door.

The attacks on them stand in tests/security/test_provider_threats.py.
"""

import asyncio
import io
import json
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

import httpx
import pytest

from domain.accounts.accounts import ACCESS_TOKEN, REFRESH_TOKEN
from domain.identity_provider import IdentityProviders
from domain.social import token_refresh
from models import Account
from models.account import ACCOUNTS_OF_USER
from tests.conftest import Headers, MakeService
from tests.handlers.steps import (
    ADA,
    EVE,
    bearer,
    code,
    count,
    execute,
    join,
    opens,
    refusal,
    set_user,
    token_of,
    until_blocked,
    user_of,
    works,
)
from tests.handlers.test_social import audited, id_token, locked, restarted
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.labs.provider.state import CLIENT_ID, CLIENT_SECRET
from tests.labs.provider.steps import (
    OOPS,
    WELCOME,
    as_user,
    begin_link,
    deliver,
    enter,
    error_of,
    go_through,
    held_back,
    identities,
    link,
    visit,
)
from tests.security.second_factor import SESSION, also, cookie, set_cookies
from tests.service import BASE_URL, PASSWORD, Service

NOT_FOUND = (400, "ACCOUNT_NOT_FOUND", "Account not found")
LAST = (400, "FAILED_TO_UNLINK_LAST_ACCOUNT", "You can't unlink your last account")
NO_TOKEN = (400, "FAILED_TO_GET_ACCESS_TOKEN", "Failed to get a valid access token")
NOT_REFRESHED = (400, "FAILED_TO_REFRESH_ACCESS_TOKEN", "Failed to refresh access token")
UNAVAILABLE = (503, "PROVIDER_UNAVAILABLE", "Provider unavailable")
NOBODY_KNOWN = (401, "FAILED_TO_GET_USER_INFO", "Failed to get user info")
INVALID = (401, "INVALID_TOKEN", "Invalid token")
NO_EMAIL = (401, "USER_EMAIL_NOT_FOUND", "User email not found")
NOT_ALLOWED = (401, "LINKING_NOT_ALLOWED", "Account not linked - linking not allowed")
DIFFERENT = "Account not linked - different emails not allowed"
OTHER_EMAIL = (401, "LINKING_DIFFERENT_EMAILS_NOT_ALLOWED", DIFFERENT)
NOT_NAMED = (400, "VALIDATION_ERROR", "providerId or accountId is required")


def not_named_in(place: str) -> list[dict[str, str]]:
    """Return the fields of which one is required."""
    return [
        {"in": place, "name": name, "message": "providerId or accountId is required"}
        for name in ("providerId", "accountId")
    ]


REFUSING = {"json": {"error": "invalid_grant"}, "status": 400}
LINGERING = {"hang": 2}
"""Seconds within which everybody who asks at once has asked; who comes after the answer would have it asked again."""
TOKEN_PATHS = ("/get-access-token", "/refresh-token")


@pytest.fixture
async def ada(social: Service, provider: ProviderProcess) -> Headers:
    """A user with a password and a verified address, who is Ada at the provider, too."""
    session = await join(social)
    social.client.cookies.clear()
    await set_user(social, email_verified=True)
    as_user(provider, ADA, "1001")
    return session


@pytest.fixture
async def linked(social: Service, provider: ProviderProcess) -> Headers:
    """A user who came through the provider."""
    as_user(provider, ADA, "1001")
    return await enter(social)


async def directly(service: Service, session: Headers, token: str) -> httpx.Response:
    """Link the identity of an ID token."""
    return await service.post("/link-social", {"provider": "test", "idToken": token}, headers=session)


async def listed(service: Service, session: Headers) -> list[dict[str, Any]]:
    """Return the accounts of a user."""
    answer = await service.get("/list-accounts", headers=session)
    assert answer.status_code == 200, answer.text
    accounts: list[dict[str, Any]] = answer.json()
    return accounts


async def ask(service: Service, session: Headers, path: str = "/get-access-token") -> httpx.Response:
    """Ask for the tokens of a user at the provider `test`."""
    return await service.post(path, {"providerId": "test"}, headers=session)


async def tokens(service: Service, session: Headers, path: str = "/get-access-token") -> dict[str, Any]:
    """Return the tokens of a user at the provider `test`."""
    answer = await ask(service, session, path)
    assert answer.status_code == 200, answer.text
    shape: dict[str, Any] = answer.json()
    return shape


async def flow_count(service: Service) -> int:
    """Return the number of flows that are under way."""
    return len(await service.rows("""SELECT digest FROM "grant" WHERE purpose = 'oauth-state'"""))


async def hold_lease(service: Service, *, seconds: int) -> list[Any]:
    """Take the lease of every account for so long, as another instance would; return the rows."""
    is_postgresql = service.services.database.dialect == "postgresql"
    moment = "to_timestamp(:held / 1000.0)" if is_postgresql else ":held"
    held = (int(service.clock.now.timestamp()) + seconds) * 1000
    await execute(service, f"UPDATE account SET refresh_lease_until = {moment}", held=held)
    return await service.rows("SELECT refresh_lease_until FROM account")


@pytest.mark.operation("social.link")
class TestLink:
    async def test_leads_to_the_provider_and_links_on_the_way_back(
        self, social: Service, ada: Headers
    ) -> None:
        before = await user_of(social, ada)
        wanted: dict[str, Any] = {
            "callbackURL": "/in?a=b",
            "scopes": "calendar",
            "requestSignUp": True,
            "loginHint": ADA,
        }
        begun = await social.post("/link-social", {"provider": "test", **wanted}, headers=ada)
        social.client.cookies.clear()

        flow = await begin_link(social, ada, **wanted)
        answer = await go_through(social, flow)

        assert begun.json() == {"url": begun.json()["url"], "redirect": True}
        assert flow.url.params["scope"] == "openid email profile calendar"
        assert flow.url.params["login_hint"] == ADA
        assert answer.headers["location"] == f"{BASE_URL}/in?a=b"
        assert list(set_cookies(answer).values()) == [""]
        assert await identities(social) == [("test", "1001")]
        assert await user_of(social, ada) == before
        assert await audited(social, "account.linked") == [("success", None)]

    async def test_by_an_id_token_is_done_at_once(
        self, social: Service, provider: ProviderProcess, ada: Headers
    ) -> None:
        answers = [await directly(social, ada, id_token(provider)) for _ in range(2)]

        for answer in answers:
            assert answer.json() == {"url": "", "status": True, "redirect": False}
            assert "set-cookie" not in answer.headers
        assert await identities(social) == [("test", "1001")]
        assert await flow_count(social) == 0

    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            ({"provider": "nobody"}, (404, "PROVIDER_NOT_FOUND", "Provider not found")),
            ({"provider": "nobody", "idToken": "a.b.c"}, (404, "PROVIDER_NOT_FOUND", "Provider not found")),
            (
                {"provider": "plain", "idToken": "a.b.c"},
                (404, "ID_TOKEN_NOT_SUPPORTED", "id_token not supported"),
            ),
            ({"provider": "test", "idToken": "a.b.c"}, INVALID),
            (
                {"provider": "test", "callbackURL": "//evil.test"},
                (403, "INVALID_CALLBACK_URL", "Invalid callbackURL"),
            ),
        ],
    )
    async def test_is_refused(
        self, social: Service, ada: Headers, body: dict[str, Any], expected: tuple[int, str, str]
    ) -> None:
        assert refusal(await social.post("/link-social", body, headers=ada)) == expected
        assert await flow_count(social) == 0

    @pytest.mark.parametrize(
        ("claims", "rules", "expected", "error"),
        [
            ({"aud": "another"}, {}, INVALID, "unable_to_get_user_info"),
            ({"sub": None}, {}, NOBODY_KNOWN, "unable_to_get_user_info"),
            ({"email": None}, {}, NO_EMAIL, "email_not_found"),
            ({"email_verified": False}, {}, NOT_ALLOWED, "unable_to_link_account"),
            ({}, {"enabled": "false"}, NOT_ALLOWED, "unable_to_link_account"),
            ({"email": EVE}, {}, OTHER_EMAIL, "email_does_not_match"),
            ({"email": EVE}, {"allow_different_emails": "true"}, None, None),
            ({"email_verified": False}, {"trusted_providers": "test"}, None, None),
            ({}, {"implicit": "false"}, None, None),
        ],
    )
    async def test_follows_the_rules(
        self,
        make_service: MakeService,
        provider: ProviderProcess,
        claims: dict[str, Any],
        rules: dict[str, str],
        expected: tuple[int, str, str] | None,
        error: str | None,
    ) -> None:
        settings = {f"account_linking.{name}": value for name, value in rules.items()}
        service = await make_service({**social_settings(provider), **settings})
        ada = await join(service)
        service.client.cookies.clear()
        user = {"sub": "1001", "email": ADA, "email_verified": True, "name": "Ada", **claims}
        # Who has no subject is nobody to the provider; the ID token can name nobody all the same.
        provider.control(user={**user, "sub": "1001"}, id_token=claims)

        answer = await link(service, ada)
        token = await directly(service, ada, id_token(provider, **claims))

        assert error_of(answer) == error
        assert answer.headers["location"].startswith(BASE_URL + (OOPS if error else WELCOME))
        assert await identities(service) == ([("test", "1001")] if error is None else [])
        assert (await user_of(service, ada))["emailVerified"] is False
        if expected is None:
            assert token.status_code == 200
        else:
            assert refusal(token) == expected
            recorded = [code for _, code in await audited(service, "account.link_refused")]
            by_redirect = error if error == "unable_to_get_user_info" else expected[1]
            assert recorded == sorted([by_redirect, expected[1]])

    async def test_leaves_an_identity_to_its_owner(
        self, social: Service, provider: ProviderProcess, ada: Headers
    ) -> None:
        as_user(provider, EVE, "1003", email_verified=True)
        eve = await enter(social)
        before = await listed(social, eve)

        answer = await link(social, ada)
        direct = await directly(social, ada, id_token(provider, sub="1003", email=EVE))

        assert error_of(answer) == "account_already_linked_to_different_user"
        assert refusal(direct) == (409, "SOCIAL_ACCOUNT_ALREADY_LINKED", "Social account already linked")
        assert await listed(social, eve) == before

    async def test_again_adds_scopes_and_takes_none_away(
        self, social: Service, provider: ProviderProcess, ada: Headers
    ) -> None:
        await link(social, ada, scopes="calendar")
        await link(social, ada, scopes=["contacts"])
        as_user(provider, EVE, "1001", email_verified=False)
        again = await link(social, ada)

        account = next(one for one in await listed(social, ada) if one["provider"] == "test")
        assert error_of(again) is None
        assert account["scopes"] == ["openid", "email", "profile", "calendar", "contacts"]

    async def test_keeps_the_first_hundred_scopes(self, social: Service, ada: Headers) -> None:
        for letter in "ab":
            await link(social, ada, scopes=[f"{letter}{number}" for number in range(90)])

        [account] = [one for one in await listed(social, ada) if one["provider"] == "test"]
        first = ["openid", "email", "profile", *(f"a{number}" for number in range(90))]
        assert account["scopes"] == [*first, *(f"b{number}" for number in range(7))]

    @pytest.mark.parametrize(
        ("changes", "recorded"),
        [
            ({"misbehave": {"token": {"json": {"error": "invalid_grant"}}}}, "invalid_code"),
            ({"misbehave": {"token": {"status": 500}}}, "PROVIDER_UNAVAILABLE"),
            ({"callback_error": {"error": "access_denied"}}, "access_denied"),
        ],
    )
    async def test_is_put_on_record_when_it_fails(
        self, social: Service, provider: ProviderProcess, ada: Headers, changes: dict[str, Any], recorded: str
    ) -> None:
        provider.control(**changes)

        await link(social, ada)

        assert await audited(social, "account.link_refused") == [("refused", recorded)]
        assert await audited(social, "sign_in.failed") == []

    @pytest.mark.threat("V54")
    @pytest.mark.parametrize("how", ["signed out", "expired", "banned"])
    async def test_needs_the_session_that_began_it(
        self, social: Service, provider: ProviderProcess, ada: Headers, how: str
    ) -> None:
        flow = await begin_link(social, ada)
        back = await visit(flow)
        if how == "signed out":
            await social.post("/sign-out", headers=ada)
        elif how == "banned":
            await set_user(social, banned=True)
        else:
            await execute(social, "UPDATE session SET expires_at = created_at")

        answer = await deliver(social, back, flow)

        assert answer.headers["location"] == f"{BASE_URL}{OOPS}?error=unable_to_link_account"
        assert await identities(social) == []
        assert provider.log("token") == []
        assert await audited(social, "account.link_refused") == [("refused", "UNAUTHORIZED")]

    async def test_needs_that_session_when_the_provider_has_answered_too(
        self, social: Service, provider: ProviderProcess, ada: Headers
    ) -> None:
        async with held_back(provider, "userinfo", link(social, ada)) as coming:
            await social.post("/sign-out", headers=ada)

        assert error_of(await coming) == "unable_to_link_account"
        assert await identities(social) == []

    async def test_of_what_somebody_else_has_just_linked_is_refused(
        self, social: Service, provider: ProviderProcess, ada: Headers
    ) -> None:
        eve = (await user_of(social, await join(social, EVE)))["id"]
        social.client.cookies.clear()
        now = social.clock.now
        async with social.services.database.transaction() as faster:
            faster.add(
                Account(
                    id="x" * 32, user_id=eve, provider_id="test", issuer=provider.issuer, account_id="1001",
                    created_at=now, updated_at=now,
                )
            )  # fmt: skip
            await faster.flush()
            coming = asyncio.create_task(directly(social, ada, id_token(provider)))
            if social.services.database.dialect == "postgresql":
                await until_blocked(social)

        assert code(await coming) == "409 SOCIAL_ACCOUNT_ALREADY_LINKED"

    @pytest.mark.threat("V21", "V54")
    async def test_is_for_nobody_else_in_the_same_browser(self, social: Service, ada: Headers) -> None:
        eve = token_of(await join(social, EVE))
        social.client.cookies.clear()
        own = token_of(ada)
        told = []
        unknown = f"; {SESSION}=".join(letter * 32 for letter in "vwxyz")
        strangers = (eve, f"{own}; {SESSION}={eve}", f"{eve}; {SESSION}={'x' * 32}", unknown)
        for presented in (*strangers, f"{own}; {SESSION}={'x' * 32}", "x" * 32, "%", own):
            flow = await begin_link(social, ada)
            answer = await social.get(await visit(flow), headers=also(flow.headers, SESSION, presented))
            told.append(error_of(answer))
        flow = await begin_link(social, ada)
        in_eves_browser = await social.get(await visit(flow), headers=cookie(SESSION, eve))

        assert told == ["unable_to_link_account"] * 4 + [None] * 4
        assert error_of(in_eves_browser) == "state_mismatch"
        assert await works(social, bearer(eve))


@pytest.mark.operation("accounts.list_linked")
class TestList:
    async def test_shows_every_way_to_sign_in(
        self, social: Service, provider: ProviderProcess, ada: Headers
    ) -> None:
        social.clock.advance(minutes=1)
        provider.control(now=social.clock.now.timestamp())
        await link(social, ada)

        first, second = await listed(social, ada)

        user = await user_of(social, ada)
        assert first == {
            "id": first["id"],
            "provider": "credential",
            "providerId": "credential",
            "issuer": "",
            "accountId": user["id"],
            "userId": user["id"],
            "scopes": [],
            "createdAt": "2026-01-01T12:00:00.000Z",
            "updatedAt": "2026-01-01T12:00:00.000Z",
        }
        assert second == {
            "id": second["id"],
            "provider": "test",
            "providerId": "test",
            "issuer": provider.issuer,
            "accountId": "1001",
            "userId": user["id"],
            "scopes": ["openid", "email", "profile"],
            "createdAt": "2026-01-01T12:01:00.000Z",
            "updatedAt": "2026-01-01T12:01:00.000Z",
        }


@pytest.mark.operation("accounts.unlink")
class TestUnlink:
    @pytest.mark.parametrize("by", ["provider", "row", "subject", "both"])
    async def test_takes_one_way_away(self, social: Service, ada: Headers, by: str) -> None:
        await link(social, ada)
        row = next(one for one in await listed(social, ada) if one["provider"] == "test")
        named = {
            "provider": {"providerId": "test"},
            "row": {"accountId": row["id"]},
            "subject": {"accountId": "1001"},
            "both": {"providerId": "test", "accountId": "1001"},
        }

        answer = await social.post("/unlink-account", named[by], headers=ada)

        assert answer.json() == {"status": True}
        assert await identities(social) == []
        assert await works(social, ada)
        assert await audited(social, "account.unlinked") == [("success", None)]

    async def test_takes_the_oldest_of_several(
        self, make_service: MakeService, provider: ProviderProcess
    ) -> None:
        service = await make_service(social_settings(provider))
        ada = await join(service)
        for subject in ("1002", "1001"):
            service.clock.advance(minutes=1)
            await directly(service, ada, id_token(provider, sub=subject))

        await service.post("/unlink-account", {"providerId": "test"}, headers=ada)

        assert await identities(service) == [("test", "1001")]

    async def test_of_the_credential_removes_the_password(self, social: Service, ada: Headers) -> None:
        await link(social, ada)

        answer = await social.post("/unlink-account", {"providerId": "credential"}, headers=ada)

        assert answer.status_code == 200
        assert not await opens(social, PASSWORD)
        last = await social.post("/unlink-account", {"providerId": "test"}, headers=ada)
        assert refusal(last) == LAST

    async def test_leaves_the_last_one(self, social: Service, ada: Headers) -> None:
        for named in ({"providerId": "credential"}, {"providerId": "nobody"}, {"accountId": "x"}):
            assert refusal(await social.post("/unlink-account", named, headers=ada)) == LAST
        assert await opens(social, PASSWORD)

    async def test_leaves_the_last_one_unless_the_operator_lets_it_go(
        self, make_service: MakeService
    ) -> None:
        service = await make_service({"account_linking.allow_unlinking_all": "true"})
        ada = await join(service)

        gone = await service.post("/unlink-account", {"providerId": "credential"}, headers=ada)
        nothing = await service.post("/unlink-account", {"providerId": "credential"}, headers=ada)

        assert (gone.status_code, refusal(nothing)) == (200, NOT_FOUND)
        assert await count(service, Account) == 0

    async def test_needs_one_to_be_named(self, social: Service, ada: Headers) -> None:
        answer = await social.post("/unlink-account", headers=ada)

        assert refusal(answer) == NOT_NAMED
        assert answer.json()["fields"] == not_named_in("body")

    async def test_does_not_find_what_is_not_there(self, social: Service, ada: Headers) -> None:
        await link(social, ada)
        told = []
        for named in (
            {"providerId": "plain"},
            {"accountId": ""},
            {"providerId": "plain", "accountId": "1001"},
        ):
            told.append(refusal(await social.post("/unlink-account", named, headers=ada)))

        assert told == [NOT_FOUND] * 3
        assert await count(social, Account) == 2

    @pytest.mark.both_databases
    async def test_of_the_last_two_at_once_leaves_one(self, social: Service, ada: Headers) -> None:
        await link(social, ada)

        answers = await asyncio.gather(
            *(
                social.post("/unlink-account", {"providerId": provider_id}, headers=ada)
                for provider_id in ("test", "credential") * 3
            )
        )

        assert sorted(answer.status_code for answer in answers) == [200] + [400] * 5
        assert await count(social, Account) == 1


class TestTokens:
    @pytest.mark.threat("V14")
    async def test_are_given_as_the_provider_gave_them(
        self, social: Service, provider: ProviderProcess, linked: Headers
    ) -> None:
        shown = await tokens(social, linked)

        [account] = await listed(social, linked)
        assert shown == {
            "tokenType": "Bearer",
            "accessToken": shown["accessToken"],
            "refreshToken": shown["refreshToken"],
            "idToken": shown["idToken"],
            "accessTokenExpiresAt": "2026-01-01T13:00:00.000Z",
            "refreshTokenExpiresAt": None,
            "scope": "openid email profile",
            "scopes": ["openid", "email", "profile"],
            "providerId": "test",
            "accountId": account["id"],
        }
        assert all(shown[name] for name in ("accessToken", "refreshToken", "idToken"))
        assert len(provider.log("token")) == 1
        assert await audited(social, "provider_token.read") == [("success", None)]

    async def test_keep_what_a_later_sign_in_leaves_out(
        self, social: Service, provider: ProviderProcess, linked: Headers
    ) -> None:
        first = await tokens(social, linked)
        provider.control(omit_refresh_token=True)
        await enter(social)
        second = await tokens(social, linked)
        minted = id_token(provider)
        direct = await social.post("/sign-in/social", {"provider": "test", "idToken": minted})
        social.client.cookies.clear()
        third = await tokens(social, linked)

        assert direct.status_code == 200
        assert second["accessToken"] != first["accessToken"]
        assert second["refreshToken"] == first["refreshToken"]
        assert third["idToken"] == minted
        same = ("accessToken", "refreshToken", "accessTokenExpiresAt", "scope")
        assert [third[name] for name in same] == [second[name] for name in same]

    @pytest.mark.parametrize(
        ("named", "told"), [(None, "Bearer"), ("", "Bearer"), ("bearer", "bearer"), ("DPoP", "DPoP")]
    )
    async def test_are_of_the_type_that_is_named_and_granted_as_asked_where_nothing_is_said(
        self, social: Service, provider: ProviderProcess, named: str | None, told: str
    ) -> None:
        person = {"json": {"id": 7, "email": ADA, "email_verified": True}}
        granted = {"json": {"access_token": "at", "token_type": named}}
        provider.control(user={}, misbehave={"oauth_token": granted, "oauth_user": person})
        ada = await enter(social, "plain", scopes=["repo", "gist"])

        shown = (await social.post("/get-access-token", {"providerId": "plain"}, headers=ada)).json()

        assert (shown["accessToken"], shown["tokenType"]) == ("at", told)
        assert (shown["scope"], shown["scopes"]) == ("repo gist", ["repo", "gist"])

    async def test_say_when_the_refresh_token_ends(self, social: Service, provider: ProviderProcess) -> None:
        as_user(provider, ADA, "1001")
        provider.control(refresh_expires_in=7200)
        ada = await enter(social)
        first = await tokens(social, ada)
        provider.control(refresh_expires_in=3600)

        second = await tokens(social, ada, "/refresh-token")

        assert first["refreshTokenExpiresAt"] == "2026-01-01T14:00:00.000Z"
        assert second["refreshTokenExpiresAt"] == "2026-01-01T13:00:00.000Z"

    async def test_are_those_of_the_oldest_of_several(
        self, social: Service, provider: ProviderProcess
    ) -> None:
        ada = await join(social)
        social.client.cookies.clear()
        for subject in ("1002", "1001"):
            as_user(provider, ADA, subject)
            await link(social, ada)
            social.clock.advance(minutes=1)
        oldest = next(one for one in await listed(social, ada) if one["accountId"] == "1002")

        for path in TOKEN_PATHS:
            assert (await tokens(social, ada, path))["accountId"] == oldest["id"]

    @pytest.mark.parametrize("path", TOKEN_PATHS)
    async def test_are_of_the_account_that_is_named(
        self, social: Service, linked: Headers, path: str
    ) -> None:
        whose = {"userId": (await user_of(social, linked))["id"]}
        [account] = await listed(social, linked)

        answers = [
            await social.post(path, {**named, **whose}, headers=linked)
            for named in ({"accountId": account["id"]}, {"accountId": "1001", "providerId": "test"})
        ]
        told = [
            refusal(await social.post(path, body, headers=linked))
            for body in (
                {"userId": "x"},
                {"providerId": "nobody", "userId": "x"},
                {},
                {"providerId": "nobody"},
                {"providerId": "plain", "accountId": account["id"]},
            )
        ]

        assert [answer.status_code for answer in answers] == [200, 200]
        assert told == [(403, "FORBIDDEN", "Forbidden")] * 2 + [NOT_NAMED] + [NOT_FOUND] * 2

    async def test_do_not_exist_of_a_password_or_a_provider_that_is_gone(
        self, social: Service, ada: Headers
    ) -> None:
        await link(social, ada)

        answers = [await social.post(path, {"providerId": "credential"}, headers=ada) for path in TOKEN_PATHS]
        async with restarted(social, {}) as without:
            answers += [await ask(without, ada, path) for path in TOKEN_PATHS]
            answers.append(await without.get("/account-info?providerId=test", headers=ada))

        for answer in answers:
            assert refusal(answer) == (400, "PROVIDER_NOT_SUPPORTED", "Provider is not supported")

    async def test_show_no_refresh_token_where_it_shall_stay(
        self, make_service: MakeService, provider: ProviderProcess
    ) -> None:
        hidden = {"social.expose_refresh_token": "false"}
        service = await make_service({**social_settings(provider), **hidden})
        as_user(provider, ADA, "1001")
        ada = await enter(service)

        for path in TOKEN_PATHS:
            shown = await tokens(service, ada, path)
            assert shown["refreshToken"] is None
            assert shown["accessToken"]

    async def test_that_no_secret_opens_any_more_are_told_as_missing(
        self, make_service: MakeService, provider: ProviderProcess
    ) -> None:
        settings = social_settings(provider)
        service = await make_service({**settings, "secrets": "o" * 32})
        as_user(provider, ADA, "1001")
        ada = await enter(service)

        async with restarted(service, {**settings, "secrets": "n" * 32}) as later:
            got = await ask(later, ada)
            refreshed = await ask(later, ada, "/refresh-token")
            shown = await later.get("/account-info?providerId=test", headers=ada)
        async with restarted(service, {**settings, "secrets": f"{'n' * 32},{'o' * 32}"}) as both:
            opened = await ask(both, ada)

        assert (refusal(got), refusal(refreshed), refusal(shown)) == (NO_TOKEN, NOT_REFRESHED, NO_TOKEN)
        assert opened.status_code == 200
        assert len(provider.log("token")) == 1


@pytest.mark.operation("social.get_access_token")
class TestGetAccessToken:
    @pytest.mark.parametrize(
        ("skew", "seconds", "renews"),
        [
            ({}, 3594, False),
            ({}, 3595, True),
            ({}, 3601, True),
            ({"social.refresh_skew": "5m"}, 3299, False),
            ({"social.refresh_skew": "5m"}, 3300, True),
        ],
    )
    async def test_renews_what_is_about_to_end(
        self,
        make_service: MakeService,
        provider: ProviderProcess,
        skew: dict[str, str],
        seconds: int,
        renews: bool,
    ) -> None:
        service = await make_service({**social_settings(provider), **skew})
        as_user(provider, ADA, "1001")
        ada = await enter(service)
        before = await tokens(service, ada)
        service.clock.advance(seconds=seconds)
        provider.control(now=service.clock.now.timestamp())

        after = await tokens(service, ada)

        assert (after["accessToken"] != before["accessToken"]) is renews
        assert (after["refreshToken"] != before["refreshToken"]) is renews
        assert len(provider.log("token")) == 1 + renews
        assert await tokens(service, ada) == after

    async def test_without_a_refresh_token_ends_with_the_access_token(
        self, social: Service, provider: ProviderProcess
    ) -> None:
        as_user(provider, ADA, "1001")
        provider.control(omit_refresh_token=True)
        ada = await enter(social)

        social.clock.advance(seconds=3599)
        late = await ask(social, ada)
        social.clock.advance(seconds=1)
        too_late = await ask(social, ada)

        assert (late.status_code, refusal(too_late)) == (200, NO_TOKEN)

    async def test_without_an_end_lasts(self, social: Service, provider: ProviderProcess) -> None:
        as_user(provider, ADA, "1001")
        ada = await enter(social)
        await execute(social, "UPDATE account SET access_token_expires_at = NULL")
        social.clock.advance(days=1)

        assert (await tokens(social, ada))["accessTokenExpiresAt"] is None
        assert len(provider.log("token")) == 1

    async def test_has_none_after_an_id_token(self, social: Service, provider: ProviderProcess) -> None:
        answer = await social.post("/sign-in/social", {"provider": "test", "idToken": id_token(provider)})
        ada = bearer(answer.json()["token"])
        social.client.cookies.clear()

        assert refusal(await ask(social, ada)) == NO_TOKEN
        assert refusal(await social.get("/account-info?providerId=test", headers=ada)) == NO_TOKEN
        refreshed = await ask(social, ada, "/refresh-token")
        assert refusal(refreshed) == (400, "REFRESH_TOKEN_NOT_FOUND", "Refresh token not found")

    @pytest.mark.parametrize(
        ("behaviour", "expected", "failed"),
        [
            (REFUSING, NO_TOKEN, "FAILED_TO_GET_ACCESS_TOKEN"),
            ({"status": 500}, UNAVAILABLE, "PROVIDER_UNAVAILABLE"),
            ({"html": True}, UNAVAILABLE, "PROVIDER_UNAVAILABLE"),
        ],
    )
    async def test_keeps_what_is_stored_when_it_cannot_be_renewed(
        self,
        social: Service,
        provider: ProviderProcess,
        linked: Headers,
        behaviour: dict[str, Any],
        expected: tuple[int, str, str],
        failed: str,
    ) -> None:
        before = await tokens(social, linked)
        social.clock.advance(hours=2)
        provider.control(misbehave={"token": behaviour}, now=social.clock.now.timestamp())
        answers = [await ask(social, linked) for _ in range(2)]
        provider.control(misbehave={"token": None})
        after = await tokens(social, linked)

        assert [refusal(answer) for answer in answers] == [expected] * 2
        assert after["accessToken"] != before["accessToken"]
        assert await audited(social, "provider_token.failed") == [("failure", failed)] * 2


@pytest.mark.operation("social.refresh_token")
class TestRefreshToken:
    async def test_always_asks_the_provider(
        self, social: Service, provider: ProviderProcess, linked: Headers
    ) -> None:
        first = await tokens(social, linked)
        second = await tokens(social, linked, "/refresh-token")
        third = await tokens(social, linked, "/refresh-token")

        sent = [seen["form"] for seen in provider.log("token")][1:]
        assert len({one["accessToken"] for one in (first, second, third)}) == 3
        assert [form["grant_type"] for form in sent] == ["refresh_token"] * 2
        assert [form["refresh_token"] for form in sent] == [first["refreshToken"], second["refreshToken"]]
        assert await tokens(social, linked) == third
        assert await audited(social, "provider_token.refreshed") == [("success", None)] * 2

    async def test_keeps_what_the_provider_leaves_out(
        self, social: Service, provider: ProviderProcess, linked: Headers
    ) -> None:
        first = await tokens(social, linked)
        provider.control(misbehave={"token": {"json": {"access_token": "new", "scope": "email"}}})

        second = await tokens(social, linked, "/refresh-token")

        kept = ("refreshToken", "idToken", "scope", "scopes", "tokenType")
        assert [second[name] for name in kept] == [first[name] for name in kept]
        assert (second["accessToken"], second["accessTokenExpiresAt"]) == ("new", None)

    async def test_is_refused_as_the_provider_refuses(
        self, social: Service, provider: ProviderProcess, linked: Headers
    ) -> None:
        before = await tokens(social, linked)
        provider.control(misbehave={"token": REFUSING})
        refused = await ask(social, linked, "/refresh-token")
        provider.control(misbehave={"token": {"status": 503}})
        unavailable = await ask(social, linked, "/refresh-token")

        assert refusal(refused) == NOT_REFRESHED
        assert refusal(unavailable) == UNAVAILABLE
        assert int(unavailable.headers["retry-after"]) >= 1
        assert await tokens(social, linked) == before

    async def test_is_no_way_of_a_provider_that_gives_no_refresh_tokens(
        self, make_service: MakeService, provider: ProviderProcess
    ) -> None:
        places = {
            "authorization_endpoint": f"{provider.issuer}/oauth/authorize",
            "token_endpoint": f"{provider.issuer}/oauth/token",
            "userinfo_endpoint": f"{provider.issuer}/oauth/user",
        }
        table = {"preset": "facebook", "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, **places}
        service = await make_service({f"providers.face.{key}": value for key, value in table.items()})
        as_user(provider, ADA, "1001")
        ada = await enter(service, "face")
        body = {"providerId": "face"}

        refused = await service.post("/refresh-token", body, headers=ada)
        service.clock.advance(hours=2)
        ended = await service.post("/get-access-token", body, headers=ada)

        assert refusal(refused) == (
            400,
            "TOKEN_REFRESH_NOT_SUPPORTED",
            "Provider does not support token refreshing",
        )
        assert refusal(ended) == NO_TOKEN
        assert len(provider.log("oauth_token")) == 1

    @pytest.mark.both_databases
    async def test_by_many_at_two_instances_asks_once(
        self, social: Service, provider: ProviderProcess, linked: Headers
    ) -> None:
        before = await tokens(social, linked)
        social.clock.advance(hours=2)
        provider.control(misbehave={"token": LINGERING}, now=social.clock.now.timestamp())

        async with restarted(social, social_settings(provider)) as second:
            asking = [ask(one, linked, path) for one in (social, second) for path in TOKEN_PATHS * 5]
            answers = await asyncio.gather(*asking)

        assert [answer.status_code for answer in answers] == [200] * 20
        shown = {answer.json()["accessToken"] for answer in answers}
        assert len(shown) == 1
        assert shown != {before["accessToken"]}
        assert len(provider.log("token")) == 2
        assert await audited(social, "provider_token.refreshed") == [("success", None)]

    @pytest.mark.both_databases
    @pytest.mark.parametrize(
        ("behaviour", "expected"),
        [(REFUSING, "400 FAILED_TO_REFRESH_ACCESS_TOKEN"), ({"status": 500}, "503 PROVIDER_UNAVAILABLE")],
    )
    async def test_by_many_at_once_fails_once(
        self,
        social: Service,
        provider: ProviderProcess,
        linked: Headers,
        behaviour: dict[str, Any],
        expected: str,
    ) -> None:
        provider.control(misbehave={"token": {**LINGERING, **behaviour}})

        answers = await asyncio.gather(*(ask(social, linked, "/refresh-token") for _ in range(20)))

        assert [code(answer) for answer in answers] == [expected] * 20
        assert len(provider.log("token")) == 2

    async def test_of_an_account_that_is_unlinked_meanwhile_finds_none(
        self, social: Service, provider: ProviderProcess, ada: Headers
    ) -> None:
        await link(social, ada)

        async with held_back(provider, "token", ask(social, ada, "/refresh-token")) as asking:
            await social.post("/unlink-account", {"providerId": "test"}, headers=ada)

        assert refusal(await asking) == NOT_FOUND
        assert await identities(social) == []

    @pytest.mark.long
    @pytest.mark.parametrize("dialect", ["sqlite"])
    async def test_is_waited_for_ten_seconds(
        self, social: Service, provider: ProviderProcess, linked: Headers
    ) -> None:
        await hold_lease(social, seconds=15)
        begun = asyncio.get_running_loop().time()

        refused = await ask(social, linked, "/refresh-token")

        assert 9 < asyncio.get_running_loop().time() - begun < 30
        assert refusal(refused) == UNAVAILABLE
        assert len(provider.log("token")) == 1

    async def test_that_an_instance_left_unfinished_can_be_had_again(
        self, social: Service, linked: Headers
    ) -> None:
        await hold_lease(social, seconds=15)
        social.clock.advance(seconds=15)

        assert (await tokens(social, linked, "/refresh-token"))["accessToken"]

    @pytest.mark.long
    @pytest.mark.parametrize("dialect", ["sqlite"])
    async def test_is_over_before_the_lease_is(
        self, make_service: MakeService, provider: ProviderProcess
    ) -> None:
        service = await make_service({**social_settings(provider), "social.http_timeout": "60s"})
        as_user(provider, ADA, "1001")
        session = await enter(service)
        provider.control(misbehave={"token": {"hang": 30, "status": 500}})

        async with asyncio.timeout(token_refresh.LEASE.total_seconds()):
            refused = await ask(service, session, "/refresh-token")

        assert refusal(refused) == UNAVAILABLE
        provider.control(misbehave={"token": None})
        assert (await tokens(service, session, "/refresh-token"))["accessToken"]

    async def test_keeps_new_tokens_though_the_keys_are_not_to_be_had(
        self, social: Service, provider: ProviderProcess, linked: Headers
    ) -> None:
        before = await tokens(social, linked)
        async with restarted(social, {**social_settings(provider), "social.http_timeout": "60s"}) as fresh:
            provider.control(misbehave={"jwks": {"hang": 30}})

            after = await tokens(fresh, linked, "/refresh-token")

        assert after["refreshToken"] != before["refreshToken"]
        assert after["idToken"] == before["idToken"]

    async def test_that_comes_late_leaves_the_lease_of_another(
        self, social: Service, provider: ProviderProcess, linked: Headers
    ) -> None:
        before = await tokens(social, linked)

        async with held_back(provider, "token", ask(social, linked, "/refresh-token")) as asking:
            held = await hold_lease(social, seconds=20)

        assert (await asking).status_code == 200
        assert await tokens(social, linked) != before
        assert await social.rows("SELECT refresh_lease_until FROM account") == held

    async def test_stores_what_came_while_the_database_was_away(
        self, make_service: MakeService, provider: ProviderProcess
    ) -> None:
        service = await make_service({**social_settings(provider), "database.timeout": "1s"})
        as_user(provider, ADA, "1001")
        session = await enter(service)
        before = await tokens(service, session)

        async with AsyncExitStack() as away:
            async with held_back(provider, "token", ask(service, session, "/refresh-token")) as asking:
                await away.enter_async_context(locked(service, '"user"'))
            await asyncio.wait({asking}, timeout=3)
            is_given_up = asking.done()
        answer = await asking

        assert not is_given_up
        assert answer.status_code == 200
        assert answer.json()["refreshToken"] != before["refreshToken"]
        assert (await tokens(service, session, "/refresh-token"))["accessToken"]

    @pytest.mark.parametrize("endpoint", ["token", "userinfo"])
    async def test_gives_nothing_to_a_session_that_ended_while_the_provider_was_asked(
        self, social: Service, provider: ProviderProcess, linked: Headers, endpoint: str
    ) -> None:
        request = (
            ask(social, linked, "/refresh-token")
            if endpoint == "token"
            else social.get("/account-info?providerId=test", headers=linked)
        )

        async with held_back(provider, endpoint, request) as asking:
            ended = await social.post("/sign-out", headers=linked)

        assert ended.status_code == 200
        assert code(await asking) == "401 UNAUTHORIZED"

    @pytest.mark.long
    @pytest.mark.parametrize("dialect", ["sqlite"])
    async def test_tells_the_operator_of_tokens_that_could_not_be_stored(
        self, make_service: MakeService, provider: ProviderProcess, log_stream: io.BytesIO
    ) -> None:
        service = await make_service({**social_settings(provider), "database.timeout": "1s"})
        as_user(provider, ADA, "1001")
        session = await enter(service)
        new, asking = {"access_token": "lost-for-ever"}, ask(service, session, "/refresh-token")

        async with AsyncExitStack() as away:
            async with held_back(provider, "token", asking, json=new) as coming:
                await away.enter_async_context(locked(service, '"user"'))
            answer = await coming

        assert code(answer) == "503 SERVICE_UNAVAILABLE"
        logged = list(map(json.loads, log_stream.getvalue().splitlines()))
        assert [line["event"] for line in logged if line["level"] == "error"] == ["provider.tokens_lost"]
        assert [line["details"] for line in logged if line["event"] == "provider_token.failed"] == [
            {"provider": "test"}
        ]
        assert "lost-for-ever" not in str(logged)

    async def test_is_not_kept_off_by_a_token_that_was_encrypted_anew(
        self, social: Service, provider: ProviderProcess, linked: Headers
    ) -> None:
        seen, refresh_token = await stored_by(social, linked)
        anew = social.services.cipher.encrypt(REFRESH_TOKEN, refresh_token)
        await execute(social, "UPDATE account SET refresh_token = :anew", anew=anew)

        renewed = await renew(social, seen, refresh_token)

        assert len(provider.log("token")) == 2
        assert renewed.access_token != seen.access_token

    async def test_that_another_has_had_meanwhile_is_not_asked_for_again(
        self, social: Service, provider: ProviderProcess, linked: Headers
    ) -> None:
        seen, refresh_token = await stored_by(social, linked)
        same = {"access_token": "new", "refresh_token": refresh_token}
        provider.control(misbehave={"token": {"json": same}})
        await tokens(social, linked, "/refresh-token")

        renewed = await renew(social, seen, refresh_token)

        assert len(provider.log("token")) == 2
        assert social.services.cipher.decrypt(ACCESS_TOKEN, renewed.access_token or b"") == "new"


async def stored_by(service: Service, session: Headers) -> tuple[Any, str]:
    """Return the account as a request has read it, and its refresh token."""
    [seen] = await service.services.database.reads.all(
        ACCOUNTS_OF_USER, (await user_of(service, session))["id"]
    )
    refresh_token = service.services.cipher.decrypt(REFRESH_TOKEN, seen.refresh_token or b"")
    assert refresh_token is not None
    return seen, refresh_token


async def renew(service: Service, seen: Any, refresh_token: str) -> Any:
    """Go on with a renewal that has read the account as `seen`."""
    client = service.services.port[IdentityProviders]["test"]
    return await service.services.unit_of_work.run(
        partial(token_refresh.renew, provider=client, seen=seen, refresh_token=refresh_token)
    )


@pytest.mark.operation("social.get_profile")
class TestAccountInfo:
    async def test_shows_what_the_provider_says_now(
        self, social: Service, provider: ProviderProcess, linked: Headers
    ) -> None:
        [account] = await listed(social, linked)
        picture = "https://pictures.example.com/1001.png"
        said = {
            "sub": "1001",
            "email": EVE,
            "email_verified": False,
            "name": "Eve",
            "picture": picture,
            "x": [1],
        }
        provider.control(misbehave={"userinfo": {"json": said}})

        answers = [
            await social.get("/account-info", params=named, headers=linked)
            for named in ({"providerId": "test"}, {"accountId": account["id"]}, {"accountId": "1001"})
        ]

        shown = {"id": account["id"], "providerId": "test", "issuer": provider.issuer, "accountId": "1001"}
        for answer in answers:
            assert answer.json() == {
                "user": {"id": "1001", "name": "Eve", "email": EVE, "image": picture, "emailVerified": False},
                "data": said,
                "account": shown,
            }
        assert (await user_of(social, linked))["email"] == ADA

    async def test_shows_an_address_of_any_length_it_promises(
        self, social: Service, provider: ProviderProcess, linked: Headers
    ) -> None:
        shown = []

        for address in ("x" * 65_536, "x" * 65_537):
            provider.control(misbehave={"userinfo": {"json": {"sub": "1001", "email": address}}})
            answer = await social.get("/account-info?providerId=test", headers=linked)
            shown.append(answer.json()["user"]["email"])

        assert shown == ["x" * 65_536, None]

    async def test_of_a_plain_provider(self, social: Service, provider: ProviderProcess) -> None:
        as_user(provider, ADA, "1001", id=583231)
        ada = await enter(social, "plain")

        shown = (await social.get("/account-info?providerId=plain", headers=ada)).json()

        assert shown["user"]["id"] == "583231"
        assert shown["data"]["id"] == 583231
        assert shown["account"]["issuer"] == ""

    async def test_renews_an_access_token_that_has_ended(
        self, social: Service, provider: ProviderProcess, linked: Headers
    ) -> None:
        social.clock.advance(hours=2)
        provider.control(now=social.clock.now.timestamp())

        answer = await social.get("/account-info?providerId=test", headers=linked)

        assert answer.status_code == 200
        assert [seen["form"]["grant_type"] for seen in provider.log("token")][1:] == ["refresh_token"]

    @pytest.mark.parametrize(
        ("behaviour", "expected"),
        [
            ({"json": {"sub": "1002"}}, NOBODY_KNOWN),
            ({"json": {}}, NOBODY_KNOWN),
            ({"status": 500}, UNAVAILABLE),
            ({"raw": '{"sub": "1001", "x": ' + "[" * 500 + "]" * 500 + "}"}, UNAVAILABLE),
        ],
    )
    async def test_is_refused(
        self,
        social: Service,
        provider: ProviderProcess,
        linked: Headers,
        behaviour: dict[str, Any],
        expected: tuple[int, str, str],
    ) -> None:
        provider.control(misbehave={"userinfo": behaviour})

        assert refusal(await social.get("/account-info?providerId=test", headers=linked)) == expected

    async def test_needs_an_account_of_the_callers(self, social: Service, linked: Headers) -> None:
        answers = [
            await social.get(f"/account-info{query}", headers=linked)
            for query in ("", "?providerId=plain", "?accountId=x", "?providerId=")
        ]

        assert [refusal(answer) for answer in answers] == [NOT_NAMED] + [NOT_FOUND] * 3
        assert answers[0].json()["fields"] == not_named_in("query")
