"""The operations of openapi/paths/admin.yaml."""

import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from tests import rows
from tests.conftest import MakeService, SignIn
from tests.handlers import steps
from tests.handlers.people import Person, add_person
from tests.handlers.steps import reset_token
from tests.service import PASSWORD, START, Service
from tests.trail import of_event

ROLES = {
    "support": {"user": ["list", "get", "ban"], "session": ["list", "revoke"]},
    "manager": {"user": ["list", "get", "create", "update", "set-role", "set-password", "set-email", "ban",
                         "reset-two-factor", "delete"], "session": ["list", "revoke"]},
    "clerk": {"user": ["create", "update"]},
    "guest": {},
    "editor": {"report": ["read", "publish"]},
    **{f"{'r' * 30}{number:02}": {} for number in range(16)},
}  # fmt: skip
SETTINGS = {
    "admin.statements": json.dumps({"report": ["read", "publish"]}),
    "admin.roles": json.dumps(ROLES),
}


Make = Callable[..., Awaitable[Person]]


@pytest.fixture
async def service(make_service: MakeService, request: pytest.FixtureRequest) -> Service:
    """A service with roles of its own."""
    return await make_service({**SETTINGS, **getattr(request, "param", {})})


def settings(**names: str) -> pytest.MarkDecorator:
    """Run a test with these settings of `admin`."""
    return pytest.mark.parametrize(
        "service", [{f"admin.{key}": value for key, value in names.items()}], indirect=True
    )


@pytest.fixture
def person(service: Service) -> Make:
    """Create a user with roles, given as the operator gives them."""
    return partial(add_person, service)


@pytest.fixture
async def admin(service: Service) -> Person:
    """An administrator."""
    return await add_person(service, "admin")


@pytest.fixture
async def user(service: Service) -> Person:
    """A user without any power."""
    return await add_person(service)


async def call(service: Service, by: Person, name: str, /, **body: Any) -> tuple[int, Any]:
    """Return status and body of an operation; of an error only the code."""
    answer = await service.post(f"/admin/{name}", body, headers=by.headers)
    return answer.status_code, answer.json() if answer.is_success else answer.json()["code"]


async def listed(service: Service, by: Person, **query: Any) -> list[str]:
    answer = await service.get("/admin/list-users", headers=by.headers, params=query)
    assert answer.status_code == 200, answer.text
    return [user["email"] for user in answer.json()["users"]]


async def works(service: Service, person: Person) -> bool:
    return await steps.works(service, person.headers)


async def opens(service: Service, person: Person, password: str = PASSWORD) -> bool:
    return await steps.opens(service, password, person.email)


async def mailed(service: Service, person: Person) -> list[str]:
    """Return the templates of the mails to a user."""
    return [mail["template"] for mail in await service.inbox(person.email)]


EVERY: dict[str, dict[str, Any]] = {
    "list-user-sessions": {"userId": "x"},
    "create-user": {"email": "new@example.com", "name": "New"},
    "update-user": {"userId": "x", "data": {"name": "N"}},
    "set-role": {"userId": "x", "role": "user"},
    "set-user-password": {"userId": "x", "newPassword": PASSWORD},
    "reset-two-factor": {"userId": "x"},
    "ban-user": {"userId": "x"},
    "unban-user": {"userId": "x"},
    "revoke-user-session": {"sessionToken": "x"},
    "revoke-user-sessions": {"userId": "x"},
    "remove-user": {"userId": "x"},
    "unlink-user-account": {"userId": "x", "accountId": "x"},
    "remove-user-passkey": {"userId": "x", "passkeyId": "x"},
    "send-password-reset": {"userId": "x"},
}
NEEDED = {
    "list-user-sessions": ("session", "list"),
    "update-user": ("user", "update"),
    "set-role": ("user", "set-role"),
    "set-user-password": ("user", "set-password"),
    "reset-two-factor": ("user", "reset-two-factor"),
    "ban-user": ("user", "ban"),
    "unban-user": ("user", "ban"),
    "revoke-user-sessions": ("session", "revoke"),
    "remove-user": ("user", "delete"),
    "unlink-user-account": ("user", "set-password"),
    "remove-user-passkey": ("user", "set-password"),
    "send-password-reset": ("user", "update"),
}
"""The permission that each operation on another user needs."""


