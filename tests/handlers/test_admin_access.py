"""The operations of openapi/paths/admin.yaml about how a user signs in, and the export of a user."""

from operator import itemgetter
from typing import Any

import pytest

from domain import tokens
from tests.authenticator import Authenticator
from tests.conftest import MakeService
from tests.handlers import passkey_steps, steps
from tests.handlers.people import Person, add_person
from tests.handlers.test_admin import call, mailed, opens, works
from tests.service import PASSWORD, Service
from tests.trail import of_event


@pytest.fixture
async def service(make_service: MakeService, request: pytest.FixtureRequest) -> Service:
    """A service with passkeys."""
    return await make_service({"passkey.enabled": "true", **getattr(request, "param", {})})


@pytest.fixture
async def admin(service: Service) -> Person:
    """An administrator."""
    return await add_person(service, "admin")


@pytest.fixture
async def user(service: Service) -> Person:
    """A user without any power."""
    return await add_person(service)


async def link(service: Service, person: Person, provider: str = "github") -> None:
    """Connect an account of a provider."""
    await steps.execute(
        service,
        "INSERT INTO account (id, user_id, provider_id, issuer, account_id, created_at, updated_at)"
        " SELECT :id, user_id, :provider, '', :account, created_at, updated_at FROM account"
        " WHERE user_id = :user",
        id=tokens.token(),
        provider=provider,
        account=person.email,
        user=person.id,
    )


async def read(service: Service, by: Person, name: str, user: Person) -> Any:
    """Return the body of an operation that reads something about a user; of an error only the code."""
    answer = await service.get(f"/admin/{name}", headers=by.headers, params={"id": user.id})
    return answer.json() if answer.is_success else answer.json()["code"]


class TestAccounts:
    @pytest.mark.operation("admin.list_user_accounts", "admin.unlink_user_account")
    async def test_an_account_is_removed_with_what_it_may_have_opened(
        self, service: Service, admin: Person, user: Person
    ) -> None:
        await link(service, user)
        listed = (await read(service, admin, "list-user-accounts", user))["accounts"]
        password, github = sorted(listed, key=itemgetter("providerId"))
        assert (password["providerId"], github["providerId"]) == ("credential", "github")

        told = await call(service, admin, "unlink-user-account", userId=user.id, accountId=github["id"])

        assert told == (200, {"success": True})
        assert (await read(service, admin, "list-user-accounts", user))["accounts"] == [password]
        assert not await works(service, user)
        [record] = await of_event(service, "account.unlinked")
        assert (record.user_id, record.actor_id) == (user.id, admin.id)
        assert await opens(service, user)

    async def test_the_last_account_stays(self, service: Service, admin: Person, user: Person) -> None:
        [only] = (await read(service, admin, "list-user-accounts", user))["accounts"]

        told = await call(service, admin, "unlink-user-account", userId=user.id, accountId=only["id"])

        assert told == (400, "FAILED_TO_UNLINK_LAST_ACCOUNT")
        assert await works(service, user)

    async def test_an_account_of_another_user_is_not_found(
        self, service: Service, admin: Person, user: Person
    ) -> None:
        other = await add_person(service, email="other@example.com")
        await link(service, user)
        await link(service, other)
        account = (await read(service, admin, "list-user-accounts", other))["accounts"][0]["id"]

        told = await call(service, admin, "unlink-user-account", userId=user.id, accountId=account)

        assert told == (400, "ACCOUNT_NOT_FOUND")


class TestPasskeys:
    @pytest.mark.operation("admin.list_user_passkeys", "admin.remove_user_passkey")
    async def test_a_passkey_is_removed_with_what_it_may_have_opened(
        self, service: Service, admin: Person, user: Person
    ) -> None:
        device = Authenticator()
        await passkey_steps.add(service, user.headers, device)
        [passkey] = (await read(service, admin, "list-user-passkeys", user))["passkeys"]

        told = await call(service, admin, "remove-user-passkey", userId=user.id, passkeyId=passkey["id"])

        assert told == (200, {"success": True})
        assert not await works(service, user)
        assert (await passkey_steps.use(service, device)).status_code == 401
        assert "passkey-removed" in await mailed(service, user)
        gone = await call(service, admin, "remove-user-passkey", userId=user.id, passkeyId=passkey["id"])
        assert gone == (404, "PASSKEY_NOT_FOUND")


@pytest.mark.operation("admin.send_password_reset")
class TestPasswordReset:
    async def test_the_link_sets_a_password(self, service: Service, admin: Person, user: Person) -> None:
        told = await call(service, admin, "send-password-reset", userId=user.id)

        assert told == (200, {"success": True})
        token = steps.token_in(await steps.last_link(service, "reset-password", user.email))
        new = {"newPassword": steps.NEW_PASSWORD, "token": token}
        assert (await service.post("/reset-password", new)).status_code == 200
        assert await opens(service, user, steps.NEW_PASSWORD)
        [record] = await of_event(service, "password_reset.requested")
        assert (record.user_id, record.actor_id) == (user.id, admin.id)

    async def test_links_to_one_address_are_limited(
        self, service: Service, admin: Person, user: Person
    ) -> None:
        codes = [(await call(service, admin, "send-password-reset", userId=user.id))[0] for _ in range(10)]

        assert (codes[0], codes[-1]) == (200, 429)

    async def test_an_untrusted_target_is_refused(
        self, service: Service, admin: Person, user: Person
    ) -> None:
        told = await call(
            service, admin, "send-password-reset", userId=user.id, redirectTo="https://evil.example"
        )

        assert told == (403, "INVALID_REDIRECT_URL")


class TestExport:
    @pytest.mark.operation("admin.export_user")
    async def test_it_has_what_the_user_may_read_and_is_recorded(
        self, service: Service, admin: Person, user: Person
    ) -> None:
        await call(service, admin, "send-password-reset", userId=user.id)

        held = await read(service, admin, "export-user", user)

        assert held["user"]["email"] == user.email
        assert [account["password"] for account in held["accounts"]] == [True]
        assert PASSWORD not in str(held)
        asked = next(one for one in held["audit"] if one["event"] == "password_reset.requested")
        assert (asked["actorId"], asked["address"]) == (None, None)
        [record] = await of_event(service, "user.exported")
        assert (record.user_id, record.actor_id) == (user.id, admin.id)

    async def test_it_needs_the_powers_of_the_user_and_a_fresh_session(
        self, make_service: MakeService
    ) -> None:
        service = await make_service({"admin.roles": '{"support": {"user": ["get"], "session": ["list"]}}'})
        support, admin = await add_person(service, "support"), await add_person(service, "admin")
        reader = await add_person(service, "user")

        assert await read(service, support, "export-user", admin) == "YOU_ARE_NOT_ALLOWED_TO_GET_USER"
        service.clock.advance(days=1, seconds=1)
        assert await read(service, support, "export-user", reader) == "SESSION_NOT_FRESH"
