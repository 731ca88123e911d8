"""Sessions of administrators in the name of users: /admin/impersonate-user and /admin/stop-impersonating."""

import json

import httpx
import pytest

from tests.conftest import Headers, MakeService, SignIn
from tests.handlers.people import Person, add_person
from tests.handlers.steps import bearer, code, execute, set_user, token_of
from tests.security.second_factor import set_cookies
from tests.service import BASE_URL, Service
from tests.trail import of_event, only

SESSION, ADMIN = "service.session-token", "service.admin-session"
ROLES = {
    "support": {"user": ["impersonate"]},
    "lead": {"user": ["list", "get", "impersonate", "impersonate-admins"], "report": ["read"]},
    "viewer": {"user": ["list"]},
    "banner": {"user": ["ban"]},
    "editor": {"report": ["read"]},
}
SETTINGS = {"admin.statements": json.dumps({"report": ["read"]}), "admin.roles": json.dumps(ROLES)}


@pytest.fixture
async def service(make_service: MakeService, request: pytest.FixtureRequest) -> Service:
    """A service with roles of its own."""
    return await make_service({**SETTINGS, **getattr(request, "param", {})})


def settings(**names: str) -> pytest.MarkDecorator:
    """Run a test with these settings of `admin.impersonation`."""
    return pytest.mark.parametrize(
        "service", [{f"admin.impersonation.{key}": value for key, value in names.items()}], indirect=True
    )


@pytest.fixture
async def admin(service: Service) -> Person:
    """An administrator."""
    return await add_person(service, "admin")


@pytest.fixture
async def user(service: Service) -> Person:
    """A user without any power."""
    return await add_person(service)


async def impersonate(service: Service, admin: Person, user: Person) -> str:
    """Return the token of a session in the name of a user."""
    answer = await service.post("/admin/impersonate-user", {"userId": user.id}, headers=admin.headers)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["session"]["token"])


async def refusal(service: Service, by: Person, user_id: str) -> str:
    return code(await service.post("/admin/impersonate-user", {"userId": user_id}, headers=by.headers))


async def who(service: Service, token: str) -> str | None:
    """Return the email address of the user of a session, None if it is over."""
    answer = await service.get("/get-session", headers=bearer(token))
    return str(answer.json()["user"]["email"]) if answer.is_success else None


def cookies(**values: str) -> Headers:
    """Return the headers of a page of this origin with these cookies."""
    names = {"session": SESSION, "admin": ADMIN}
    line = "; ".join(f"{names[key]}={value}" for key, value in values.items())
    return {"Cookie": line, "Origin": BASE_URL}


async def stop(service: Service, headers: Headers) -> httpx.Response:
    service.client.cookies.clear()
    return await service.post("/admin/stop-impersonating", headers=headers)


async def ids(service: Service) -> list[str]:
    return [row[0] for row in await service.rows("SELECT id FROM session WHERE impersonated_by IS NOT NULL")]