def powers(role: str) -> set[tuple[str, str]]:
    """Return what a role grants here; the administrator's is written as the one thing that nobody else has."""
    granted = {(resource, action) for resource, actions in ROLES.get(role, {}).items() for action in actions}
    every = {
        (resource, action)
        for one in ROLES.values()
        for resource, actions in one.items()
        for action in actions
    }
    return every | {("service", "manage")} if role == "admin" else granted


@pytest.mark.threat("ADM2", "ADM4")
async def test_an_operation_needs_the_permission_and_the_powers_of_the_user(
    service: Service, person: Make
) -> None:
    """Every operation on another user, by every role, on users of every rank."""
    wrong: list[tuple[Any, ...]] = []
    for role in ("user", "clerk", "support", "manager", "admin"):
        caller = await person(role)
        for name, permission in NEEDED.items():
            for rank in ("user", "guest", "editor", "support", "admin"):
                target = rows.user(f"{rank}-{name}-{role}", role=rank)
                await rows.add(service.services.database, target)

                status, told = await call(service, caller, name, **{**EVERY[name], "userId": target.id})

                is_allowed = permission in powers(role) and powers(rank) <= powers(role)
                if told in ("ACCOUNT_NOT_FOUND", "FAILED_TO_UNLINK_LAST_ACCOUNT", "PASSKEY_NOT_FOUND"):
                    status = 200  # It may, but there is nothing to remove.
                is_refused = status == 403 and told.startswith("YOU_ARE_NOT_ALLOWED_TO_")
                if (status == 200, is_refused) != (is_allowed, not is_allowed):
                    wrong.append((role, name, rank, status, told))
    assert wrong == []


class TestPermission:
    @pytest.mark.threat("ADM2", "ADM19")
    async def test_users_without_the_permission_are_refused_before_anything_is_looked_for(
        self, service: Service, person: Make
    ) -> None:
        user = await person()
        asked = [
            *EVERY.items(),
            *(("create-user", {"email": email, "name": "N"}) for email in (user.email, "none")),
        ]

        refused = [await call(service, user, name, **body) for name, body in asked]

        assert {(status, told[:23]) for status, told in refused} == {(403, "YOU_ARE_NOT_ALLOWED_TO_")}
        records = [(row.user_id, row.actor_id, row.code) for row in await of_event(service, "admin.refused")]
        assert sorted(records) == sorted((user.id, user.id, told) for _, told in refused)

    @pytest.mark.operation("admin.has_permission")
    @pytest.mark.threat("ADM18")
    async def test_has_permission_is_about_the_caller(self, service: Service, person: Make) -> None:
        admin, user = await person("admin"), await person("support,editor")
        claims = {"userId": admin.id, "role": "admin"}
        for wanted, verdict in (
            ({"user": ["ban"]}, True),
            ({"report": ["read", "publish"]}, True),
            ({"user": ["ban"], "report": ["read"]}, False),  # One role has to grant everything.
            ({"user": ["delete"]}, False),
            ({"user": []}, False),
            ({"unknown": ["read"]}, False),
            ({}, False),
        ):
            answer = await call(service, user, "has-permission", permissions=wanted, **claims)
            assert answer == (200, {"error": None, "success": verdict}), wanted
        singular = await call(service, user, "has-permission", permission={"user": ["ban"]})
        assert singular == (400, "VALIDATION_ERROR")

    @pytest.mark.threat("ADM22")
    @settings(require_two_factor="true")
    async def test_permissions_can_demand_a_second_factor(self, service: Service, admin: Person) -> None:
        assert (await call(service, admin, "unban-user", userId="x"))[1] == "TWO_FACTOR_REQUIRED"
        asked = {"permissions": {"user": ["ban"]}}
        assert (await call(service, admin, "has-permission", **asked))[1]["success"] is False

        await steps.set_user(service, admin.email, two_factor_enabled=True)

        assert (await call(service, admin, "unban-user", userId=admin.id))[0] == 200

    @pytest.mark.threat("ADM14")
    async def test_consequential_changes_need_a_fresh_session(self, service: Service, admin: Person) -> None:
        service.clock.advance(days=1, seconds=1)

        for name in ("set-role", "set-user-password", "reset-two-factor", "remove-user"):
            assert await call(service, admin, name, **EVERY[name]) == (403, "SESSION_NOT_FRESH"), name

    async def test_unknown_users_are_404(self, service: Service, admin: Person) -> None:
        for name, body in EVERY.items():
            if name not in ("create-user", "revoke-user-session", "revoke-user-sessions"):
                assert await call(service, admin, name, **body) == (404, "USER_NOT_FOUND"), name
        assert (await call(service, admin, "revoke-user-session", sessionToken="x"))[0] == 200
        assert (await call(service, admin, "revoke-user-sessions", userId="x"))[1]["count"] == 0

    @pytest.mark.threat("ADM17")
    async def test_ids_are_never_coerced(self, service: Service, admin: Person, user: Person) -> None:
        wrong_ids: list[Any] = [1, ["x"], None, "", "x" * 65, {}]
        for wrong in wrong_ids:
            assert await call(service, admin, "ban-user", userId=wrong) == (400, "VALIDATION_ERROR"), wrong
        assert (await call(service, admin, "ban-user", userId=user.email))[1] == "USER_NOT_FOUND"


