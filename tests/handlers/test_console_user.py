"""The page of one user in the console, and what is done there."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from domain import tokens
from tests.authenticator import Authenticator
from tests.conftest import MakeService
from tests.handlers import passkey_steps, steps
from tests.handlers.pages import (
    SETTINGS,
    Browser,
    Page,
    other_profile,
    recorded,
    send,
    signed_in,
    stored_user,
)
from tests.handlers.steps import ADA, UNKNOWN, execute, join, set_user
from tests.service import PASSWORD, Service
from tests.trail import of_event

ROOT = "root@example.com"
ROLES = {
    "support": {"user": ["list", "get", "ban", "update"], "session": ["list"]},
    "manager": {
        "user": ["list", "get", "create", "update", "set-role", "set-password", "set-email", "ban", "delete",
                 "reset-two-factor", "impersonate"],
    },
}  # fmt: skip
REFUSAL = "You cannot change this user: they have powers that you do not have."


@pytest.fixture
async def service(make_service: MakeService, request: pytest.FixtureRequest) -> Service:
    """A service with roles of its own."""
    return await make_service(
        {
            **SETTINGS,
            "admin.roles": json.dumps(ROLES),
            "admin.impersonation.enabled": "true",
            "passkey.enabled": "true",
            **getattr(request, "param", {}),
        }
    )


def settings(**more: str) -> pytest.MarkDecorator:
    """Run a test with more settings."""
    return pytest.mark.parametrize(
        "service", [{name.replace("__", "."): value for name, value in more.items()}], indirect=True
    )


@pytest.fixture
async def user(service: Service) -> str:
    """The path of the page of a user without powers."""
    return await add(service, ADA)


@pytest.fixture
async def root(service: Service, user: str) -> Browser:
    """The browser of an administrator."""
    return await administrator(service)


async def add(service: Service, email: str, **columns: Any) -> str:
    """Create a user who is not signed in here; return the path of their page."""
    with other_profile(service):
        await join(service, email)
    if columns:
        await set_user(service, email, **columns)
    return f"/console/users/{(await stored_user(service, email)).id}"


async def administrator(service: Service, role: str = "admin", email: str = ROOT) -> Browser:
    """Sign the browser in as an administrator."""
    service.client.cookies.clear()
    await join(service, email)
    await set_user(service, email, role=role)
    return Browser(service)


async def is_signed_in_elsewhere(service: Service, email: str = ADA) -> bool:
    """Return whether a user has a session."""
    found = await service.rows(
        'SELECT session.id FROM session JOIN "user" ON user_id = "user".id WHERE email = :email', email=email
    )
    return bool(found)


async def link(service: Service, email: str = ADA) -> None:
    """Connect an account of a provider to a user."""
    await execute(
        service,
        "INSERT INTO account (id, user_id, provider_id, issuer, account_id, created_at, updated_at)"
        " SELECT :id, user_id, 'github', '', '583231', created_at, updated_at FROM account"
        ' WHERE user_id = (SELECT id FROM "user" WHERE email = :email)',
        id=tokens.token(),
        email=email,
    )


def reached(page: Page, action: str) -> bool:
    """Return whether a page has a link or a form to this address."""
    return action in page.targets or any(form.action == action for form in page.forms)


@pytest.mark.operation("console.user.show")
class TestPage:
    async def test_it_shows_the_user(self, root: Browser, service: Service, user: str) -> None:
        await link(service)
        await set_user(service, ADA, role="support,user", email_verified=True, locale="de")

        page = await root.open(user)

        assert (page.status, page.title) == (200, "Ada · Gatewright")
        shown = (
            ADA,
            "Verified",
            "support",
            "Deutsch",
            "GitHub",
            "583231",
            "Password",
            user.rpartition("/")[2],
        )
        assert [text for text in shown if text not in page.text] == [user.rpartition("/")[2]]
        assert user.rpartition("/")[2] in (await service.get(user)).text
        acts = ("profile", "roles", "ban", "email", "password", "delete", "export", "impersonate")
        assert [act for act in acts if not reached(page, f"{user}/{act}")] == []
        assert all(reached(page, f"{user}/{act}") for act in ("verification", "password-reset"))

    async def test_it_offers_what_the_caller_may_do(self, service: Service, user: str) -> None:
        browser = await administrator(service, "support")

        page = await browser.open(user)

        offered = [
            act for act in ("profile", "ban", "export", "password-reset") if reached(page, f"{user}/{act}")
        ]
        hidden = ("roles", "email", "verification", "password", "delete", "impersonate")
        assert offered == ["profile", "ban", "export", "password-reset"]
        assert not any(reached(page, f"{user}/{act}") for act in hidden)

    @pytest.mark.threat("C3")
    async def test_it_offers_nothing_for_a_user_of_higher_rank(self, service: Service) -> None:
        other = await add(service, "boss@example.com", role="admin")
        browser = await administrator(service, "manager")

        page = await browser.open(other)

        assert REFUSAL in page.text
        assert not [form for form in page.forms if form.action.startswith(other)]
        assert not [link for link in page.targets if link.startswith(f"{other}/")]

    async def test_the_own_page_leads_to_the_account(self, root: Browser, service: Service) -> None:
        own = f"/console/users/{(await stored_user(service, ROOT)).id}"

        page = await root.open(own)

        assert page.links["Go to the account"] == "/account"
        assert reached(page, f"{own}/profile")
        assert not any(
            reached(page, f"{own}/{act}") for act in ("ban", "delete", "password", "email", "impersonate")
        )

    async def test_an_unknown_user_is_not_found(self, root: Browser) -> None:
        for name in (UNKNOWN, "%F0%9F%92%A9", "a%20b", "{id}"):
            page = await root.open(f"/console/users/{name}")
            assert (page.status, "USER_NOT_FOUND" in page.text) == (404, True)
        assert (await root.open("/console/users/%00")).status == 400

    async def test_it_needs_the_permission(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, "admin.roles": '{"lister": {"user": ["list"]}}'})
        user = await add(service, ADA)

        assert (await (await administrator(service, "lister")).open(user)).status == 403

    @pytest.mark.threat("C4")
    async def test_what_others_have_set_is_text(self, root: Browser, service: Service, user: str) -> None:
        script = "<script>alert(1)</script>"
        await set_user(
            service, ADA, name=script, username=script, display_username=script, image=script,
            role=script, banned=True, ban_reason=script,
        )  # fmt: skip
        await link(service)
        await execute(
            service, "UPDATE account SET provider_id = :script, account_id = :script"
            " WHERE provider_id = 'github'", script=script,
        )  # fmt: skip
        account = (await service.rows("SELECT id FROM account WHERE provider_id = :script", script=script))[
            0
        ].id
        pages = ["", "/profile", "/roles", "/ban", "/email", "/password", "/second-factor", "/delete",
                 "/impersonate", f"/disconnect?connection={account}"]  # fmt: skip

        for page in pages:
            answer = await service.get(f"{user}{page}")
            assert (page, answer.status_code, script in answer.text) == (page, 200, False)


class TestProfile:
    @pytest.mark.operation("console.user.show_profile", "console.user.update_profile")
    async def test_it_is_changed(self, root: Browser, service: Service, user: str) -> None:
        await root.open(f"{user}/profile")

        page = await root.submit(
            f"{user}/profile", name="Ada King", image="https://a.example/b.png", locale="fr"
        )

        assert (page.path, "The profile is saved." in page.text) == (user, True)
        row = await stored_user(service)
        assert (row.name, row.image, row.locale) == ("Ada King", "https://a.example/b.png", "fr")
        [record] = await of_event(service, "user.updated")
        assert record.actor_id == (await stored_user(service, ROOT)).id
        assert "The profile is saved." not in (await root.open(user)).text

    async def test_a_refused_form_keeps_what_was_typed(self, root: Browser, user: str) -> None:
        await root.open(f"{user}/profile")

        page = await root.submit(f"{user}/profile", name="Ada King", image="no address")

        assert (page.status, page.path.partition("?")[0]) == (422, f"{user}/profile")
        assert page.form(f"{user}/profile").fields["name"] == "Ada King"
        assert page.inputs["image"]["aria-invalid"] == "true"

    @pytest.mark.threat("C8")
    async def test_the_second_of_two_administrators_is_told(
        self, root: Browser, service: Service, user: str
    ) -> None:
        await root.open(f"{user}/profile")
        seen = root.page
        service.clock.advance(seconds=1)
        await root.submit(f"{user}/profile", name="Ada First")
        root.page = seen

        page = await root.submit(f"{user}/profile", name="Ada Second")

        assert page.status == 422
        assert "The user was changed after you opened this form, so nothing was saved." in page.text
        assert (await stored_user(service)).name == "Ada First"

    @pytest.mark.threat("C8")
    async def test_a_form_that_is_sent_twice_has_one_effect(
        self, root: Browser, service: Service, user: str
    ) -> None:
        await root.open(f"{user}/profile")
        seen = root.page
        service.clock.advance(seconds=1)
        for _ in range(2):
            root.page = seen
            page = await root.submit(f"{user}/profile", name="Ada King")
            assert page.path == user

        assert await recorded(service, "user.updated") == 1


class TestRoles:
    @pytest.mark.operation("console.user.show_roles", "console.user.set_roles")
    async def test_they_are_set(self, root: Browser, service: Service, user: str) -> None:
        await root.open(f"{user}/roles")

        page = await root.submit(f"{user}/roles", **{"role-support": "true"})

        assert page.path == user
        assert set((await stored_user(service)).role.split(",")) == {"user", "support"}

    @pytest.mark.threat("C3")
    async def test_a_role_with_powers_the_caller_lacks_cannot_be_given(
        self, service: Service, user: str
    ) -> None:
        browser = await administrator(service, "manager")
        page = await browser.open(f"{user}/roles")
        assert "role-admin" not in page.inputs

        page = await browser.submit(f"{user}/roles", **{"role-admin": "true"})

        assert (page.status, "You are not allowed to change users role" in page.text) == (422, True)
        assert (await stored_user(service)).role == "user"

    async def test_a_user_keeps_at_least_one(self, root: Browser, user: str) -> None:
        await root.open(f"{user}/roles")
        del root.page.form(f"{user}/roles").fields["role-user"]

        assert (await root.submit(f"{user}/roles")).status == 422

    @pytest.mark.threat("C3")
    async def test_the_last_administrator_keeps_the_role(self, root: Browser, service: Service) -> None:
        own = f"/console/users/{(await stored_user(service, ROOT)).id}"
        await root.open(f"{own}/roles")
        fields = root.page.form(f"{own}/roles").fields
        del fields["role-admin"]

        page = await root.submit(f"{own}/roles", **{"role-user": "true"})

        assert (page.status, "This is the last administrator." in page.text) == (422, True)

    @pytest.mark.threat("C8")
    async def test_the_second_of_two_administrators_is_told(
        self, root: Browser, service: Service, user: str
    ) -> None:
        await root.open(f"{user}/roles")
        service.clock.advance(seconds=1)
        await set_user(service, ADA, updated_at=service.clock.now)

        page = await root.submit(f"{user}/roles", **{"role-support": "true"})

        assert (page.status, (await stored_user(service)).role) == (422, "user")


class TestBan:
    @pytest.mark.operation("console.user.show_ban", "console.user.ban", "console.user.unban")
    async def test_it_shuts_the_user_out_until_it_is_lifted(
        self, root: Browser, service: Service, user: str
    ) -> None:
        await root.open(f"{user}/ban")

        page = await root.submit(f"{user}/ban", reason="Spam", lasts="7")

        assert (page.path, "The user is banned" in page.text, "Spam" in page.text) == (user, True, True)
        row = await stored_user(service)
        assert row.ban_expires is not None
        assert not await is_signed_in_elsewhere(service)

        page = await root.submit(f"{user}/unban")
        assert "The ban is lifted." in page.text
        assert not (await stored_user(service)).banned

    @settings(admin__default_ban_expires_in="1d")
    async def test_it_can_be_for_good(self, root: Browser, service: Service, user: str) -> None:
        await root.open(f"{user}/ban")

        await root.submit(f"{user}/ban", lasts="ever")

        row = await stored_user(service)
        assert (row.banned, row.ban_reason, row.ban_expires) == (True, "No reason", None)

    async def test_it_can_end_after_a_day(self, root: Browser, service: Service, user: str) -> None:
        await root.open(f"{user}/ban")

        await root.submit(f"{user}/ban", lasts="until", until="2026-02-28")

        ends = (await stored_user(service)).ban_expires
        assert ends is not None
        assert str(ends) in ("2026-03-01 00:00:00+00:00", "1772323200000")

    @pytest.mark.parametrize("day", ["", "2025-12-31", "9999-12-31", "2026-02-30", "0001-01-01"])
    async def test_the_day_is_in_the_future(
        self, root: Browser, service: Service, user: str, day: str
    ) -> None:
        await root.open(f"{user}/ban")

        page = await root.submit(f"{user}/ban", reason="Spam", lasts="until", until=day)

        assert (page.status, page.form(f"{user}/ban").fields["reason"]) == (422, "Spam")
        assert page.inputs["until"]["aria-invalid"] == "true"
        assert not (await stored_user(service)).banned

    @pytest.mark.threat("C3")
    async def test_nobody_bans_themselves(self, root: Browser, service: Service) -> None:
        own = f"/console/users/{(await stored_user(service, ROOT)).id}"

        answer = await send(service, f"{own}/ban", account=ROOT, lasts="ever")

        assert (answer.status_code, "YOU_CANNOT_BAN_YOURSELF" in answer.text) == (400, True)


class TestAddress:
    @pytest.mark.operation("console.user_access.show_email", "console.user_access.change_email")
    async def test_it_is_changed_at_once(self, root: Browser, service: Service, user: str) -> None:
        await root.open(f"{user}/email")

        page = await root.submit(f"{user}/email", newEmail="Ada.King@example.com", verified="true")

        assert (page.path, "ada.king@example.com" in page.text) == (user, True)
        assert (await stored_user(service, "ada.king@example.com")).email_verified

    async def test_an_address_of_another_user_is_refused(self, root: Browser, user: str) -> None:
        await root.open(f"{user}/email")

        page = await root.submit(f"{user}/email", newEmail=ROOT)

        assert (page.status, "Another user has this email address." in page.text) == (422, True)

    @pytest.mark.operation("console.user_access.set_verified")
    async def test_it_is_marked_as_verified_and_not(self, root: Browser, service: Service, user: str) -> None:
        for is_verified in (True, False):
            await root.open(user)
            page = await root.submit(f"{user}/verification")
            assert page.path == user
            assert (await stored_user(service)).email_verified == is_verified


class TestPassword:
    @pytest.mark.operation("console.user_access.show_password", "console.user_access.set_password")
    async def test_it_is_set_and_ends_sessions(self, root: Browser, service: Service, user: str) -> None:
        await root.open(f"{user}/password")

        page = await root.submit(f"{user}/password", newPassword=steps.NEW_PASSWORD)

        assert "The password is set, and the user is signed out everywhere." in page.text
        assert not await is_signed_in_elsewhere(service)
        assert await signed_in(service) == ROOT
        with other_profile(service):
            assert (await steps.sign_in(service, ADA, steps.NEW_PASSWORD)).status_code == 200

    @pytest.mark.threat("C9")
    async def test_a_refused_password_is_not_shown_again(
        self, root: Browser, service: Service, user: str
    ) -> None:
        await root.open(f"{user}/password")

        page = await root.submit(f"{user}/password", newPassword="short7!")

        assert (page.status, page.inputs["newPassword"].get("value")) == (422, None)

    @pytest.mark.operation("console.user_access.send_password_reset")
    async def test_a_link_that_sets_one_is_sent(self, root: Browser, service: Service, user: str) -> None:
        await root.open(user)

        page = await root.submit(f"{user}/password-reset")

        assert (page.path, "An email with a link to set a password" in page.text) == (user, True)
        assert await steps.last_link(service, "reset-password", ADA)

    async def test_too_many_links_are_refused_as_page(
        self, root: Browser, service: Service, user: str
    ) -> None:
        for _ in range(10):
            await root.open(user)
            page = await root.submit(f"{user}/password-reset")

        assert (page.status, "Too many emails were sent to this address." in page.text) == (429, True)


class TestWaysIn:
    @pytest.mark.operation(
        "console.user_access.show_second_factor", "console.user_access.reset_second_factor"
    )
    async def test_the_second_factor_is_reset(self, root: Browser, service: Service, user: str) -> None:
        await set_user(service, ADA, two_factor_enabled=True)
        page = await root.open(user)
        assert reached(page, f"{user}/second-factor")
        await root.open(f"{user}/second-factor")

        page = await root.submit(f"{user}/second-factor")

        assert "The second factor is reset" in page.text
        assert not (await stored_user(service)).two_factor_enabled

    @pytest.mark.operation("console.user_access.show_disconnect", "console.user_access.disconnect")
    async def test_an_account_is_disconnected_once(self, root: Browser, service: Service, user: str) -> None:
        await link(service)
        page = await root.open(user)
        page = await root.open(page.links["Disconnect"])
        assert page.title == "Disconnect GitHub · Gatewright"
        seen = root.page

        page = await root.submit(f"{user}/disconnect")
        assert "The account is disconnected" in page.text
        assert not await is_signed_in_elsewhere(service)
        root.page = seen
        page = await root.submit(f"{user}/disconnect")

        assert "That account was disconnected already." in page.text
        assert await recorded(service, "account.unlinked") == 1

    async def test_the_last_way_in_stays(self, root: Browser, service: Service, user: str) -> None:
        await link(service)
        await execute(service, "DELETE FROM account WHERE provider_id = 'credential' AND user_id = :id",
                      id=user.rpartition("/")[2])  # fmt: skip
        page = await root.open(user)
        await root.open(page.links["Disconnect"])

        page = await root.submit(f"{user}/disconnect")

        assert (page.status, "This is the only way the user can sign in" in page.text) == (422, True)

    @pytest.mark.operation("console.user_access.show_passkey", "console.user_access.remove_passkey")
    async def test_a_passkey_is_removed(self, root: Browser, service: Service, user: str) -> None:
        with other_profile(service):
            token = (await steps.sign_in(service, ADA, PASSWORD)).json()["token"]
            service.client.cookies.clear()
            await passkey_steps.add(service, steps.bearer(token), Authenticator())
        page = await root.open(user)
        await root.open(page.links["Remove"])

        page = await root.submit(f"{user}/remove-passkey")

        assert (page.path, "The passkey is removed" in page.text) == (user, True)
        assert not await service.rows("SELECT id FROM passkey")
        assert not await is_signed_in_elsewhere(service)


class TestImpersonation:
    @pytest.mark.operation("console.impersonation.show", "console.impersonation.start")
    @pytest.mark.threat("C10")
    async def test_it_begins_here_and_the_banner_leads_back(
        self, root: Browser, service: Service, user: str
    ) -> None:
        page = await root.open(f"{user}/impersonate")
        assert "While impersonating you cannot change the password" in page.text

        page = await root.submit(f"{user}/impersonate")

        assert (page.path, f"You are acting as {ADA}" in page.text) == ("/account", True)
        assert (await root.open(user)).status == 403
        page = await root.submit("/account/stop-impersonating")
        assert (page.path, await signed_in(service)) == (user, ROOT)

    @pytest.mark.threat("C3")
    async def test_an_administrator_is_not_impersonated(self, root: Browser, service: Service) -> None:
        other = await add(service, "boss@example.com", role="admin")
        await root.open(f"{other}/impersonate")

        page = await root.submit(f"{other}/impersonate")

        assert (page.status, "You cannot impersonate admins" in page.text) == (422, True)
        assert await signed_in(service) == ROOT

    @settings(admin__impersonation__enabled="false")
    async def test_it_does_not_exist_unless_it_is_switched_on(self, root: Browser, user: str) -> None:
        page = await root.open(user)

        assert not reached(page, f"{user}/impersonate")
        assert (await root.open(f"{user}/impersonate")).status == 404


class TestData:
    @pytest.mark.operation("console.user.export")
    async def test_it_is_downloaded_and_that_is_recorded(
        self, root: Browser, service: Service, user: str
    ) -> None:
        answer = await service.get(f"{user}/export")

        assert answer.headers["content-disposition"] == 'attachment; filename="user.json"'
        assert answer.json()["user"]["email"] == ADA
        assert await recorded(service, "user.exported") == 1

    @pytest.mark.operation("console.user.show_deletion", "console.user.delete")
    async def test_a_user_is_deleted_if_the_address_is_typed(
        self, root: Browser, service: Service, user: str
    ) -> None:
        await root.open(f"{user}/delete")
        page = await root.submit(f"{user}/delete", typed="somebody@example.com")
        assert (page.status, "This is not the email address of the user." in page.text) == (422, True)
        seen = root.page

        page = await root.submit(f"{user}/delete", typed=" Ada@example.com ")
        assert (page.path, "The user is deleted." in page.text) == ("/console/users", True)
        root.page = seen
        page = await root.submit(f"{user}/delete", typed=ADA)

        assert "This user no longer exists." in page.text
        assert await recorded(service, "user.deleted") == 1

    @pytest.mark.threat("C3")
    async def test_nobody_deletes_themselves(self, root: Browser, service: Service) -> None:
        own = f"/console/users/{(await stored_user(service, ROOT)).id}"

        answer = await send(service, f"{own}/delete", account=ROOT, typed=ROOT)

        assert answer.status_code == 403
        assert await stored_user(service, ROOT)


class TestCreation:
    @pytest.mark.operation("console.user_creation.show", "console.user_creation.create")
    async def test_a_user_gets_a_link_that_sets_a_password(self, root: Browser, service: Service) -> None:
        page = await root.open("/console/users")
        await root.open(page.links["Create a user"])

        page = await root.submit(
            "/console/users/new", name="Grace", email="grace@example.com", access="link",
            **{"role-support": "true", "verified": "true"},
        )  # fmt: skip

        assert (page.title, "The user is created." in page.text) == ("Grace · Gatewright", True)
        row = await stored_user(service, "grace@example.com")
        assert (row.email_verified, set(row.role.split(","))) == (True, {"user", "support"})
        assert await steps.last_link(service, "reset-password", "grace@example.com")

    async def test_a_user_gets_a_password(self, root: Browser, service: Service) -> None:
        await root.open("/console/users/new")
        page = await root.submit(
            "/console/users/new", name="Grace", email="grace@example.com", access="password", newPassword="x"
        )
        assert (page.status, page.inputs["newPassword"]["aria-invalid"]) == (422, "true")

        await root.submit("/console/users/new", newPassword=PASSWORD)

        with other_profile(service):
            assert (await steps.sign_in(service, "grace@example.com", PASSWORD)).status_code == 200

    async def test_nothing_is_created_if_the_link_may_not_be_sent(self, make_service: MakeService) -> None:
        roles = '{"creator": {"user": ["list", "get", "create"]}}'
        service = await make_service({**SETTINGS, "admin.roles": roles})
        browser = await administrator(service, "creator")
        page = await browser.open("/console/users/new")
        assert "access-link" not in [one.get("id") for one in page.inputs.values()]

        page = await browser.submit("/console/users/new", email="grace@example.com", access="link")

        assert (page.status, "You are not allowed to update users" in page.text) == (422, True)
        assert not await service.rows('SELECT id FROM "user" WHERE email = :email', email="grace@example.com")

    async def test_a_taken_address_is_refused(self, root: Browser) -> None:
        await root.open("/console/users/new")

        page = await root.submit("/console/users/new", name="Ada", email=ADA, access="none")

        assert (page.status, page.inputs["email"]["aria-invalid"]) == (422, "true")
        assert "Another user has this email address." in page.text

    async def test_it_needs_the_permission(self, service: Service, user: str) -> None:
        browser = await administrator(service, "support")

        assert "Create a user" not in (await browser.open("/console/users")).links
        assert (await browser.open("/console/users/new")).status == 403


FORMS: Mapping[str, Mapping[str, str]] = {
    "profile": {"name": "X"},
    "roles": {"role-user": "true"},
    "ban": {"lasts": "ever"},
    "unban": {},
    "email": {"newEmail": "x@example.com"},
    "verification": {"verified": "true"},
    "password": {"newPassword": "nine green boats"},
    "password-reset": {},
    "second-factor": {},
    "disconnect": {"connection": UNKNOWN},
    "remove-passkey": {"passkey": UNKNOWN},
    "impersonate": {},
    "delete": {"typed": "boss@example.com"},
}


async def _post(service: Service, path: str, fields: Mapping[str, str]) -> httpx.Response:
    return await send(service, path, account=ROOT, **fields)


@pytest.mark.threat("C3")
async def test_no_form_acts_on_a_user_of_higher_rank(service: Service) -> None:
    other = await add(service, "boss@example.com", role="admin")
    await administrator(service, "manager")
    before = await stored_user(service, "boss@example.com")

    for act, fields in FORMS.items():
        answer = await _post(service, f"{other}/{act}", fields)
        assert (act, answer.status_code in (403, 422), "YOU_" in answer.text or "not allowed" in answer.text) == (
            act, True, True,
        )  # fmt: skip
        shown = await service.get(f"{other}/{act}")
        assert (act, shown.status_code) == (
            act,
            405 if act in ("unban", "verification", "password-reset") else 403,
        )

    assert await stored_user(service, "boss@example.com") == before
    assert await is_signed_in_elsewhere(service, "boss@example.com")


class TestFreshness:
    @pytest.mark.parametrize(
        "act", ["roles", "email", "password", "second-factor", "impersonate", "delete", "export"]
    )
    async def test_a_page_asks_to_confirm_first_and_comes_back(
        self, root: Browser, service: Service, user: str, act: str
    ) -> None:
        service.clock.advance(days=1, seconds=1)
        page = await root.open(f"{user}/{act}")
        assert (page.title, page.query["callbackURL"]) == (
            "Confirm that it is you · Gatewright",
            f"{user}/{act}",
        )

        answer = await service.client.post(
            "/account/confirm",
            data={**page.form("/account/confirm").fields, "password": PASSWORD},
            headers={"Sec-Fetch-Site": "same-origin"},
        )

        assert (answer.status_code, urlsplit(answer.headers["location"]).path) == (303, f"{user}/{act}")
        assert (await service.get(f"{user}/{act}")).status_code == 200

    async def test_a_form_that_waited_too_long_comes_back_to_its_page(
        self, root: Browser, service: Service, user: str
    ) -> None:
        await link(service)
        page = await root.open(user)
        await root.open(page.links["Disconnect"])
        connection = root.page.form(f"{user}/disconnect").fields["connection"]
        service.clock.advance(days=1, seconds=1)

        answer = await _post(service, f"{user}/disconnect", {"connection": connection})

        target = urlsplit(answer.headers["location"])
        assert (answer.status_code, target.path) == (303, "/account/confirm")
        [back] = parse_qs(target.query)["callbackURL"]
        assert back.startswith(f"{user}/disconnect?entries=")

    async def test_a_button_of_the_page_leads_to_confirm_too(
        self, root: Browser, service: Service, user: str
    ) -> None:
        service.clock.advance(days=1, seconds=1)
        await root.open(user)

        page = await root.submit(f"{user}/verification")

        assert page.title == "Confirm that it is you · Gatewright"

    @settings(admin__fresh_age="10m")
    async def test_a_shorter_time_of_administration_does_not_lead_in_circles(
        self, root: Browser, service: Service, user: str
    ) -> None:
        service.clock.advance(minutes=11)

        page = await root.open(f"{user}/roles")

        assert page.title == "Confirm that it is you · Gatewright"
        page = await root.submit("/account/confirm", password=PASSWORD)
        assert page.path == f"{user}/roles"