@pytest.mark.operation("admin.impersonate_user")
class TestStart:
    async def test_a_caller_with_a_bearer_token_gets_another_and_no_cookie(
        self, service: Service, admin: Person, user: Person
    ) -> None:
        answer = await service.post("/admin/impersonate-user", {"userId": user.id}, headers=admin.headers)

        session = answer.json()["session"]
        assert set_cookies(answer) == {}
        assert answer.headers["set-auth-token"] == session["token"] != admin.token
        assert (session["userId"], session["impersonatedBy"]) == (user.id, admin.id)
        assert session["expiresAt"] == "2026-01-01T13:00:00.000Z"
        assert answer.json()["user"]["email"] == user.email == await who(service, session["token"])
        assert await who(service, admin.token) == admin.email
        started = await only(service, "impersonation.started")
        assert (started.user_id, started.actor_id, started.session_id) == (user.id, admin.id, session["id"])
        assert await service.inbox(user.email, "impersonated") == []

    async def test_a_caller_with_a_cookie_keeps_their_own_in_another(
        self, service: Service, admin: Person, user: Person
    ) -> None:
        headers = cookies(session=admin.token)
        answer = await service.post("/admin/impersonate-user", {"userId": user.id}, headers=headers)

        token = answer.json()["session"]["token"]
        assert set_cookies(answer) == {SESSION: token, ADMIN: admin.token}
        for line in answer.headers.get_list("set-cookie"):
            assert "HttpOnly" in line
            assert "Max-Age" not in line

    @pytest.mark.threat("ADM5")
    @pytest.mark.parametrize(
        ("caller", "target", "told"),
        [
            ("user", "editor", "YOU_ARE_NOT_ALLOWED_TO_IMPERSONATE_USERS"),
            ("viewer", "user", "YOU_ARE_NOT_ALLOWED_TO_IMPERSONATE_USERS"),
            ("support", "editor", "YOU_ARE_NOT_ALLOWED_TO_IMPERSONATE_USERS"),
            ("support", "viewer", "YOU_CANNOT_IMPERSONATE_ADMINS"),
            ("admin", "admin", "YOU_CANNOT_IMPERSONATE_ADMINS"),
            ("admin", "viewer", "YOU_CANNOT_IMPERSONATE_ADMINS"),
            ("lead", "banner", "YOU_CANNOT_IMPERSONATE_ADMINS"),
            ("support", "user", None),
            ("admin", "editor", None),
            ("lead", "support", None),
        ],
    )
    async def test_rank(self, service: Service, caller: str, target: str, told: str | None) -> None:
        by = await add_person(service, caller, "by@example.com")
        other = await add_person(service, target, "other@example.com")

        if told is None:
            assert await who(service, await impersonate(service, by, other)) == other.email
        else:
            assert await refusal(service, by, other.id) == f"403 {told}"
            assert await ids(service) == []

    async def test_not_oneself_nobody_unknown_nobody_banned(
        self, service: Service, admin: Person, user: Person
    ) -> None:
        lead = await add_person(service, "lead")
        await set_user(service, user.email, banned=True)

        assert await refusal(service, lead, lead.id) == "403 YOU_CANNOT_IMPERSONATE_ADMINS"
        assert await refusal(service, admin, admin.id) == "403 YOU_CANNOT_IMPERSONATE_ADMINS"
        for unknown in ("0", "z" * 32):
            assert await refusal(service, admin, unknown) == "404 USER_NOT_FOUND"
        assert await refusal(service, admin, user.id) == "403 BANNED_USER"
        service.clock.advance(days=2)
        assert await refusal(service, admin, user.id) == "403 SESSION_NOT_FRESH"

    @settings(enabled="false")
    async def test_it_is_off_by_itself(self, service: Service, admin: Person, user: Person) -> None:
        assert await refusal(service, admin, user.id) == "404 NOT_FOUND"
        assert (await stop(service, admin.headers)).status_code == 404
        assert (await service.get("/admin/list-users", headers=admin.headers)).status_code == 200

    @settings(notify="true", expires_in="5m")
    async def test_users_can_be_notified(self, service: Service, admin: Person, user: Person) -> None:
        await impersonate(service, admin, user)

        [mail] = await service.inbox(user.email, "impersonated")
        assert admin.email not in mail["text"]
        assert "2026" in mail["text"]

    @pytest.mark.parametrize(
        "service",
        [{"session.max_per_user": "2", "session.list_tokens": "true"}],
        indirect=True,
    )
    async def test_it_counts_in_no_limit_and_users_see_and_end_it(
        self, service: Service, admin: Person, user: Person, sign_in: SignIn
    ) -> None:
        tokens = [await impersonate(service, admin, user) for _ in range(3)]
        second = await sign_in(user.email)
        assert await who(service, user.token) == user.email

        listed = (await service.get("/list-sessions", headers=second)).json()

        handles = [row["token"] for row in listed if row.get("impersonatedBy") == admin.id]
        assert (len(listed), len(handles)) == (5, 3)
        assert all(handle.startswith("rvk_") for handle in handles)
        await service.post("/revoke-session", {"token": handles[0]}, headers=second)
        assert [await who(service, token) for token in tokens].count(None) == 1


class TestWhileItLasts:
    @pytest.mark.threat("ADM6")
    async def test_nothing_extends_it(self, service: Service, admin: Person, user: Person) -> None:
        token = await impersonate(service, admin, user)

        for _ in range(6):
            service.clock.advance(minutes=10, seconds=-1)
            answer = await service.get("/get-session", headers=cookies(session=token))
            assert answer.json()["session"]["expiresAt"] == "2026-01-01T13:00:00.000Z"
            assert set_cookies(answer) == {}
        service.clock.advance(seconds=7)

        assert await who(service, token) is None
        assert await ids(service) == []

    @pytest.mark.threat("ADM7")
    @pytest.mark.parametrize(
        ("statement", "reason"),
        [
            ("UPDATE \"user\" SET role = 'user' WHERE id = :admin", "role"),
            ("UPDATE \"user\" SET role = 'viewer' WHERE id = :user", "role"),
            ('UPDATE "user" SET banned = true WHERE id = :admin', "banned"),
            ("UPDATE session SET expires_at = created_at WHERE user_id = :admin", "signed out"),
            ("UPDATE session SET impersonated_by = :user WHERE user_id = :user", "signed out"),
            ("UPDATE session SET impersonator_session_id = NULL", "signed out"),
            ("DELETE FROM session WHERE user_id = :admin", None),
            ('DELETE FROM "user" WHERE id = :admin', None),
        ],
    )
    async def test_it_ends_with_what_it_rests_on(
        self, service: Service, admin: Person, user: Person, statement: str, reason: str | None
    ) -> None:
        token = await impersonate(service, admin, user)
        [session_id] = await ids(service)
        named = {"admin": admin.id, "user": user.id}
        await execute(service, statement, **{name: named[name] for name in named if f":{name}" in statement})

        assert await who(service, token) is None

        assert await service.rows("SELECT id FROM session WHERE id = :id", id=session_id) == []
        ended = await of_event(service, "impersonation.ended")
        told = [(one.user_id, one.session_id, one.details["reason"]) for one in ended]
        assert told == ([] if reason is None else [(user.id, session_id, reason)])

    @pytest.mark.threat("ADM7")
    async def test_loss_of_the_permission_ends_it_at_once(
        self, service: Service, admin: Person, user: Person
    ) -> None:
        support = await add_person(service, "support")
        await impersonate(service, support, user)
        for role, left in (("support,viewer", 1), ("viewer", 0)):
            answer = await service.post(
                "/admin/set-role", {"userId": support.id, "role": role}, headers=admin.headers
            )
            assert answer.status_code == 200, answer.text
            assert len(await ids(service)) == left
        ended = await only(service, "impersonation.ended")
        assert (ended.user_id, ended.actor_id, ended.details["reason"]) == (user.id, admin.id, "role")

    async def test_records_name_the_administrator_and_permissions_are_those_of_the_user(
        self, service: Service, admin: Person, user: Person
    ) -> None:
        acting = bearer(await impersonate(service, admin, user))

        await service.post("/update-user", {"name": "Grace"}, headers=acting)
        asked = {"permissions": {"user": ["list"]}}
        answer = await service.post("/admin/has-permission", asked, headers=acting)

        updated = await only(service, "user.updated")
        assert (updated.user_id, updated.actor_id) == (user.id, admin.id)
        assert answer.json() == {"error": None, "success": False}


