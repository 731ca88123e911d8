"""Several cookies of one name (V27, V41, V42): a browser keeps one for each Domain and Path, and sends all of them."""

import httpx
import pytest

from models import Session, TrustedDevice
from tests.conftest import MakeService
from tests.handlers import steps
from tests.handlers.people import Person, add_person
from tests.handlers.steps import ADA, EVE, UNKNOWN, bearer, code, join, token_of, user_of, works
from tests.security.second_factor import (
    PENDING,
    SESSION,
    TRUST,
    Owner,
    challenge,
    enrol,
    enter,
    is_pending,
    set_cookies,
    sign_in,
    trusted_device,
)
from tests.service import BASE_URL, PASSWORD, START, Service

ADMIN = "service.admin-session"
STALE = ["a" * 32, "b" * 32, "c" * 32, "d" * 32]
"""Tokens of sessions that have ended."""


def several(name: str, *values: str) -> dict[str, str]:
    """Return a Cookie header with several cookies of one name."""
    return {"Cookie": "; ".join(f"{name}={value}" for value in values), "Origin": BASE_URL}


class TestSession:
    @pytest.mark.threat("V41")
    @pytest.mark.both_databases
    async def test_the_one_that_is_live_counts(self, service: Service) -> None:
        token = token_of(await join(service))

        for values in (
            (STALE[0], token),
            (token, STALE[0]),
            (*STALE[:3], token),
            (token, "junk", "%", "", "x" * 33),
            (*(f"junk{number}" for number in range(9)), token),
            (token, token, STALE[0], STALE[0]),
        ):
            assert (await user_of(service, several(SESSION, *values)))["email"] == ADA, values
        changed = await service.post(
            "/update-user", {"name": "Ada K."}, headers=several(SESSION, STALE[0], token)
        )
        assert changed.status_code == 200

    @pytest.mark.threat("V27", "V41")
    @pytest.mark.both_databases
    async def test_of_several_live_ones_none_counts(self, service: Service) -> None:
        ada, eve = token_of(await join(service)), token_of(await join(service, EVE))
        second = (await steps.sign_in(service)).json()["token"]
        service.client.cookies.clear()

        for values in ((ada, eve), (eve, ada), (ada, second), (ada, STALE[0], eve)):
            answer = await service.get("/get-session", headers=several(SESSION, *values))

            assert (code(answer), set_cookies(answer)) == ("401 UNAUTHORIZED", {SESSION: ""}), values
        assert await works(service, bearer(ada))
        assert await works(service, bearer(eve))

    @pytest.mark.threat("V27")
    async def test_of_more_than_four_none_counts(self, service: Service) -> None:
        token = token_of(await join(service))

        for values in ((token, *STALE), (*STALE, token), (*STALE[:2], token, *STALE[2:])):
            answer = await service.get("/get-session", headers=several(SESSION, *values))

            assert (code(answer), set_cookies(answer)) == ("401 UNAUTHORIZED", {SESSION: ""}), values

    @pytest.mark.threat("V41")
    async def test_one_that_has_expired_is_deleted(self, service: Service) -> None:
        await service.post("/sign-out", headers=await join(service))
        answer = await service.post(
            "/sign-in/email", {"email": ADA, "password": PASSWORD, "rememberMe": False}
        )
        old = answer.json()["token"]
        service.clock.advance(days=1)
        new = (await steps.sign_in(service)).json()["token"]
        service.client.cookies.clear()

        assert await works(service, several(SESSION, old, new))
        assert await steps.count(service, Session) == 1

    @pytest.mark.threat("V35")
    @pytest.mark.both_databases
    async def test_sign_out_ends_every_one(self, service: Service) -> None:
        tokens = [token_of(await join(service)), token_of(await join(service, EVE))]

        answer = await service.post("/sign-out", headers=several(SESSION, *tokens, STALE[0]))

        assert (answer.status_code, set_cookies(answer)) == (200, {SESSION: ""})
        assert await steps.count(service, Session) == 0

    async def test_an_extension_sets_the_one_that_is_live(self, service: Service) -> None:
        token = token_of(await join(service))
        service.clock.advance(days=2)

        answer = await service.get("/get-session", headers=several(SESSION, STALE[0], token))

        assert set_cookies(answer) == {SESSION: token}

    async def test_the_pages_know_the_one_that_is_live(self, service: Service) -> None:
        token = token_of(await join(service))

        known = await service.get("/account", headers=several(SESSION, STALE[0], token))
        unknown = await service.get("/account", headers=several(SESSION, *STALE[:2]))

        assert (known.status_code, unknown.status_code) == (200, 302)
        assert set_cookies(unknown) == {SESSION: ""}


