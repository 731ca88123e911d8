"""The whole way of a user who comes through a provider, against a real one: from sign-up to unlinking."""

from collections.abc import Callable
from typing import Any

from tests.conftest import Headers
from tests.handlers import steps
from tests.handlers.steps import ADA, EVE, bearer, code, join, user_of, verify
from tests.provider.process import ProviderProcess
from tests.provider.steps import (
    OOPS,
    WELCOME,
    as_user,
    error_of,
    identities,
    link,
    opened,
    redirect_path,
    session_of,
    sign_in,
)
from tests.security.second_factor import PENDING, SESSION, enrol, enter, session_count, set_cookies
from tests.service import START, Service

Carry = Callable[[str], Headers]
ONCE = "/hello"
"""Where users go who are new."""


async def come_in(service: Service, carry: Carry, provider: str = "test") -> Headers:
    """Sign in through a provider; give the headers of the session, carried as this run carries it."""
    return carry(steps.token_of(session_of(await sign_in(service, provider))))


async def accounts(service: Service, session: Headers) -> dict[str, dict[str, Any]]:
    """List the accounts of a user, by provider."""
    answer = await service.get("/list-accounts", headers=session)
    assert answer.status_code == 200, answer.text
    return {account["providerId"]: account for account in answer.json()}


async def tokens(service: Service, session: Headers, path: str = "/get-access-token") -> dict[str, Any]:
    """Read or refresh the tokens of the provider `test`."""
    answer = await service.post(path, {"providerId": "test"}, headers=session)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


class TestSignUp:
    async def test_a_new_user_is_made_and_known_the_next_time(
        self, social: Service, provider: ProviderProcess, carry: Carry
    ) -> None:
        as_user(provider, ADA, "1001")

        first = await sign_in(social, newUserCallbackURL=ONCE)
        second = await sign_in(social, newUserCallbackURL=ONCE)

        sessions = [carry(steps.token_of(session_of(answer))) for answer in (first, second)]
        users = [await user_of(social, session) for session in sessions]
        assert [redirect_path(answer) for answer in (first, second)] == [ONCE, WELCOME]
        assert users[0] == users[1]
        assert (users[0]["email"], users[0]["emailVerified"], users[0]["name"]) == (ADA, True, "Ada")
        assert await identities(social) == [("test", "1001")]

    async def test_the_session_is_like_any_other(
        self, social: Service, provider: ProviderProcess, carry: Carry
    ) -> None:
        as_user(provider, ADA, "1001")
        phone, laptop = [await come_in(social, carry) for _ in range(2)]

        listed = await social.get("/list-sessions", headers=phone)
        ended = await social.post("/revoke-other-sessions", headers=phone)

        assert len(listed.json()) == 2
        assert ended.json()["count"] == 1
        assert not await steps.works(social, laptop)

    async def test_an_application_signs_in_with_the_id_token_it_has(
        self, social: Service, provider: ProviderProcess, carry: Carry
    ) -> None:
        token = {"token": provider.mint(claims={"nonce": "n-1"}), "nonce": "n-1"}

        answer = await social.post("/sign-in/social", {"provider": "test", "idToken": token})
        social.client.cookies.clear()

        assert answer.json()["user"]["email"] == ADA
        assert answer.headers["set-auth-token"] == answer.json()["token"]
        assert await steps.works(social, carry(answer.json()["token"]))

    async def test_somebody_who_says_no_comes_back_with_that(
        self, social: Service, provider: ProviderProcess
    ) -> None:
        provider.control(user={}, callback_error={"error": "access_denied", "error_description": "No."})

        answer = await sign_in(social)

        assert (redirect_path(answer), error_of(answer)) == (OOPS, "access_denied")
        assert not opened(answer)