@pytest.mark.operation("admin.stop_impersonating")
class TestStop:
    @pytest.mark.parametrize("remembered", [True, False])
    async def test_the_cookie_is_the_administrators_again(
        self, service: Service, admin: Person, user: Person, sign_in: SignIn, remembered: bool
    ) -> None:
        own = token_of(await sign_in(admin.email, rememberMe=remembered))
        started = await service.post(
            "/admin/impersonate-user", {"userId": user.id}, headers=cookies(session=own)
        )
        token = started.json()["session"]["token"]

        answer = await stop(service, cookies(session=token, admin=own))

        assert answer.status_code == 200
        assert set_cookies(answer) == {SESSION: own, ADMIN: ""}
        assert ("Max-Age=604800" in answer.headers["set-cookie"]) == remembered
        assert answer.headers["set-auth-token"] == own == answer.json()["session"]["token"]
        assert answer.json()["user"]["email"] == admin.email
        assert await who(service, token) is None
        assert await who(service, own) == admin.email
        stopped = await only(service, "impersonation.stopped")
        assert (stopped.user_id, stopped.actor_id) == (user.id, admin.id)

    @pytest.mark.threat("ADM11")
    async def test_without_the_administrators_cookie_it_only_ends(
        self, service: Service, admin: Person, user: Person
    ) -> None:
        for sent, cleared in (
            (bearer, {}),
            (lambda token: cookies(session=token), {SESSION: ""}),
            (lambda token: {**bearer(token), **cookies(session=admin.token)}, {}),
            (lambda token: {**bearer(token), **cookies(session=token)}, {SESSION: ""}),
        ):
            token = await impersonate(service, admin, user)
            answer = await stop(service, sent(token))

            assert (answer.status_code, answer.json()) == (200, {"session": None, "user": None})
            assert set_cookies(answer) == cleared
            assert "set-auth-token" not in answer.headers
            assert await who(service, token) is None
        assert await who(service, admin.token) == admin.email

    async def test_an_ordinary_session_cannot_stop(self, service: Service, admin: Person) -> None:
        answer = await stop(service, cookies(session=admin.token, admin=admin.token))

        assert code(answer) == "400 NOT_IMPERSONATING"
        assert await who(service, admin.token) == admin.email

    async def test_when_it_is_over_its_cookies_are_cleared(
        self, service: Service, admin: Person, user: Person
    ) -> None:
        token = await impersonate(service, admin, user)
        service.clock.advance(hours=1)

        answer = await stop(service, cookies(session=token, admin=admin.token))

        assert answer.status_code == 401
        assert set_cookies(answer) == {SESSION: "", ADMIN: ""}

    async def test_sign_out_ends_only_this_session_and_clears_both_cookies(
        self, service: Service, admin: Person, user: Person
    ) -> None:
        for is_bearer in (False, True):
            token = await impersonate(service, admin, user)
            own = cookies(session=admin.token if is_bearer else token, admin=admin.token)

            answer = await service.post("/sign-out", headers={**(bearer(token) if is_bearer else {}), **own})

            service.client.cookies.clear()
            assert set_cookies(answer) == {SESSION: "", ADMIN: ""}
            assert [await who(service, one) for one in (token, admin.token, user.token)] == [
                None, admin.email, user.email]  # fmt: skip