class TestPending:
    @pytest.mark.threat("V41")
    @pytest.mark.both_databases
    async def test_the_one_that_is_live_counts(self, service: Service) -> None:
        ada = await enrol(service)
        token = await challenge(service)
        service.client.cookies.clear()

        headers = several(PENDING, f"2fa_{STALE[0]}", token, "junk")
        answer = await enter(service, "totp", ada.code(service), headers)

        assert answer.status_code == 200
        assert set_cookies(answer) == {SESSION: answer.json()["token"], PENDING: ""}

    @pytest.mark.threat("V27", "V41")
    async def test_of_several_live_ones_none_counts(self, service: Service) -> None:
        ada = await enrol(service)
        tokens = [await challenge(service) for _ in range(2)]
        service.client.cookies.clear()

        answer = await enter(service, "totp", ada.code(service), several(PENDING, *tokens))

        assert (code(answer), set_cookies(answer)) == ("401 INVALID_TWO_FACTOR_COOKIE", {PENDING: ""})

    async def test_a_session_is_found_among_several_too(self, service: Service) -> None:
        ada = await enrol(service)

        headers = several(SESSION, STALE[0], token_of(ada.session))
        answer = await enter(service, "totp", ada.code(service), headers)

        assert answer.json()["token"] == token_of(ada.session)


class TestTrustedDevice:
    @pytest.fixture
    async def ada(self, service: Service) -> Owner:
        """A user with a second factor."""
        return await enrol(service)

    @pytest.mark.threat("V41")
    @pytest.mark.both_databases
    async def test_the_one_that_is_live_counts(self, service: Service, ada: Owner) -> None:
        device = await trusted_device(service, ada)
        service.client.cookies.clear()

        answer = await sign_in(service, headers=several(TRUST, STALE[0], device, "junk"))

        assert not is_pending(answer)
        assert set_cookies(answer)[TRUST] not in ("", device)

    @pytest.mark.threat("V27", "V41", "V52")
    @pytest.mark.both_databases
    async def test_of_several_live_ones_none_counts(self, service: Service, ada: Owner) -> None:
        one = await trusted_device(service, ada)
        service.clock.advance(seconds=60)
        two = await trusted_device(service, ada)
        service.client.cookies.clear()

        answer = await sign_in(service, headers=several(TRUST, one, two))

        assert is_pending(answer)
        assert TRUST not in set_cookies(answer)
        service.clock.advance(days=30, seconds=-30)
        alone = await sign_in(service, headers=several(TRUST, one, two))
        assert not is_pending(alone)

    async def test_several_dead_ones_are_cleared(self, service: Service, ada: Owner) -> None:
        service.client.cookies.clear()

        for values in (STALE[:2], ["junk", ""], [*STALE, UNKNOWN]):
            answer = await sign_in(service, headers=several(TRUST, *values))

            assert is_pending(answer)
            assert set_cookies(answer)[TRUST] == "", values
        assert await steps.count(service, TrustedDevice) == 0