@pytest.mark.operation("admin.set_role")
class TestRank:
    @pytest.mark.threat("ADM4")
    async def test_a_session_of_an_administrator_is_not_ended_by_lower_ranks(
        self, service: Service, person: Make
    ) -> None:
        support, admin = await person("support"), await person("admin")

        refused = await call(service, support, "revoke-user-session", sessionToken=admin.token)

        assert refused == (403, "YOU_ARE_NOT_ALLOWED_TO_REVOKE_USERS_SESSIONS")
        assert await works(service, admin)

    @pytest.mark.threat("ADM3")
    async def test_roles_with_powers_the_caller_lacks_cannot_be_given(
        self, service: Service, person: Make
    ) -> None:
        manager, user = await person("manager"), await person()
        refused = (403, "YOU_ARE_NOT_ALLOWED_TO_CHANGE_USERS_ROLE")
        new = {"email": "n@example.com", "name": "N"}

        for role in ("admin", "user,admin", ["user", "admin"], ["admin,user"], "support , admin"):
            for whose in (user, manager):
                assert await call(service, manager, "set-role", userId=whose.id, role=role) == refused, role
            assert await call(service, manager, "create-user", **new, role=role) == refused, role

    @pytest.mark.threat("ADM3")
    @pytest.mark.parametrize(
        ("role", "refusal"),
        [
            ("USER", "YOU_ARE_NOT_ALLOWED_TO_SET_NON_EXISTENT_VALUE"),
            ("owner", "YOU_ARE_NOT_ALLOWED_TO_SET_NON_EXISTENT_VALUE"),
            ("", "VALIDATION_ERROR"),
            ("user,,support", "VALIDATION_ERROR"),
            ([], "VALIDATION_ERROR"),
            ({}, "VALIDATION_ERROR"),
            (["user"] * 65, "VALIDATION_ERROR"),
            (",".join(["user", *map(str, range(16))]), "VALIDATION_ERROR"),
            ("admin\0", "VALIDATION_ERROR"),
        ],
    )
    async def test_unsound_roles_are_400(
        self, service: Service, admin: Person, role: Any, refusal: str
    ) -> None:
        assert await call(service, admin, "set-role", userId=admin.id, role=role) == (400, refusal)

    @pytest.mark.threat("ADM3")
    @pytest.mark.parametrize(
        "role", [{}, {"a": "user"}, 1, 0.5, True, None, [1], ["user", None], [["user"]]], ids=str
    )
    async def test_a_new_user_gets_no_role_of_another_type(
        self, service: Service, admin: Person, person: Make, role: Any
    ) -> None:
        clerk, new = await person("clerk"), {"email": "n@example.com", "name": "N"}

        for body in ({"role": role}, {"data": {"role": role}}):
            assert await call(service, admin, "create-user", **new, **body) == (400, "INVALID_ROLE_TYPE")
            refused = await call(service, clerk, "create-user", **new, **body)
            assert refused == (403, "YOU_ARE_NOT_ALLOWED_TO_CHANGE_USERS_ROLE")

    @pytest.mark.threat("ADM2")
    async def test_a_role_in_the_data_needs_the_permission_and_nothing_else_is_written(
        self, service: Service, person: Make
    ) -> None:
        clerk, user = await person("clerk"), await person()
        refused = (403, "YOU_ARE_NOT_ALLOWED_TO_CHANGE_USERS_ROLE")
        data = {"name": "Changed", "role": "guest"}

        assert await call(service, clerk, "update-user", userId=user.id, data=data) == refused
        new = {"email": "new@example.com", "name": "New"}
        assert await call(service, clerk, "create-user", **new, role="guest") == refused
        assert await call(service, clerk, "create-user", **new, data={"role": "guest"}) == refused
        banned = await call(service, clerk, "create-user", **new, data={"banned": False})
        assert banned == (403, "YOU_ARE_NOT_ALLOWED_TO_BAN_USERS")
        created = (await call(service, clerk, "create-user", **new))[1]["user"]
        changed = (await call(service, clerk, "update-user", userId=user.id, data={"name": "Ada"}))[1]
        assert (created["role"], changed["role"]) == ("user", "user")

    @pytest.mark.threat("ADM14")
    async def test_administrators_do_not_bypass_proofs_for_their_own_account(
        self, service: Service, admin: Person
    ) -> None:
        no_password, no_reset, no_email, no_ban, no_removal, no_access = (
            (403, "YOU_ARE_NOT_ALLOWED_TO_SET_USERS_PASSWORD"),
            (403, "YOU_ARE_NOT_ALLOWED_TO_RESET_TWO_FACTOR"),
            (403, "YOU_ARE_NOT_ALLOWED_TO_SET_USERS_EMAIL"),
            (400, "YOU_CANNOT_BAN_YOURSELF"),
            (400, "YOU_CANNOT_REMOVE_YOURSELF"),
            (403, "YOU_ARE_NOT_ALLOWED_TO_REMOVE_USERS_ACCESS"),
        )
        for name, body, refused in (
            ("set-user-password", {"newPassword": PASSWORD}, no_password),
            ("reset-two-factor", {}, no_reset),
            ("ban-user", {}, no_ban),
            ("remove-user", {}, no_removal),
            ("unlink-user-account", {"accountId": "x"}, no_access),
            ("remove-user-passkey", {"passkeyId": "x"}, no_access),
            ("update-user", {"data": {"email": "a@example.com"}}, no_email),
            ("update-user", {"data": {"emailVerified": True}}, no_email),
            ("update-user", {"data": {"banned": True}}, no_ban),
        ):
            assert await call(service, admin, name, userId=admin.id, **body) == refused, name

    @pytest.mark.threat("ADM13")
    async def test_the_last_administrator_stays(self, service: Service, person: Make) -> None:
        admin = await person("admin")
        assert await call(service, admin, "set-role", userId=admin.id, role="user") == (400, "LAST_ADMIN")
        other = await person("admin", "other@example.com")
        assert (await call(service, admin, "ban-user", userId=other.id))[0] == 200

        # A banned administrator does not count.
        assert await call(service, admin, "set-role", userId=admin.id, role="user") == (400, "LAST_ADMIN")

        assert (await call(service, admin, "unban-user", userId=other.id))[0] == 200
        assert (await call(service, admin, "set-role", userId=admin.id, role="user"))[0] == 200


