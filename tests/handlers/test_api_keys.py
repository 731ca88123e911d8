"""The operations of openapi/paths/api_keys.yaml, and an API key on /get-session."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any
from zlib import crc32

import httpx
import pytest
from sqlalchemy import update
from sqlmodel import col

from domain import tokens
from models.api_key import ApiKey
from server.components.api_keys import ApiKeyUsage
from tests.conftest import Headers, MakeService, SignIn
from tests.handlers.steps import ADA, bearer, execute, reset_token, set_user, sign_in, user_of
from tests.service import PASSWORD, Service
from tests.settings.api_keys import VERIFIER
from tests.trail import of_event, only

SETTINGS = {
    "api_keys.verifiers": f"files:{VERIFIER},files:{'w' * 40},mail:{'x_-' * 12}",
    "api_keys.grantable": json.dumps({"files": ["read"]}),
    "admin.roles": json.dumps({"keeper": {"apiKey": ["manage"]}}),
}
MINUTE, DAY = 60, 86400
BASE_62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

Call = Callable[..., Awaitable[Any]]


@pytest.fixture
async def service(make_service: MakeService, request: pytest.FixtureRequest) -> Service:
    """A service with two verifiers, and a role that manages keys."""
    return await make_service({**SETTINGS, **getattr(request, "param", {})})


def settings(**names: str) -> pytest.MarkDecorator:
    """Run a test with these settings of `api_keys`; a dot is written as two underscores."""
    values = {f"api_keys.{key.replace('__', '.')}": value for key, value in names.items()}
    return pytest.mark.parametrize("service", [values], indirect=True)


unusual = settings(starting_characters="0", default_prefix="", metadata="true", disable_on_reset="true")
"""Run a test with settings that do not touch each other."""


@pytest.fixture
async def ada(sign_up: SignIn) -> Headers:
    return await sign_up(ADA)


@pytest.fixture
async def keeper(service: Service, sign_up: SignIn) -> Headers:
    """A user who manages the keys of all."""
    headers = await sign_up("keeper@example.com")
    await set_user(service, "keeper@example.com", role="keeper")
    return headers


def outcome(answer: httpx.Response) -> Any:
    """Return the body, or the code of an error."""
    return answer.json() if answer.is_success else answer.json()["code"]


@pytest.fixture
def call(service: Service) -> Call:
    """Call an operation of keys; return its body, or the code of an error."""

    async def call(by: Headers, name: str, /, **body: Any) -> Any:
        return outcome(await service.post(f"/api-key/{name}", body, headers=by))

    return call


@pytest.fixture
def get(service: Service) -> Call:
    async def get(by: Headers, name: str, **query: Any) -> Any:
        return outcome(await service.get(f"/api-key/{name}", params=query, headers=by))

    return get


async def ask(service: Service, key: str, token: str = VERIFIER, **body: Any) -> httpx.Response:
    """Verify a key as a service with this token."""
    return await service.post("/api-key/verify", {"key": key, **body}, headers=bearer(token))


@pytest.fixture
def verify(service: Service) -> Call:
    """Verify a key; return the key if it is valid, or the code of the reason."""

    async def verify(key: str, **body: Any) -> Any:
        answer = await ask(service, key, **body)
        if not answer.is_success:
            return answer.json()["code"]
        verdict = answer.json()
        assert verdict["valid"] == (verdict["error"] is None) == (verdict["key"] is not None)
        return verdict["key"] or verdict["error"]["code"]

    return verify


async def wait_of(service: Service, key: str) -> int | None:
    """Return after how many milliseconds a refused key can be used again."""
    wait: int | None = (await ask(service, key)).json()["error"].get("details", {}).get("tryAgainIn")
    return wait


@pytest.mark.operation("api_keys.create")
class TestCreate:
    async def test_a_key_without_any_field(self, service: Service, ada: Headers, call: Call) -> None:
        made = await call(ada, "create")

        user = (await user_of(service, ada))["id"]
        key = made.pop("key")
        random, check = key.removeprefix("gwk_")[:58], 0
        for character in key[-6:]:
            check = check * 62 + BASE_62.index(character)
        assert (random.isalnum(), len(random), len(key)) == (True, 58, 68)
        assert check == crc32(key[:-6].encode())
        assert made | {"id": "", "createdAt": "", "updatedAt": ""} == {
            "id": "", "configId": "default", "name": None, "start": key[:8], "prefix": "gwk_", "referenceId": user,
            "enabled": True, "expiresAt": None, "remaining": None, "refillAmount": None, "refillInterval": None,
            "lastRefillAt": None, "rateLimitEnabled": False, "rateLimitTimeWindow": 60000, "rateLimitMax": 600,
            "requestCount": 0, "lastRequest": None, "permissions": None, "metadata": None, "createdBy": user,
            "createdAt": "", "updatedAt": "",
        }  # fmt: skip
        assert await service.rows("SELECT 1 FROM api_key WHERE name = :key OR start = :key", key=key) == []

    async def test_owners_choose_name_prefix_lifetime_and_grantable_permissions(
        self, ada: Headers, call: Call
    ) -> None:
        more = {"prefix": "ci_", "expiresIn": DAY, "permissions": {"files": ["read"]}, "userIdentity": "x"}
        made = await call(ada, "create", name="ci", **more)

        assert made["key"].startswith("ci_")
        assert made["start"] == made["key"][:7]
        assert (made["name"], made["permissions"]) == ("ci", {"files": ["read"]})
        assert made["expiresAt"] == "2026-01-02T12:00:00.000Z"

    @unusual
    async def test_nothing_may_be_shown_of_a_key(self, ada: Headers, call: Call) -> None:
        made = await call(ada, "create")

        assert (made["start"], made["prefix"], len(made["key"])) == (None, None, 64)

    @pytest.mark.threat("KEY16")
    @pytest.mark.threat("KEY18")
    @pytest.mark.threat("KEY19")
    @pytest.mark.parametrize(
        ("body", "code"),
        [
            ({"configId": "other"}, "API_KEY_CONFIGURATION_NOT_FOUND"),
            ({"metadata": {"a": 1}}, "METADATA_DISABLED"),
            ({"metadata": "text"}, "METADATA_DISABLED"),
            ({"expiresIn": 0}, "EXPIRES_IN_IS_TOO_SMALL"),
            ({"expiresIn": -1}, "EXPIRES_IN_IS_TOO_SMALL"),
            ({"expiresIn": DAY - 1}, "EXPIRES_IN_IS_TOO_SMALL"),
            ({"expiresIn": 365 * DAY + 1}, "EXPIRES_IN_IS_TOO_LARGE"),
            ({"expiresIn": 0.5}, "VALIDATION_ERROR"),
            ({"expiresIn": 1e308}, "VALIDATION_ERROR"),
            ({"expiresIn": "60"}, "VALIDATION_ERROR"),
            ({"name": ""}, "INVALID_NAME_LENGTH"),
            ({"name": " \u2003"}, "INVALID_NAME_LENGTH"),
            ({"name": "n" * 33}, "INVALID_NAME_LENGTH"),
            ({"name": "n" * 257}, "INVALID_NAME_LENGTH"),
            ({"name": "a\r\nb"}, "VALIDATION_ERROR"),
            ({"name": "\u202eevil"}, "VALIDATION_ERROR"),
            ({"prefix": ""}, "INVALID_PREFIX_LENGTH"),
            ({"prefix": "p" * 33}, "INVALID_PREFIX_LENGTH"),
            ({"prefix": "p" * 10_000}, "INVALID_PREFIX_LENGTH"),
            ({"prefix": "a\r\nb"}, "VALIDATION_ERROR"),
            ({"prefix": "ä"}, "VALIDATION_ERROR"),
            ({"prefix": "2fa_x"}, "VALIDATION_ERROR"),
            ({"prefix": "rvk_"}, "VALIDATION_ERROR"),
            ({"prefix": "inv_1"}, "VALIDATION_ERROR"),
            ({"permissions": {"1x": ["read"]}}, "SERVER_ONLY_PROPERTY"),
            ({"permissions": {"files": ["re ad"]}}, "VALIDATION_ERROR"),
        ],
        ids=str,
    )
    async def test_refusals(self, ada: Headers, call: Call, body: dict[str, Any], code: str) -> None:
        assert await call(ada, "create", **body) == code

    @settings(minimum_prefix_length="3", maximum_prefix_length="5", require_name="true", custom_expiry="false",
              expires_in="30d")  # fmt: skip
    async def test_settings_narrow_what_is_accepted(self, ada: Headers, call: Call) -> None:
        assert await call(ada, "create", name="n", prefix="ab") == "INVALID_PREFIX_LENGTH"
        assert await call(ada, "create", name="n", prefix="abcdef") == "INVALID_PREFIX_LENGTH"
        assert await call(ada, "create") == "NAME_REQUIRED"
        assert await call(ada, "create", name="n", expiresIn=DAY) == "KEY_DISABLED_EXPIRATION"
        assert (await call(ada, "create", name="n"))["expiresAt"] == "2026-01-31T12:00:00.000Z"

    @pytest.mark.threat("KEY19")
    @settings(allow_never="false", maximum_expires_in="90d")
    async def test_every_key_may_have_to_expire(self, ada: Headers, call: Call) -> None:
        assert await call(ada, "create", expiresIn=None) == "EXPIRES_IN_IS_TOO_LARGE"
        made = await call(ada, "create")
        assert made["expiresAt"] == "2026-04-01T12:00:00.000Z"
        assert await call(ada, "update", keyId=made["id"], expiresIn=None) == "EXPIRES_IN_IS_TOO_LARGE"

    @pytest.mark.threat("KEY18")
    @unusual
    async def test_metadata_is_kept_up_to_its_size(self, ada: Headers, call: Call) -> None:
        made = await call(ada, "create", metadata={"team": {"name": "build"}})
        assert made["metadata"] == {"team": {"name": "build"}}
        for bad in ({"x": "y" * 5000}, {"a": {"__proto__": {"admin": True}}}):
            assert await call(ada, "create", metadata=bad) == "VALIDATION_ERROR"
        no_objects: list[Any] = ["text", "", 1, 0.5, False, ["a"], [{}], []]
        for no_object in no_objects:
            assert await call(ada, "create", metadata=no_object) == "INVALID_METADATA_TYPE"
            changed = await call(ada, "update", keyId=made["id"], metadata=no_object)
            assert changed == "INVALID_METADATA_TYPE"
        assert (await call(ada, "update", keyId=made["id"], metadata=None))["metadata"] is None

    @pytest.mark.threat("KEY12", "KEY18")
    async def test_the_owner_is_notified_without_the_key(
        self, service: Service, ada: Headers, call: Call
    ) -> None:
        made = await call(ada, "create", name="<b>ci</b>")

        (mail,) = await service.inbox(ADA, "api-key-created")
        for part in ("&lt;b&gt;ci", made["start"], "127.0.0.1"):
            assert part in mail["html"]
        assert "<b>ci" not in mail["html"]
        assert made["key"] not in json.dumps(mail)

    @pytest.mark.threat("KEY20")
    @pytest.mark.both_databases
    @settings(limit_per_owner="3")
    async def test_the_limit_holds_when_many_are_created_at_once(
        self, service: Service, ada: Headers, call: Call, sign_up: SignIn
    ) -> None:
        made = await asyncio.gather(*(call(ada, "create", expiresIn=DAY) for _ in range(20)))

        assert sum(isinstance(one, dict) for one in made) == 3
        assert {one for one in made if isinstance(one, str)} == {"API_KEY_LIMIT_REACHED"}
        service.clock.advance(days=1)  # Expired keys do not count.
        assert isinstance(await call(await sign_up("bo@example.com"), "create"), dict)
        again = bearer((await sign_in(service)).json()["token"])
        assert isinstance(await call(again, "create"), dict)


MANAGED: list[dict[str, Any]] = [
    {"remaining": 5},
    {"refillAmount": 5, "refillInterval": 1000},
    {"refillAmount": None},
    {"rateLimitEnabled": False},
    {"rateLimitTimeWindow": 60000},
    {"rateLimitMax": 600},
    {"permissions": {"files": ["read", "write"]}},
    {"permissions": {"mails": ["read"]}},
]


class TestManagers:
    @pytest.mark.threat("KEY4")
    @pytest.mark.parametrize("body", MANAGED, ids=str)
    async def test_their_fields_are_for_them_alone(
        self, ada: Headers, keeper: Headers, call: Call, body: dict[str, Any]
    ) -> None:
        made = await call(ada, "create", remaining=None)
        complete = {**body, "refillInterval": None} if body == {"refillAmount": None} else body

        assert await call(ada, "create", **body) == "SERVER_ONLY_PROPERTY"
        assert await call(ada, "update", keyId=made["id"], **body) == "SERVER_ONLY_PROPERTY"
        assert complete.items() <= (await call(keeper, "create", **body)).items()
        assert complete.items() <= (await call(keeper, "update", keyId=made["id"], **body)).items()

    @pytest.mark.threat("KEY1")
    async def test_only_they_create_and_list_keys_of_others(
        self, service: Service, ada: Headers, keeper: Headers, call: Call, get: Call
    ) -> None:
        mine, theirs = [(await user_of(service, headers))["id"] for headers in (ada, keeper)]

        assert await call(ada, "create", userId=theirs) == "UNAUTHORIZED_SESSION"
        assert await call({}, "create", userId=theirs) == "UNAUTHORIZED"
        assert await get(ada, "list", userId=theirs) == "UNAUTHORIZED_SESSION"
        for ignored in ("referenceId", "user_id", "createdBy", "digest"):
            assert (await call(ada, "create", **{ignored: theirs}))["referenceId"] == mine
        made = await call(keeper, "create", userId=mine)
        assert (made["referenceId"], made["createdBy"]) == (mine, theirs)
        assert (await get(keeper, "list", userId=mine))["total"] == 5
        assert await service.inbox(ADA, "api-key-created") != []
        assert await call(keeper, "create", userId="nobody") == "USER_NOT_FOUND"
        assert await get(keeper, "list", userId="nobody") == "USER_NOT_FOUND"

    @pytest.mark.threat("KEY21")
    async def test_they_do_not_touch_keys_of_users_with_more_powers(
        self, service: Service, keeper: Headers, sign_up: SignIn, call: Call, get: Call
    ) -> None:
        admin = await sign_up("admin@example.com")
        await set_user(service, "admin@example.com", role="admin")
        made = await call(admin, "create")
        refused = "YOU_ARE_NOT_ALLOWED_TO_MANAGE_API_KEYS"

        assert await call(keeper, "create", userId=made["referenceId"]) == refused
        assert await get(keeper, "list", userId=made["referenceId"]) == refused
        assert await get(keeper, "get", id=made["id"]) == refused
        assert await call(keeper, "update", keyId=made["id"], enabled=False) == refused
        assert await call(keeper, "delete", keyId=made["id"]) == refused
        assert (await get(admin, "get", id=made["id"]))["enabled"] is True

    async def test_a_refill_begins_when_it_is_set_and_keeps_what_is_left(
        self, service: Service, keeper: Headers, call: Call, verify: Call
    ) -> None:
        refill = {"refillAmount": 9, "refillInterval": 60_000}
        left, endless, null = [
            await call(keeper, "create", **body)
            for body in ({"remaining": 3}, {}, {"remaining": None, **refill})
        ]
        assert null["remaining"] is None
        service.clock.advance(hours=1)

        assert (await call(keeper, "update", keyId=left["id"], **refill))["remaining"] == 3
        assert (await call(keeper, "update", keyId=endless["id"], **refill))["remaining"] == 9
        assert (await verify(left["key"]))["remaining"] == 2
        service.clock.advance(seconds=59.999)
        assert (await verify(left["key"]))["remaining"] == 1
        service.clock.advance(seconds=0.001)
        assert (await verify(left["key"]))["remaining"] == 8

    async def test_refills_need_both_values(self, keeper: Headers, call: Call) -> None:
        assert await call(keeper, "create", refillInterval=1000) == "REFILL_AMOUNT_AND_INTERVAL_REQUIRED"
        assert await call(keeper, "create", refillAmount=1) == "REFILL_INTERVAL_AND_AMOUNT_REQUIRED"
        assert (await call(keeper, "create", refillAmount=7, refillInterval=1000))["remaining"] == 7
        assert await call(keeper, "create", permissions={"1x": ["read"]}) == "VALIDATION_ERROR"


@pytest.mark.operation("api_keys.delete", "api_keys.get", "api_keys.list_own", "api_keys.update")
class TestOwnKeys:
    @pytest.mark.threat("KEY2")
    async def test_keys_of_others_do_not_exist(
        self, ada: Headers, sign_up: SignIn, call: Call, get: Call
    ) -> None:
        made, bo = await call(ada, "create"), await sign_up("bo@example.com")

        for kind in ({}, {"configId": "default"}):
            assert await get(bo, "get", id=made["id"], **kind) == "KEY_NOT_FOUND"
            assert await call(bo, "update", keyId=made["id"], enabled=False, **kind) == "KEY_NOT_FOUND"
            assert await call(bo, "delete", keyId=made["id"], **kind) == "KEY_NOT_FOUND"
        assert (await get(bo, "list"))["total"] == 0
        assert await get(ada, "get", id=made["id"], configId="other") == "API_KEY_CONFIGURATION_NOT_FOUND"
        del made["key"]
        assert await get(ada, "get", id=made["id"], configId="default") == made

    async def test_list_pages_and_sorts(self, service: Service, ada: Headers, call: Call, get: Call) -> None:
        for name, lasts in (("b", 2 * DAY), ("c", None), ("a", DAY)):
            await call(ada, "create", name=name, expiresIn=lasts)
            service.clock.advance(seconds=1)

        async def names(**query: Any) -> str:
            return "".join(key["name"] for key in (await get(ada, "list", **query))["apiKeys"])

        assert await names() == "acb"
        assert await names(sortBy="createdAt") == "bca"
        assert await names(sortBy="name", sortDirection="desc") == "cba"
        assert await names(sortBy="expiresAt") == "abc"
        assert await names(sortBy="expiresAt", sortDirection="desc") == "bac"
        assert await names(limit=1, offset=1) == "c"
        page = await get(ada, "list", limit=2)
        assert (page["total"], page["limit"], page["offset"], "key" in page["apiKeys"][0]) == (3, 2, 0, False)
        for bad in ({"limit": 0}, {"limit": 501}, {"offset": 10_001}, {"sortBy": "digest"}):
            assert await get(ada, "list", **bad) == "VALIDATION_ERROR"

    async def test_update_changes_only_what_it_names(
        self, service: Service, ada: Headers, keeper: Headers, call: Call, verify: Call
    ) -> None:
        made = await call(keeper, "create", remaining=5, name="old")
        key = made.pop("key")
        used = await verify(key)
        service.clock.advance(seconds=1)

        ignored = {"key": "x", "prefix": "y_"}
        changed = await call(keeper, "update", keyId=made["id"], name="new", expiresIn=DAY, **ignored)

        times = {"expiresAt": "2026-01-02T12:00:01.000Z", "updatedAt": "2026-01-01T12:00:01.000Z"}
        assert changed == {**used, **times, "name": "new"}
        assert await call(keeper, "update", keyId=made["id"]) == "NO_VALUES_TO_UPDATE"
        assert await call(keeper, "update", keyId=made["id"], name="") == "INVALID_NAME_LENGTH"
        assert await call(keeper, "update", keyId="x", name="n") == "KEY_NOT_FOUND"
        record = await only(service, "api_key.updated")
        assert record.details == {"key": made["id"], "fields": ["expiresIn", "name"]}

    @pytest.mark.threat("KEY7")
    @pytest.mark.both_databases
    async def test_disabled_and_deleted_keys_are_refused_at_once(
        self, service: Service, ada: Headers, call: Call, verify: Call
    ) -> None:
        made = await call(ada, "create")
        assert (await verify(made["key"]))["id"] == made["id"]

        await call(ada, "update", keyId=made["id"], enabled=False)
        assert await verify(made["key"]) == "KEY_DISABLED"
        await call(ada, "update", keyId=made["id"], enabled=True)
        assert (await verify(made["key"]))["enabled"] is True
        assert await call(ada, "delete", keyId=made["id"]) == {"success": True}
        assert await verify(made["key"]) == "INVALID_API_KEY"
        assert await call(ada, "delete", keyId=made["id"]) == "KEY_NOT_FOUND"
        for name, times in (("created", 1), ("updated", 2), ("deleted", 1)):
            assert len(await of_event(service, f"api_key.{name}")) == times


KINDS = {
    "ci": {"references": "user", "default_prefix": "ci_", "expires_in": "30d", "maximum_expires_in": "60d",
           "rate_limit": {"enabled": True, "max": 1}, "default_permissions": {"builds": ["read"]},
           "grantable": {"builds": ["read", "run"]}},
    "plain": {"references": "user", "custom_expiry": False, "grantable": {}},
}  # fmt: skip


LIMIT = {"rateLimitEnabled": True, "rateLimitMax": 10, "rateLimitTimeWindow": 60_000}


@settings(kinds=json.dumps(KINDS))
class TestKinds:
    @pytest.mark.threat("KEY2")
    async def test_each_has_its_own_values(self, ada: Headers, call: Call, get: Call, verify: Call) -> None:
        ci, plain = [await call(ada, "create", configId=kind) for kind in KINDS]

        assert (ci["configId"], ci["prefix"], ci["expiresAt"]) == ("ci", "ci_", "2026-01-31T12:00:00.000Z")
        assert (ci["permissions"], ci["rateLimitMax"]) == ({"builds": ["read"]}, 1)
        assert ci["rateLimitEnabled"] is True
        assert (plain["prefix"], plain["expiresAt"], plain["permissions"]) == ("gwk_", None, None)
        changed = await call(ada, "update", keyId=ci["id"], permissions={"builds": ["run"]})
        assert changed["permissions"] == {"builds": ["run"]}
        for none_grantable in ({"builds": ["run"]}, {}, None):
            refused = await call(ada, "update", keyId=plain["id"], permissions=none_grantable)
            assert refused == "SERVER_ONLY_PROPERTY"
        assert await call(ada, "update", keyId=ci["id"], expiresIn=61 * DAY) == "EXPIRES_IN_IS_TOO_LARGE"
        assert await call(ada, "update", keyId=plain["id"], expiresIn=DAY) == "KEY_DISABLED_EXPIRATION"
        assert [(await get(ada, "list", **query))["total"] for query in ({}, {"configId": "ci"})] == [2, 1]
        for wrong in ("plain", "default"):
            assert await verify(ci["key"], configId=wrong) == "INVALID_API_KEY"
            assert await get(ada, "get", id=ci["id"], configId=wrong) == "KEY_NOT_FOUND"
            assert await call(ada, "update", keyId=ci["id"], configId=wrong, enabled=False) == "KEY_NOT_FOUND"
            assert await call(ada, "delete", keyId=ci["id"], configId=wrong) == "KEY_NOT_FOUND"
        assert (await verify(ci["key"], configId="ci"))["requestCount"] == 1

    async def test_keys_of_a_kind_that_is_gone_are_unknown_and_stay(
        self, service: Service, ada: Headers, call: Call, get: Call, verify: Call
    ) -> None:
        made = await call(ada, "create", configId="ci")
        await execute(service, "UPDATE api_key SET kind = 'gone'")

        assert await verify(made["key"]) == "INVALID_API_KEY"
        assert (await get(ada, "list"))["apiKeys"][0]["configId"] == "gone"
        assert await call(ada, "update", keyId=made["id"], name="n") == "API_KEY_CONFIGURATION_NOT_FOUND"
        assert await call(ada, "delete", keyId=made["id"]) == {"success": True}


@pytest.mark.operation("api_keys.verify")
class TestVerify:
    async def test_a_valid_key(self, service: Service, ada: Headers, call: Call, verify: Call) -> None:
        made = await call(ada, "create")
        key = made.pop("key")

        assert await verify(key) == made
        for seconds, recorded in ((0, "12:00"), (30, "12:00"), (30, "12:01")):  # At most once a minute.
            service.clock.advance(seconds=seconds)
            await verify(key)
            await service.services.port[ApiKeyUsage].write()
            assert (await verify(key))["lastRequest"] == f"2026-01-01T{recorded}:00.000Z"

    @pytest.mark.threat("KEY10", "KEY14")
    async def test_only_verifiers_ask(self, service: Service, ada: Headers, call: Call) -> None:
        key = (await call(ada, "create"))["key"]
        for token, status in (
            (VERIFIER, 200),
            ("w" * 40, 200),  # The second token of the same service.
            ("x_-" * 12, 200),
            (VERIFIER[1:], 401),
            (key, 401),
            (ada["Authorization"].removeprefix("Bearer "), 401),
        ):
            assert (token, (await ask(service, key, token)).status_code) == (token, status)
        assert (await service.post("/api-key/verify", {"key": key})).status_code == 401

    @pytest.mark.threat("KEY23")
    @settings(verifiers="")
    async def test_does_not_exist_without_verifiers(self, ada: Headers, call: Call, verify: Call) -> None:
        assert await verify((await call(ada, "create"))["key"]) == "NOT_FOUND"

    @pytest.mark.threat("KEY23")
    @settings(enabled="false", sessions="false")
    async def test_nothing_exists_while_keys_are_off(
        self, ada: Headers, call: Call, get: Call, verify: Call
    ) -> None:
        for name in ("create", "update", "delete"):
            assert await call(ada, name, keyId="x") == "NOT_FOUND"
        assert [await get(ada, "list"), await get(ada, "get", id="x"), await verify("x")] == ["NOT_FOUND"] * 3

    @pytest.mark.threat("KEY5")
    async def test_permissions_are_asked_and_never_granted(
        self, ada: Headers, keeper: Headers, call: Call, verify: Call
    ) -> None:
        plain = (await call(ada, "create"))["key"]
        key = (await call(keeper, "create", permissions={"files": ["read", "list"], "none": []}))["key"]

        for asked, valid in (
            ({"files": ["read"]}, True),
            ({"files": ["list", "read"]}, True),
            ({}, True),
            ({"files": ["write"]}, False),
            ({"files": ["read"], "mails": ["read"]}, False),
            ({"files": []}, False),
            ({"none": ["read"]}, False),
        ):
            found = await verify(key, permissions=asked)
            assert (asked, found != "KEY_PERMISSIONS_INSUFFICIENT") == (asked, valid)
            if valid:
                assert found["permissions"] == {"files": ["read", "list"], "none": []}
        assert await verify(plain, permissions={"files": ["read"]}) == "KEY_PERMISSIONS_INSUFFICIENT"

    @pytest.mark.threat("KEY6")
    async def test_keys_of_banned_users_are_refused_as_long_as_the_ban_lasts(
        self, service: Service, ada: Headers, sign_up: SignIn, call: Call, verify: Call
    ) -> None:
        key, admin = await call(ada, "create"), await sign_up("admin@example.com")
        await set_user(service, "admin@example.com", role="admin")

        ban = {"userId": key["referenceId"], "banExpiresIn": 60}
        assert (await service.post("/admin/ban-user", ban, headers=admin)).status_code == 200
        assert await verify(key["key"]) == "USER_BANNED"
        service.clock.advance(seconds=60)
        assert (await verify(key["key"]))["id"] == key["id"]
        assert (
            await service.post("/admin/remove-user", {"userId": key["referenceId"]}, headers=admin)
        ).is_success
        assert await verify(key["key"]) == "INVALID_API_KEY"

    @pytest.mark.threat("KEY7")
    async def test_keys_expire_to_the_millisecond(
        self, service: Service, ada: Headers, call: Call, verify: Call
    ) -> None:
        key = (await call(ada, "create", expiresIn=DAY))["key"]

        service.clock.advance(seconds=DAY - 0.001)
        assert isinstance(await verify(key), dict)
        service.clock.advance(seconds=0.001)
        assert await verify(key) == "KEY_EXPIRED"

    @pytest.mark.threat("KEY14")
    async def test_a_text_that_is_no_key(
        self, service: Service, ada: Headers, call: Call, verify: Call
    ) -> None:
        key = (await call(ada, "create"))["key"]
        wrong = key[:-1] + ("a" if key[-1] != "a" else "b")
        async with service.services.database.transaction() as db:
            await db.execute(update(ApiKey).values(digest=tokens.digest(wrong)))  # It is not even looked up.
        for text_ in (wrong, key[1:], key.lower(), f" {key}", key + "\n", "x", "é" * 64, "gwk_" + "a" * 64):
            assert await verify(text_) == "INVALID_API_KEY"
        assert await verify("x" * 513) == "VALIDATION_ERROR"

    @pytest.mark.threat("KEY8")
    async def test_the_rate_limit_is_a_fixed_window(
        self, service: Service, keeper: Headers, call: Call, verify: Call
    ) -> None:
        limit = {"rateLimitEnabled": True, "rateLimitMax": 2, "rateLimitTimeWindow": 1000}
        made = await call(keeper, "create", **limit)
        key = made["key"]

        assert (await verify(key))["requestCount"] == 1
        service.clock.advance(seconds=0.9)
        assert (await verify(key))["requestCount"] == 2
        assert (await verify(key), await wait_of(service, key)) == ("RATE_LIMITED", 100)
        service.clock.advance(seconds=0.1)
        assert (await verify(key))["requestCount"] == 1
        await verify(key)
        assert await verify(key) == "RATE_LIMITED"
        await call(keeper, "update", keyId=made["id"], rateLimitMax=3)  # It begins a new window.
        assert [(await verify(key))["requestCount"] for _ in range(3)] == [1, 2, 3]

    @pytest.mark.threat("KEY9")
    async def test_only_a_valid_answer_uses_a_key_up(
        self, service: Service, keeper: Headers, call: Call, get: Call, verify: Call
    ) -> None:
        made = await call(keeper, "create", remaining=5, **{**LIMIT, "rateLimitMax": 1})
        await verify(made["key"])
        state = await get(keeper, "get", id=made["id"])

        assert await verify(made["key"]) == "RATE_LIMITED"
        assert await verify(made["key"], permissions={"files": ["read"]}) == "KEY_PERMISSIONS_INSUFFICIENT"
        assert await verify(made["key"], configId="unknown") == "API_KEY_CONFIGURATION_NOT_FOUND"
        assert await get(keeper, "get", id=made["id"]) == state
        assert state["remaining"] == 4

        unlimited = await call(keeper, "create", remaining=5)
        asked = {"files": ["read"]}
        assert await verify(unlimited["key"], permissions=asked) == "KEY_PERMISSIONS_INSUFFICIENT"
        assert (await get(keeper, "get", id=unlimited["id"]))["remaining"] == 5

    @pytest.mark.both_databases
    @pytest.mark.threat("KEY8")
    @pytest.mark.parametrize(
        ("body", "uses", "left"),
        [
            ({"remaining": 20}, 20, 0),
            (LIMIT, 10, None),
            ({"remaining": 20, **LIMIT}, 10, 10),
            ({"remaining": 0, "refillAmount": 15, "refillInterval": 1000}, 15, 0),
        ],
        ids=["remaining", "rate limit", "both", "refill"],
    )
    async def test_parallel_uses_are_exact(
        self, service: Service, keeper: Headers, call: Call, get: Call, verify: Call,
        body: dict[str, Any], uses: int, left: int | None,
    ) -> None:  # fmt: skip
        made = await call(keeper, "create", **body)
        service.clock.advance(seconds=2)

        verdicts = await asyncio.gather(*(verify(made["key"]) for _ in range(50)))

        assert sum(isinstance(verdict, dict) for verdict in verdicts) == uses
        assert {one for one in verdicts if isinstance(one, str)} <= {"RATE_LIMITED", "USAGE_EXCEEDED"}
        assert (await get(keeper, "get", id=made["id"]))["remaining"] == left

    @pytest.mark.both_databases
    @pytest.mark.parametrize("counted", [{}, {"remaining": 1000}], ids=["plain", "counted"])
    async def test_no_key_is_valid_after_it_was_disabled(
        self, keeper: Headers, call: Call, verify: Call, counted: dict[str, Any]
    ) -> None:
        made = await call(keeper, "create", **counted)
        disabled = asyncio.ensure_future(call(keeper, "update", keyId=made["id"], enabled=False))

        async def is_valid_afterwards() -> bool:
            is_late = disabled.done()
            return isinstance(await verify(made["key"]), dict) and is_late

        early = [await is_valid_afterwards() for _ in range(10)]
        await disabled
        late = await asyncio.gather(*(is_valid_afterwards() for _ in range(10)))
        assert not any([*early, *late])

    async def test_refusals_are_recorded_once_a_minute_and_code(
        self, service: Service, ada: Headers, call: Call, verify: Call
    ) -> None:
        made = await call(ada, "create")
        await call(ada, "update", keyId=made["id"], enabled=False)

        for _ in range(3):
            await verify(made["key"])
        service.clock.advance(seconds=60)
        await verify(made["key"])

        records = await of_event(service, "api_key.refused")
        details = {"key": made["id"], "verifier": "files"}
        told = [(one.user_id, one.actor_id, one.code, one.details) for one in records]
        assert told == [(made["referenceId"], None, "KEY_DISABLED", details)] * 2

    async def test_a_burst_of_texts_that_are_no_keys_is_recorded_once(
        self, service: Service, verify: Call
    ) -> None:
        for _ in range(150):
            await verify("nonsense")

        reached = await only(service, "limit.reached")
        assert reached.details == {"limit": "api_keys", "verifier": "files"}


@settings(sessions="true", accept_imported="true")
class TestSession:
    async def session(self, service: Service, key: str, **headers: str) -> Any:
        return outcome(await service.get("/get-session", headers={"x-api-key": key, **headers}))

    async def test_a_key_stands_for_its_user(
        self, service: Service, ada: Headers, call: Call, get: Call
    ) -> None:
        made, signed_in = await call(ada, "create"), (await service.get("/get-session", headers=ada)).json()
        service.clock.advance(minutes=1)

        answer = await service.get("/get-session", headers={"x-api-key": made["key"], "User-Agent": "bot"})

        assert answer.json() == {
            "session": {
                "id": made["id"],
                "token": made["key"],
                "userId": made["referenceId"],
                "expiresAt": "2026-01-08T12:01:00.000Z",
                "createdAt": made["createdAt"],
                "updatedAt": made["updatedAt"],
                "ipAddress": "127.0.0.1",
                "userAgent": "bot",
            },
            "user": signed_in["user"],
        }
        assert {"set-cookie", "set-auth-token"} & set(answer.headers) == set()
        assert len((await service.get("/list-sessions", headers=ada)).json()) == 1

    @pytest.mark.threat("KEY11", "KEY22")
    async def test_it_decides_alone_and_only_there(
        self, service: Service, ada: Headers, sign_up: SignIn, call: Call
    ) -> None:
        made, bo = await call(ada, "create"), await sign_up("bo@example.com")
        key = {"x-api-key": made["key"]}

        assert (await self.session(service, made["key"], **bo))["user"]["email"] == "ada@example.com"
        assert await self.session(service, "nonsense", **bo) == "INVALID_API_KEY"
        for path in ("/list-sessions", "/list-accounts", "/api-key/list", "/admin/list-users", "/token"):
            assert (await service.get(path, headers=key)).status_code == 401
        for path in ("/api-key/create", "/change-password", "/sign-out", "/revoke-sessions"):
            sent = {"newPassword": PASSWORD, "currentPassword": PASSWORD}
            answer = await service.post(path, sent, headers=key)
            assert (path, answer.status_code) == (path, 200 if path == "/sign-out" else 401)
        twice = [("x-api-key", made["key"]), ("x-api-key", made["key"])]
        assert outcome(await service.client.get("/get-session", headers=twice)) == "VALIDATION_ERROR"

    async def test_refusals(self, service: Service, ada: Headers, keeper: Headers, call: Call) -> None:
        made = await call(keeper, "create", remaining=1)
        limited = await call(keeper, "create", **{**LIMIT, "rateLimitMax": 1})

        assert (await self.session(service, made["key"]))["user"]["email"] == "keeper@example.com"
        assert await self.session(service, made["key"]) == "USAGE_EXCEEDED"
        await self.session(service, limited["key"])
        answer = await service.get("/get-session", headers={"x-api-key": limited["key"]})
        assert answer.status_code == 429
        assert (answer.headers["retry-after"], answer.headers["x-retry-after"]) == ("60", "60")
        told = {"message": "Rate limit exceeded.", "code": "RATE_LIMITED", "tryAgainIn": 60_000}
        assert answer.json() == told
        own = await call(ada, "create")
        await call(ada, "update", keyId=own["id"], enabled=False)
        assert await self.session(service, own["key"]) == "KEY_DISABLED"
        assert await self.session(service, own["key"][:-1]) == "INVALID_API_KEY"

    async def test_a_key_of_another_service_may_have_any_letters(
        self, service: Service, ada: Headers, call: Call
    ) -> None:
        key, made = 'imported"key\\with{odd}letters', await call(ada, "create")
        async with service.services.database.transaction() as db:
            await db.execute(
                update(ApiKey).where(col(ApiKey.id) == made["id"]).values(digest=tokens.digest(key))
            )

        assert (await self.session(service, key))["session"]["token"] == key


@pytest.mark.threat("KEY11")
async def test_keys_are_no_sessions_unless_the_settings_say_so(
    service: Service, ada: Headers, call: Call
) -> None:
    key = (await call(ada, "create"))["key"]

    assert (await service.get("/get-session", headers={"x-api-key": key})).status_code == 401
    assert (await service.get("/get-session", headers={"x-api-key": "x", **ada})).status_code == 200


class TestReset:
    async def reset(self, service: Service) -> dict[str, Any]:
        """Reset the password of Ada, whose address is verified; return the notice."""
        await set_user(service, ADA, email_verified=True)
        body = {"token": await reset_token(service), "newPassword": "another good one"}
        assert (await service.post("/reset-password", body)).status_code == 200
        (notice,) = await service.inbox(ADA, "password-changed")
        return notice

    async def test_the_notice_says_how_many_keys_go_on_working(
        self, service: Service, ada: Headers, call: Call, verify: Call
    ) -> None:
        made = [await call(ada, "create") for _ in range(3)]
        await call(ada, "update", keyId=made[0]["id"], enabled=False)

        notice = await self.reset(service)

        assert "2 of your API keys still work." in notice["text"]
        assert isinstance(await verify(made[1]["key"]), dict)

    @unusual
    async def test_a_reset_may_disable_them(
        self, service: Service, ada: Headers, call: Call, verify: Call
    ) -> None:
        made = await call(ada, "create")

        notice = await self.reset(service)

        assert "API key" not in notice["text"]
        assert await verify(made["key"]) == "KEY_DISABLED"
        assert (await only(service, "api_key.disabled")).details == {"number": 1}


class TestListAll:
    """The list of the keys of all users."""

    @pytest.fixture
    def listed(self, service: Service) -> Call:
        async def listed(by: Headers, **query: Any) -> Any:
            found = outcome(await service.get("/admin/list-api-keys", params=query, headers=by))
            return [key["name"] for key in found["apiKeys"]] if isinstance(found, dict) else found

        return listed

    @pytest.fixture
    async def made(self, service: Service, call: Call, ada: Headers, keeper: Headers) -> dict[str, Any]:
        """Keys of two users, by name, each a minute younger than the last."""
        keys: dict[str, Any] = {}
        wanted: list[tuple[Headers, str, dict[str, Any]]] = [
            (ada, "first", {"prefix": "a_b"}),
            (ada, "second", {"prefix": "aXb"}),
            (keeper, "third", {}),
            (ada, "fourth", {"expiresIn": DAY}),
            (ada, "fifth", {}),
        ]
        for by, name, more in wanted:
            keys[name] = await call(by, "create", name=name, **more)
            service.clock.advance(minutes=1)
        await call(ada, "update", keyId=keys["fifth"]["id"], enabled=False)
        return keys

    @pytest.mark.both_databases
    @pytest.mark.operation("api_keys.list_all")
    async def test_has_the_keys_of_all_users_newest_first_with_their_owners(
        self, service: Service, made: dict[str, Any], ada: Headers, keeper: Headers, get: Call
    ) -> None:
        answer = await service.get("/admin/list-api-keys", headers=keeper)

        found = answer.json()
        assert [key["name"] for key in found["apiKeys"]] == ["fifth", "fourth", "third", "second", "first"]
        assert found["nextCursor"] is None
        owner = (await user_of(service, ada))["id"]
        shown = await get(keeper, "get", id=made["first"]["id"])
        who = {"id": owner, "name": "Ada", "email": ADA, "slug": None}
        assert found["apiKeys"][-1] == {**shown, "owner": who}

    @pytest.mark.both_databases
    async def test_is_filtered(
        self, service: Service, made: dict[str, Any], ada: Headers, keeper: Headers, listed: Call
    ) -> None:
        owner = (await user_of(service, ada))["id"]
        service.clock.advance(days=1)
        for query, names in [
            ({"start": made["third"]["start"]}, ["third"]),
            ({"start": "a_"}, ["first"]),
            ({"start": "ax"}, []),
            ({"start": "gwk_"}, ["fifth", "fourth", "third"]),
            ({"start": "%"}, []),
            ({"owner": owner}, ["fifth", "fourth", "second", "first"]),
            ({"owner": "KEEPER@example.com"}, ["third"]),
            ({"owner": "nobody"}, []),
            ({"owner": ADA, "start": "gwk_"}, ["fifth", "fourth"]),
            ({"state": "disabled"}, ["fifth"]),
            ({"state": "expired"}, ["fourth"]),
            ({"state": "active"}, ["third", "second", "first"]),
            ({"configId": "default", "state": "active", "owner": ADA}, ["second", "first"]),
            ({"configId": "other"}, "API_KEY_CONFIGURATION_NOT_FOUND"),
            ({"cursor": "x"}, "VALIDATION_ERROR"),
            ({"state": "lost"}, "VALIDATION_ERROR"),
            ({"limit": "0"}, "VALIDATION_ERROR"),
            ({"limit": "501"}, "VALIDATION_ERROR"),
        ]:
            assert await listed(keeper, **query) == names, query

    @pytest.mark.both_databases
    async def test_pages_follow_each_other(
        self, service: Service, call: Call, ada: Headers, keeper: Headers
    ) -> None:
        for number in range(7):
            await call(ada, "create", name=str(number))
            service.clock.advance(minutes=number % 2)

        walked: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            query = {"limit": 2, **({"cursor": cursor} if cursor else {})}
            page = (await service.get("/admin/list-api-keys", params=query, headers=keeper)).json()
            walked += [key["id"] for key in page["apiKeys"]]
            cursor = page["nextCursor"]

        whole = (await service.get("/admin/list-api-keys", headers=keeper)).json()["apiKeys"]
        assert walked == [key["id"] for key in whole]
        assert len(walked) == len(set(walked)) == 7

    @pytest.mark.threat("KEY21")
    async def test_leaves_out_the_keys_of_users_with_more_powers(
        self, service: Service, made: dict[str, Any], keeper: Headers, listed: Call
    ) -> None:
        await set_user(service, ADA, role="user,admin")

        assert await listed(keeper) == ["third"]
        page = await service.get("/admin/list-api-keys", params={"limit": 2}, headers=keeper)
        assert page.json()["apiKeys"] == []
        assert page.json()["nextCursor"] is not None

    @pytest.mark.threat("KEY25")
    @pytest.mark.parametrize("service", [{"api_keys.sessions": "true"}], indirect=True)
    async def test_needs_the_permission(
        self, service: Service, made: dict[str, Any], ada: Headers, listed: Call
    ) -> None:
        assert await listed(ada) == "YOU_ARE_NOT_ALLOWED_TO_LIST_API_KEYS"
        assert await listed({}) == "UNAUTHORIZED"
        assert await listed({"x-api-key": made["third"]["key"]}) == "UNAUTHORIZED"
        assert await listed(bearer(made["third"]["key"])) == "UNAUTHORIZED"
        assert (await only(service, "admin.refused")).code == "YOU_ARE_NOT_ALLOWED_TO_LIST_API_KEYS"

    @pytest.mark.parametrize("off", ["admin.enabled", "api_keys.enabled"])
    async def test_exists_only_with_both_switches(
        self, make_service: MakeService, sign_up: SignIn, off: str
    ) -> None:
        service = await make_service({off: "false"})

        assert (
            await service.get("/admin/list-api-keys", headers=await sign_up(on=service))
        ).status_code == 404