class TestAdministrator:
    @pytest.fixture
    async def admin(self, service: Service) -> Person:
        """An administrator."""
        return await add_person(service, "admin")

    async def impersonate(self, service: Service, admin: Person, user: Person) -> str:
        answer = await service.post("/admin/impersonate-user", {"userId": user.id}, headers=admin.headers)
        return str(answer.json()["session"]["token"])

    @pytest.mark.threat("V41", "ADM11")
    @pytest.mark.both_databases
    async def test_the_one_that_is_live_counts(self, service: Service, admin: Person) -> None:
        token = await self.impersonate(service, admin, await add_person(service))
        cookies = f"{SESSION}={STALE[1]}; {SESSION}={token}; {ADMIN}={STALE[0]}; {ADMIN}={admin.token}"

        answer = await service.post(
            "/admin/stop-impersonating", headers={"Cookie": cookies, "Origin": BASE_URL}
        )

        assert set_cookies(answer) == {SESSION: admin.token, ADMIN: ""}

    @pytest.mark.threat("V27", "ADM11")
    async def test_of_several_live_ones_none_counts(self, service: Service, admin: Person) -> None:
        user = await add_person(service)
        token = await self.impersonate(service, admin, user)
        cookies = f"{SESSION}={token}; {ADMIN}={admin.token}; {ADMIN}={user.token}"

        answer = await service.post(
            "/admin/stop-impersonating", headers={"Cookie": cookies, "Origin": BASE_URL}
        )

        assert answer.json() == {"session": None, "user": None}
        assert set_cookies(answer) == {SESSION: "", ADMIN: ""}


class TestHostOnlyTwin:
    """With `session.cookie_domain`, an older cookie without Domain would be sent for ever with the new one."""

    @pytest.fixture
    async def service(self, make_service: MakeService) -> Service:
        """A service whose cookies are for all hosts of a domain."""
        return await make_service({"session.cookie_domain": "example.com"})

    @staticmethod
    def lines(answer: httpx.Response) -> list[str]:
        """Return the Set-Cookie headers, without the attributes that all have."""
        common = ("Path=/", "SameSite=Lax", "HttpOnly", "Secure")
        lines = [line.split("; ") for line in answer.headers.get_list("set-cookie")]
        assert all(set(common) <= set(line) for line in lines)
        return ["; ".join(part for part in line if part not in common) for line in lines]

    @pytest.mark.threat("V42")
    async def test_every_answer_that_sets_or_clears_a_cookie_clears_it(self, service: Service) -> None:
        joined = await service.post("/sign-up/email", {"name": "Ada", "email": ADA, "password": PASSWORD})
        token = joined.json()["token"]
        left = await service.post("/sign-out", headers=several(SESSION, token))
        refused = await service.get("/get-session", headers=several(SESSION, token))
        page = await service.get("/account", headers=several(SESSION, token))

        # The twin comes first: a client that does not tell the two apart keeps what comes last.
        twin, domain = f"{SESSION}=; Max-Age=0", "Domain=example.com"
        assert self.lines(joined) == [twin, f"{SESSION}={token}; {domain}; Max-Age=604800"]
        for answer in (left, refused, page):
            assert self.lines(answer) == [twin, f"{SESSION}=; {domain}; Max-Age=0"]

    @pytest.mark.threat("V42")
    async def test_so_do_those_of_the_second_factor(self, service: Service) -> None:
        ada = await enrol(service)
        service.client.cookies.clear()
        pending = await sign_in(service)
        token = pending.json()["token"]
        entered = await enter(service, "totp", ada.code(service), several(PENDING, token), trustDevice=True)

        assert [line.partition(";")[0] for line in self.lines(pending) if "Domain" not in line] == [
            f"{PENDING}=",
            f"{SESSION}=",
        ]
        assert {line.partition(";")[0] for line in self.lines(entered) if "Domain" not in line} == {
            f"{PENDING}=",
            f"{SESSION}=",
            f"{TRUST}=",
        }

    async def test_an_extension_too(self, service: Service) -> None:
        token = token_of(await join(service))
        service.clock.now = START
        service.clock.advance(days=2)

        answer = await service.get("/get-session", headers=several(SESSION, token))

        assert len(self.lines(answer)) == 2

    async def test_a_host_only_cookie_has_none(self, make_service: MakeService) -> None:
        service = await make_service({})

        answer = await service.post("/sign-up/email", {"name": "Ada", "email": EVE, "password": PASSWORD})

        assert len(self.lines(answer)) == 1