class TestChanges:
    async def test_the_field_of_unsound_roles_is_named(self, service: Service, admin: Person) -> None:
        body = {"userId": admin.id, "data": {"role": ""}}

        refused = await service.post("/admin/update-user", body, headers=admin.headers)

        assert [field["name"] for field in refused.json()["fields"]] == ["data.role"]

    async def test_a_user_can_have_sixteen_roles_of_the_longest_names(
        self, service: Service, admin: Person, user: Person
    ) -> None:
        names = [role for role in ROLES if len(role) == 32]

        answer = await call(service, admin, "set-role", userId=user.id, role=names)

        assert answer[1]["user"]["role"] == ",".join(names)
        assert len(names) == 16

    @pytest.mark.operation("admin.create_user")
    async def test_create_user(self, service: Service, admin: Person) -> None:
        data = {"username": "Grace.H", "emailVerified": True, "banned": True, "banReason": "Later",
                "banExpires": "2027-01-01T00:00:00Z", "locale": "de-AT"}  # fmt: skip
        body = {"email": "Grace@Example.com", "name": "Grace", "role": ["editor", "support"], "data": data}

        made = (await call(service, admin, "create-user", **body, password=PASSWORD))[1]["user"]

        expected = {"email": "grace@example.com", "role": "editor,support", "username": "grace.h", "banned": True,
                    "emailVerified": True, "banReason": "Later", "banExpires": "2027-01-01T00:00:00.000Z",
                    "locale": "de"}  # fmt: skip
        assert made.items() >= expected.items()
        assert await call(service, admin, "create-user", **body) == (400, "USERNAME_IS_ALREADY_TAKEN")
        again = await call(service, admin, "create-user", **{**body, "data": {}})
        assert again == (400, "USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL")
        records = await of_event(service, "user.created")
        assert [record.actor_id for record in records if record.user_id == made["id"]] == [admin.id]
        assert await service.inbox("grace@example.com") == []

    @pytest.mark.threat("ADM1")
    @pytest.mark.parametrize(
        ("body", "refusal"),
        [
            ({"email": "ada"}, "INVALID_EMAIL"),
            ({"password": ""}, "PASSWORD_TOO_SHORT"),
            ({"password": "password1"}, "PASSWORD_TOO_COMMON"),
            ({"data": {"id": "x"}}, "FIELD_NOT_ALLOWED"),
            ({"data": {"password": "x"}}, "FIELD_NOT_ALLOWED"),
            ({"data": {"banned": True, "banExpires": "tomorrow"}}, "VALIDATION_ERROR"),
            ({"data": {"banned": True, "banExpires": "2027-01-01T00:00:00"}}, "VALIDATION_ERROR"),
            ({"data": {"banReason": "\u202e"}}, "VALIDATION_ERROR"),
            ({"data": {"locale": "nl"}}, "VALIDATION_ERROR"),
            ({"name": "a\nb"}, "VALIDATION_ERROR"),
        ],
    )
    async def test_unsound_users_are_not_created(
        self, service: Service, admin: Person, body: dict[str, Any], refusal: str
    ) -> None:
        refused = await call(service, admin, "create-user", **{"email": "n@example.com", "name": "N", **body})

        assert refused == (400, refusal)
        assert await listed(service, admin) == ["admin@example.com"]

    async def test_a_user_without_a_password_gets_in_by_a_reset(
        self, service: Service, admin: Person
    ) -> None:
        await call(service, admin, "create-user", email="grace@example.com", name="Grace")

        assert not await steps.opens(service, PASSWORD, "grace@example.com")
        token = await reset_token(service, "grace@example.com")
        await service.post("/reset-password", {"token": token, "newPassword": PASSWORD})
        assert await steps.opens(service, PASSWORD, "grace@example.com")

    @pytest.mark.operation("admin.update_user")
    async def test_update_user_changes_all_or_nothing(self, service: Service, person: Make) -> None:
        admin, user = await person("admin"), await person()
        await person("user", "taken@example.com")
        both = {"name": "Grace", "email": "taken@example.com"}
        refused = await call(service, admin, "update-user", userId=user.id, data=both)
        assert refused == (400, "USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL")

        data = {"name": "Grace", "email": "Grace@example.com", "role": "editor", "image": ""}
        status, answer = await call(service, admin, "update-user", userId=user.id, data=data)

        assert status == 200
        assert answer.items() >= {"name": "Grace", "email": "grace@example.com", "role": "editor", "image": None,
                                  "emailVerified": False}.items()  # fmt: skip
        assert "email-changed" in await mailed(service, user)
        assert await works(service, user)

    @pytest.mark.parametrize(
        ("data", "refusal"),
        [
            ({}, "NO_DATA_TO_UPDATE"),
            ({"unknown": 1}, "NO_DATA_TO_UPDATE"),
            ({"password": "x"}, "PASSWORD_CANNOT_BE_UPDATED_VIA_UPDATE_USER"),
            ({"id": "x"}, "USER_ID_CANNOT_BE_UPDATED"),
            ({"twoFactorEnabled": True}, "FIELD_NOT_ALLOWED"),
            ({"email": "ada"}, "INVALID_EMAIL"),
            ({"username": "a"}, "USERNAME_TOO_SHORT"),
        ],
    )
    async def test_unsound_updates_are_400(
        self, service: Service, admin: Person, user: Person, data: dict[str, Any], refusal: str
    ) -> None:
        assert await call(service, admin, "update-user", userId=user.id, data=data) == (400, refusal)

    async def test_a_role_counts_from_the_next_request(
        self, service: Service, admin: Person, user: Person
    ) -> None:
        promoted = (await call(service, admin, "set-role", userId=user.id, role="admin"))[1]["user"]

        assert (promoted["role"], len(await listed(service, user))) == ("admin", 2)
        assert "role-changed" in await mailed(service, user)
        assert (await call(service, admin, "set-role", userId=user.id, role="user,editor"))[0] == 200
        assert (await service.get("/admin/list-users", headers=user.headers)).status_code == 403
        assert len(await of_event(service, "user.role_changed")) == 2

    @pytest.mark.operation("admin.set_user_password")
    async def test_set_user_password_ends_sessions(
        self, service: Service, admin: Person, user: Person
    ) -> None:
        new = "another good password"

        changed = await call(service, admin, "set-user-password", userId=user.id, newPassword=new)

        assert (changed, await works(service, user)) == ((200, {"status": True}), False)
        assert [await opens(service, user, password) for password in (PASSWORD, new)] == [False, True]
        assert "password-changed" in await mailed(service, user)
        for short, refusal in (
            ("", "VALIDATION_ERROR"),
            ("short", "PASSWORD_TOO_SHORT"),
            (user.email, "PASSWORD_TOO_COMMON"),
        ):
            refused = await call(service, admin, "set-user-password", userId=user.id, newPassword=short)
            assert refused == (400, refusal)

    @pytest.mark.operation("admin.ban_user", "admin.unban_user")
    @pytest.mark.threat("ADM12")
    async def test_a_ban_shuts_a_user_out_at_once(
        self, service: Service, admin: Person, user: Person
    ) -> None:
        answer = (await call(service, admin, "ban-user", userId=user.id, banExpiresIn=60))[1]["user"]

        assert (answer["banned"], answer["banReason"], answer["banExpires"]) == (
            True, "No reason", "2026-01-01T12:01:00.000Z")  # fmt: skip
        assert await service.rows("SELECT id FROM session WHERE user_id = :id", id=user.id) == []
        assert not await works(service, user)
        assert steps.code(await steps.sign_in(service, user.email)) == "403 BANNED_USER"
        service.clock.advance(seconds=61)
        assert await opens(service, user)
        await call(service, admin, "ban-user", userId=user.id, banReason="Spam")
        lifted = (await call(service, admin, "unban-user", userId=user.id))[1]["user"]
        assert (lifted["banned"], lifted["banReason"], lifted["banExpires"]) == (False, None, None)
        assert len(await of_event(service, "user.banned")) == 2

    @pytest.mark.operation("admin.reset_two_factor")
    async def test_reset_two_factor(self, service: Service, admin: Person, user: Person) -> None:
        enabled = {"password": PASSWORD, "method": "otp"}
        await steps.set_user(service, user.email, email_verified=True)
        assert (await service.post("/two-factor/enable", enabled, headers=user.headers)).status_code == 200

        answer = await call(service, admin, "reset-two-factor", userId=user.id)

        assert answer[1]["user"]["twoFactorEnabled"] is False
        assert not await works(service, user)
        assert (await call(service, admin, "reset-two-factor", userId=user.id))[0] == 200

    @pytest.mark.operation("admin.remove_user")
    async def test_remove_user(self, service: Service, admin: Person, user: Person) -> None:
        assert await call(service, admin, "remove-user", userId=user.id) == (200, {"success": True})

        assert not await works(service, user)
        assert await call(service, admin, "remove-user", userId=user.id) == (404, "USER_NOT_FOUND")
        assert [row.actor_id for row in await of_event(service, "user.deleted")] == [admin.id]