class TestLinking:
    async def test_a_user_with_a_password_links_reads_refreshes_and_unlinks(
        self, social: Service, provider: ProviderProcess, carry: Carry
    ) -> None:
        ada = carry(steps.token_of(await join(social, ADA)))
        as_user(provider, ADA, "1001")

        linked = await link(social, ada)
        listed = await accounts(social, ada)
        first = await tokens(social, ada)
        again = await tokens(social, ada)
        social.clock.advance(hours=2)
        provider.control(now=social.clock.now.timestamp())
        renewed = await tokens(social, ada)
        refreshed = await tokens(social, ada, "/refresh-token")
        shown = await social.get("/account-info", params={"providerId": "test"}, headers=ada)
        unlinked = await social.post("/unlink-account", {"providerId": "test"}, headers=ada)
        kept = await social.post("/unlink-account", {"providerId": "credential"}, headers=ada)

        assert (redirect_path(linked), error_of(linked)) == (WELCOME, None)
        assert set(listed) == {"credential", "test"}
        assert (listed["test"]["accountId"], listed["test"]["issuer"]) == ("1001", provider.issuer)
        assert first == again
        assert first["tokenType"] == "Bearer"
        assert set(first["scopes"]) >= {"openid", "email", "profile"}
        assert len({body["accessToken"] for body in (first, renewed, refreshed)}) == 3
        assert len({body["refreshToken"] for body in (first, renewed, refreshed)}) == 3
        assert [seen["form"]["grant_type"] for seen in provider.log("token")] == [
            "authorization_code",
            "refresh_token",
            "refresh_token",
        ]
        assert shown.json()["user"]["email"] == ADA
        assert shown.json()["data"]["sub"] == "1001"
        assert unlinked.json() == {"status": True}
        assert code(kept) == "400 FAILED_TO_UNLINK_LAST_ACCOUNT"
        assert set(await accounts(social, ada)) == {"credential"}

    async def test_a_linked_account_signs_in(
        self, social: Service, provider: ProviderProcess, carry: Carry
    ) -> None:
        ada = carry(steps.token_of(await join(social, ADA)))
        as_user(provider, ADA, "1001")
        await link(social, ada, "plain")

        came = await user_of(social, await come_in(social, carry, "plain"))

        assert came == await user_of(social, ada)

    async def test_an_unlinked_account_does_not(
        self, social: Service, provider: ProviderProcess, carry: Carry
    ) -> None:
        ada = carry(steps.token_of(await join(social, ADA)))
        as_user(provider, ADA, "1001")
        await link(social, ada, "plain")
        await social.post("/unlink-account", {"providerId": "plain"}, headers=ada)

        answer = await sign_in(social, "plain")

        assert (error_of(answer), opened(answer)) == ("account_not_linked", False)

    async def test_two_providers_of_one_proven_address_are_one_user(
        self, social: Service, provider: ProviderProcess, other_provider: ProviderProcess, carry: Carry
    ) -> None:
        as_user(provider, ADA, "1001")
        as_user(other_provider, ADA, "2002")

        one = await user_of(social, await come_in(social, carry, "test"))
        other = await user_of(social, await come_in(social, carry, "other"))

        assert one == other
        assert await identities(social) == [("other", "2002"), ("test", "1001")]

    async def test_an_identity_of_somebody_else_stays_theirs(
        self, social: Service, provider: ProviderProcess, carry: Carry
    ) -> None:
        as_user(provider, ADA, "1001")
        ada = await come_in(social, carry)
        eve = carry(steps.token_of(await join(social, EVE)))

        answer = await link(social, eve)

        assert error_of(answer) in {"account_already_linked_to_different_user", "email_does_not_match"}
        assert set(await accounts(social, eve)) == {"credential"}
        assert set(await accounts(social, ada)) == {"test"}


class TestPreparedAccount:
    async def test_an_attacker_who_was_first_gets_nothing_from_the_owners_sign_in(
        self, social: Service, provider: ProviderProcess, carry: Carry
    ) -> None:
        attacker = carry(steps.token_of(await join(social, ADA, "a stranger's password")))
        as_user(provider, ADA, "1001")

        refused = await sign_in(social)
        token = await steps.reset_token(social, ADA)
        await social.post("/reset-password", {"token": token, "newPassword": "the owner's own password"})
        await verify(social, ADA)
        owner = await come_in(social, carry)

        assert error_of(refused) == "account_not_linked"
        assert not opened(refused)
        assert not await steps.works(social, attacker)
        assert not await steps.opens(social, "a stranger's password", ADA)
        assert set(await accounts(social, owner)) == {"credential", "test"}


class TestSecondFactor:
    async def test_a_two_factor_user_ends_pending_and_goes_on_with_a_code(
        self, social: Service, provider: ProviderProcess, carry: Carry
    ) -> None:
        ada = await enrol(social, ADA)
        await social.post("/sign-out", headers=ada.session)
        as_user(provider, ADA, "1001")

        answer = await sign_in(social)

        location = answer.headers["location"]
        pending = set_cookies(answer)[PENDING]
        assert (redirect_path(answer), location.endswith("twoFactorRedirect=true")) == (WELCOME, True)
        assert set_cookies(answer)[SESSION] == ""
        assert await session_count(social) == 0
        assert not await steps.works(social, carry(pending))
        social.clock.now = START.replace(minute=START.minute + 1)
        entered = await enter(social, "totp", ada.code(social), bearer(pending))
        social.client.cookies.clear()
        assert entered.status_code == 200, entered.text
        assert (await user_of(social, carry(entered.json()["token"])))["email"] == ADA

    async def test_a_wrong_code_opens_nothing(self, social: Service, provider: ProviderProcess) -> None:
        ada = await enrol(social, ADA)
        await social.post("/sign-out", headers=ada.session)
        as_user(provider, ADA, "1001")
        pending = set_cookies(await sign_in(social))[PENDING]

        answer = await enter(social, "totp", ada.wrong_code(social), bearer(pending))

        assert code(answer) == "401 INVALID_CODE"
        assert await session_count(social) == 0