@pytest.mark.operation("admin.list_user_sessions", "admin.revoke_user_session", "admin.revoke_user_sessions")
class TestSessions:
    @pytest.mark.threat("ADM10")
    async def test_sessions_of_others_are_listed_without_tokens(
        self, service: Service, admin: Person, user: Person
    ) -> None:
        [session] = (await call(service, admin, "list-user-sessions", userId=user.id))[1]["sessions"]

        assert session["token"] == f"rvk_{session['id']}"
        assert not await steps.works(service, steps.bearer(session["token"]))
        assert [row.user_id for row in await of_event(service, "admin.sessions_listed")] == [user.id]

        ended = await call(service, admin, "revoke-user-session", sessionToken=session["token"])
        assert (ended, await works(service, user)) == ((200, {"success": True}), False)

    async def test_the_own_session_has_its_token_and_can_be_ended(
        self, service: Service, admin: Person
    ) -> None:
        [session] = (await call(service, admin, "list-user-sessions", userId=admin.id))[1]["sessions"]

        answer = await service.post(
            "/admin/revoke-user-session", {"sessionToken": session["token"]}, headers=admin.headers
        )

        assert "Max-Age=0" in answer.headers["set-cookie"]
        assert not await works(service, admin)

    async def test_revoke_user_sessions(
        self, service: Service, admin: Person, user: Person, sign_in: SignIn
    ) -> None:
        await sign_in(user.email)

        assert (await call(service, admin, "revoke-user-sessions", userId=user.id))[1]["count"] == 2
        assert not await works(service, user)


@pytest.mark.operation("admin.list_users")
class TestListing:
    @pytest.fixture
    async def admin(self, service: Service, person: Make) -> Person:
        """An administrator, and four users created one second after the other."""
        admin = await person("admin", "zoe@example.com")
        await steps.set_user(service, admin.email, name="Zoe")
        users: tuple[dict[str, Any], ...] = (
            {"email": "ada@example.com", "name": "Ada", "username": "ada", "banned": True},
            {"email": "b_ob@example.com", "name": "bob", "username": "bob", "role": "support,editor"},
            {"email": "bxob@example.com", "name": "Émile", "role": "editor"},
            {"email": "carl@test.org", "name": "Carl"},
        )
        created = [START + timedelta(seconds=number) for number in range(1, 5)]
        await rows.add(
            service.services.database,
            *(
                rows.user(**{"role": "user", "created_at": at, **each})
                for at, each in zip(created, users, strict=True)
            ),
        )
        return admin

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ({}, "carl bxob b_ob ada zoe"),
            ({"sortBy": "email"}, "ada b_ob bxob carl zoe"),
            ({"sortBy": "name", "limit": "2", "offset": "1"}, "b_ob carl"),
            ({"sortBy": "email", "sortDirection": "desc", "limit": "1"}, "zoe"),
            ({"searchValue": "EXAMPLE"}, "bxob b_ob ada zoe"),
            ({"searchValue": "b", "searchOperator": "starts_with"}, "bxob b_ob"),
            ({"searchValue": "b_", "searchOperator": "starts_with"}, "b_ob"),
            ({"searchValue": ".org", "searchOperator": "ends_with"}, "carl"),
            ({"searchValue": "%"}, ""),
            ({"searchValue": ""}, "carl bxob b_ob ada zoe"),
            ({"searchField": "name", "searchValue": "BO", "searchOperator": "starts_with"}, "b_ob"),
            ({"searchField": "name", "searchValue": "AR"}, "carl"),
            ({"searchField": "name", "searchValue": "OB", "searchOperator": "ends_with"}, "b_ob"),
            ({"searchField": "name", "searchValue": "é", "searchOperator": "starts_with"}, "bxob"),
            ({"filterValue": "ADA@example.com"}, "ada"),
            ({"filterField": "role", "filterValue": "editor"}, "bxob b_ob"),
            ({"filterField": "role", "filterOperator": "ne", "filterValue": "editor"}, "carl ada zoe"),
            (
                {"filterField": "role", "filterOperator": "in", "filterValue": ["admin", "support"]},
                "b_ob zoe",
            ),
            ({"filterField": "banned", "filterValue": "true"}, "ada"),
            ({"filterField": "banned", "filterOperator": "ne", "filterValue": "true"}, "carl bxob b_ob zoe"),
            (
                {"filterField": "createdAt", "filterOperator": "gt", "filterValue": "2026-01-01T12:00:02Z"},
                "carl bxob",
            ),
            (
                {"filterField": "createdAt", "filterOperator": "lte", "filterValue": "2026-01-01T12:00:01Z"},
                "ada zoe",
            ),
            ({"filterField": "username", "filterOperator": "ne", "filterValue": "ada"}, "carl bxob b_ob zoe"),
            ({"filterField": "name", "filterOperator": "in", "filterValue": ["ADA", "Carl"]}, "carl ada"),
            ({"filterField": "email", "filterOperator": "gte", "filterValue": "c"}, "carl zoe"),
            ({"searchValue": "b", "filterField": "role", "filterValue": "support"}, "b_ob"),
        ],
    )
    async def test_pages(self, service: Service, admin: Person, query: dict[str, Any], found: str) -> None:
        assert " ".join(email.partition("@")[0] for email in await listed(service, admin, **query)) == found

    @pytest.mark.threat("ADM15")
    @pytest.mark.parametrize(
        ("query", "field"),
        [
            ({"sortBy": "password"}, "sortBy"),
            ({"sortBy": "id;drop"}, "sortBy"),
            ({"filterField": "tokenDigest", "filterValue": "x"}, "filterField"),
            ({"filterField": "password", "filterValue": "x"}, "filterField"),
            ({"limit": "0"}, "limit"),
            ({"limit": "501"}, "limit"),
            ({"offset": "-1"}, "offset"),
            ({"offset": "100001"}, "offset"),
            ({"searchOperator": "like"}, "searchOperator"),
            ({"filterField": "banned", "filterOperator": "lt", "filterValue": "true"}, "filterOperator"),
            ({"filterField": "banned", "filterValue": "1"}, "filterValue"),
            ({"filterField": "createdAt", "filterValue": "yesterday"}, "filterValue"),
            (
                {"filterField": "createdAt", "filterOperator": "contains", "filterValue": "2"},
                "filterOperator",
            ),
            ({"filterField": "role", "filterOperator": "contains", "filterValue": "a"}, "filterOperator"),
            ({"filterValue": ["a", "b"]}, "filterValue"),
            ({"filterOperator": "in", "filterValue": ["a"] * 101}, "filterValue"),
            ({"searchValue": "x" * 255}, "searchValue"),
        ],
    )
    async def test_whatever_is_not_listed_is_400(
        self, service: Service, admin: Person, query: dict[str, Any], field: str
    ) -> None:
        answer = await service.get("/admin/list-users", headers=admin.headers, params=query)

        assert (answer.status_code, answer.json()["fields"][0]["name"].partition(".")[0]) == (400, field)

    @settings(count_limit="1000")
    async def test_the_total_is_capped(self, service: Service, admin: Person) -> None:
        page = (await service.get("/admin/list-users", headers=admin.headers, params={"limit": 1})).json()
        assert (page["total"], page["totalCapped"], page["limit"], page["offset"]) == (5, False, 1, 0)

        await steps.execute(
            service,
            'INSERT INTO "user" (id, name, email, email_verified, two_factor_enabled, role, banned, created_at,'
            " updated_at) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)"
            " SELECT 'u' || i, '', 'u' || i || '@example.com', false, false, 'user', false, u.created_at,"
            " u.updated_at FROM n, \"user\" u WHERE u.email = 'zoe@example.com'",
        )

        page = (await service.get("/admin/list-users", headers=admin.headers, params={"limit": 1})).json()
        assert (page["total"], page["totalCapped"]) == (1000, True)

    @pytest.mark.operation("admin.get_user")
    async def test_get_user(self, service: Service, admin: Person) -> None:
        answer = await service.get("/admin/get-user", headers=admin.headers, params={"id": admin.id})
        assert (answer.json()["email"], len(answer.json())) == (admin.email, 15)
        missing = await service.get("/admin/get-user", headers=admin.headers, params={"id": admin.email})
        assert steps.code(missing) == "404 USER_NOT_FOUND"
        nothing = await service.get("/admin/get-user", headers=admin.headers)
        assert steps.code(nothing) == "400 VALIDATION_ERROR"
