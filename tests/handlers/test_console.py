"""The console as a whole: who sees it, its frame, the overview and the search."""

import re
from collections.abc import Iterator
from urllib.parse import parse_qs, quote, urlsplit

import httpx
import pytest
from sqlalchemy import text

from codegen.bundle import bundle
from codegen.walk import operations
from server.api.extension import extension_of
from tests.conftest import MakeService
from tests.contract.reading import OPERATIONS
from tests.handlers.pages import SAME_ORIGIN, SETTINGS, Browser, act_as, send
from tests.handlers.steps import ADA, UNKNOWN, execute, join, set_user
from tests.service import Service
from tests.trail import forget, trail

ROOT = "root@example.com"
ABSENT = "/console/nothing-is-here"
_REQUEST = re.compile(r"[0-9a-f]{32}")


def administrative() -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield method, path and the example of the form of every page of the console, as the contract has them."""
    for operation in operations(bundle(internal=True)):
        if not extension_of(operation.spec).administrative:
            continue
        path = re.sub(r"{[^}]*}", UNKNOWN, operation.path)
        content = operation.spec.get("requestBody", {}).get("content", {})
        example = content.get("application/x-www-form-urlencoded", {}).get("example", {})
        yield operation.method, path, {**example, "account": ROOT}


PAGES = sorted(administrative(), key=lambda page: page[:2])
GETS = [path for method, path, _ in PAGES if method == "get"]


async def request(service: Service, method: str, path: str, fields: dict[str, str]) -> httpx.Response:
    """Open a page of the console, or post its form as a page of the service does."""
    if method == "get":
        return await service.get(path, headers={"Accept": "text/html"})
    return await send(service, path, SAME_ORIGIN, **fields)


async def administrator(service: Service, email: str = ROOT, role: str = "admin") -> Browser:
    """Sign the browser in as an administrator."""
    await join(service, email)
    await set_user(service, email, role=role)
    return Browser(service)


def without_request(answer: httpx.Response) -> str:
    """Return the text of a page without the id of its request."""
    return _REQUEST.sub("", answer.text)


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    return await make_service({**SETTINGS, "limits.enabled": "false"})


def test_every_page_of_the_console_is_for_administrators_only() -> None:
    of_the_tag = {
        (one.method, re.sub(r"{[^}]*}", UNKNOWN, one.path))
        for name, one in OPERATIONS.items()
        if name.startswith("console.")
    }

    assert of_the_tag == {(method, path) for method, path, _ in PAGES}


@pytest.mark.threat("C1")
class TestOthers:
    @pytest.mark.parametrize("path", GETS)
    async def test_a_stranger_signs_in_first(self, service: Service, path: str) -> None:
        answer = await service.get(path)

        target = urlsplit(answer.headers["location"])
        assert (answer.status_code, target.path) == (302, "/account/sign-in")
        assert parse_qs(target.query)["callbackURL"] == [path]

    async def test_a_user_sees_what_a_path_that_does_not_exist_shows(self, service: Service) -> None:
        await join(service, ADA)
        absent = await service.get(ABSENT)

        assert absent.status_code == 404
        for method, path, fields in PAGES:
            answer = await request(service, method, path, {**fields, "account": ADA})
            assert (path, answer.status_code) == (path, 404)
            assert without_request(answer) == without_request(absent)

    async def test_a_language_of_the_user_does_not_tell_that_a_page_exists(self, service: Service) -> None:
        await join(service, ADA)
        await set_user(service, ADA, locale="de")

        assert without_request(await service.get("/console/users")) == without_request(
            await service.get(ABSENT)
        )

    async def test_an_api_key_opens_nothing(self, service: Service) -> None:
        await administrator(service)
        key = (await service.post("/api-key/create", {})).json()["key"]
        service.client.cookies.clear()

        for path in GETS:
            assert (await service.get(path, headers={"x-api-key": key})).status_code == 302

    async def test_a_sign_in_that_waits_for_its_second_factor_opens_nothing(self, service: Service) -> None:
        await administrator(service)
        await set_user(service, ROOT, two_factor_enabled=True)
        service.client.cookies.clear()
        browser = Browser(service)
        await browser.open("/account/sign-in")
        await browser.submit("/account/sign-in", identifier=ROOT, password="correct horse battery")

        for path in GETS:
            assert (await service.get(path)).status_code == 302

    async def test_a_role_of_the_application_opens_nothing(self, make_service: MakeService) -> None:
        service = await make_service(
            {
                **SETTINGS,
                "admin.statements": '{"report": ["read"]}',
                "admin.roles": '{"editor": {"report": ["read"]}}',
            }
        )
        await administrator(service, role="editor")

        for path in GETS:
            assert (await service.get(path)).status_code == 404

    async def test_a_limited_form_is_not_shown_again_to_others(self, make_service: MakeService) -> None:
        """The limit of requests is before the look at the caller."""
        service = await make_service({**SETTINGS, "limits.requests": "1"})
        await join(service, ADA)
        await forget(service)

        for method, path, fields in PAGES:
            if method == "post":
                await request(service, method, path, {**fields, "account": ADA})
                answer = await request(service, method, path, {**fields, "account": ADA})
                assert (path, answer.status_code) == (path, 429)
                assert "Search the console" not in answer.text
        # The page of the form would refuse them too, and record it.
        assert {record.event for record in await trail(service)} == {"limit.reached"}

    async def test_nothing_is_there_when_it_is_switched_off(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, "console.enabled": "false"})
        await administrator(service)

        for path in GETS:
            assert (await service.get(path)).status_code == 404


@pytest.mark.threat("C10")
class TestImpersonation:
    async def test_nobody_opens_the_console_in_the_name_of_a_user(self, service: Service) -> None:
        await join(service, ADA)
        await act_as(service, ADA)

        for method, path, fields in PAGES:
            answer = await request(service, method, path, {**fields, "account": ADA})
            assert (path, answer.status_code) == (path, 403)
            assert "NOT_ALLOWED_WHILE_IMPERSONATING" in answer.text

    @pytest.mark.operation("pages.stop_impersonating")
    async def test_the_page_that_refuses_it_has_the_button_that_stops(self, service: Service) -> None:
        await join(service, ADA)
        await act_as(service, ADA)
        browser = Browser(service)

        page = await browser.open("/console/users")
        assert f"You are acting as {ADA}" in page.text
        page = await browser.submit("/account/stop-impersonating")

        assert page.path.startswith("/console/users/")
        assert (await service.get("/get-session")).json()["user"]["email"] == ROOT

    async def test_stopping_without_the_cookie_of_the_administrator_signs_out(self, service: Service) -> None:
        await join(service, ADA)
        await act_as(service, ADA)
        browser = Browser(service)
        await browser.open("/account")
        service.client.cookies.delete("service.admin-session")

        page = await browser.submit("/account/stop-impersonating")

        assert page.path == "/account/signed-out"


@pytest.mark.threat("C2")
class TestChangesInBetween:
    @pytest.mark.parametrize(("change", "status"), [({"role": "user"}, 404), ({"banned": True}, 303)])
    async def test_a_form_does_nothing_once_the_power_is_gone(
        self, service: Service, change: dict[str, object], status: int
    ) -> None:
        await administrator(service)
        await set_user(service, ROOT, **change)

        for method, path, fields in PAGES:
            if method == "post":
                assert (await request(service, method, path, fields)).status_code == status

    async def test_a_form_leads_to_the_sign_in_page_once_the_session_is_over(self, service: Service) -> None:
        await administrator(service)
        await execute(service, "DELETE FROM session")

        for method, path, fields in PAGES:
            answer = await request(service, method, path, fields)
            assert answer.headers["location"].startswith("/account/sign-in")


@pytest.mark.threat("C5")
class TestForeignPages:
    @pytest.mark.parametrize("origin", ["https://evil.example", "https://app.example.com"])
    async def test_no_other_site_posts_a_form(self, service: Service, origin: str) -> None:
        await administrator(service)

        for method, path, fields in PAGES:
            if method == "post":
                answer = await send(
                    service, path, {"Sec-Fetch-Site": "cross-site", "Origin": origin}, **fields
                )
                assert (path, answer.status_code) == (path, 403)

    async def test_no_site_frames_a_page(self, service: Service) -> None:
        await administrator(service)

        for path in GETS:
            answer = await service.get(path)
            is_file = answer.headers.get("content-disposition", "").startswith("attachment")
            if not is_file and not answer.is_redirect:
                assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]


@pytest.mark.threat("ADM22")
async def test_the_second_factor_is_required_if_the_settings_say_so(make_service: MakeService) -> None:
    service = await make_service({**SETTINGS, "admin.require_two_factor": "true"})
    browser = await administrator(service)

    page = await browser.open("/console")

    assert page.status == 403
    assert "/account/second-factor" in page.links.values()


class TestFrame:
    @pytest.mark.operation("console.overview.show")
    async def test_the_overview_is_the_first_page(self, service: Service) -> None:
        page = await (await administrator(service)).open("/console")

        assert (page.status, page.title) == (200, "Overview · Gatewright")

    async def test_the_users_are_the_first_page_if_the_settings_say_so(
        self, make_service: MakeService
    ) -> None:
        service = await make_service({**SETTINGS, "console.home": "users"})

        assert (await (await administrator(service)).open("/console")).path == "/console/users"

    async def test_the_navigation_has_what_the_caller_may_open(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, "admin.roles": '{"support": {"user": ["ban"]}}'})
        browser = await administrator(service, role="support")

        page = await browser.open("/console")

        assert "Overview" in page.links
        assert "Users" not in page.links

    async def test_the_environment_has_a_label(self, make_service: MakeService) -> None:
        service = await make_service(
            {**SETTINGS, "console.label": "staging", "console.label_colour": "#7a1f8a"}
        )
        page = await (await administrator(service)).open("/console")
        style = re.search(r"/account/static/console\.[0-9a-f]+\.css", (await service.get("/console")).text)

        assert "staging" in page.text
        assert style is not None
        assert "--label: #7a1f8a" in (await service.get(style[0])).text

    async def test_the_console_moves_with_its_setting(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, "console.path": "/back-office"})
        browser = await administrator(service)

        assert (await browser.open("/back-office")).links["Users"] == "/back-office/users"
        assert (await service.get("/console")).status_code == 404

    async def test_a_page_goes_on_to_the_console_after_signing_in(self, service: Service) -> None:
        await administrator(service)
        service.client.cookies.clear()
        browser = Browser(service)
        await browser.open("/console/users")

        page = await browser.submit("/account/sign-in", identifier=ROOT, password="correct horse battery")

        assert (page.path, page.title) == ("/console/users", "Users · Gatewright")

    async def test_the_account_of_an_administrator_leads_to_it(self, service: Service) -> None:
        browser = await administrator(service)
        assert (await browser.open("/account")).links["Console"] == "/console"

        await set_user(service, ROOT, role="user")
        assert "Console" not in (await browser.open("/account")).links

    async def test_it_speaks_the_language_of_the_administrator(self, service: Service) -> None:
        browser = await administrator(service)
        await set_user(service, ROOT, locale="ar")

        page = await browser.open("/console/users")

        assert (page.language, page.direction) == ("ar", "rtl")


class TestErrorPages:
    @pytest.mark.parametrize(
        ("path", "status", "text", "back"),
        [
            (f"/console/users/{UNKNOWN}", 404, "There is no such user.", ("Users", "/console/users")),
            (f"/console/audit/{UNKNOWN}", 404, "There is no such event.", ("Audit", "/console/audit")),
            (ABSENT, 404, "This page does not exist.", ("Overview", "/console")),
            ("/console/users?from=yesterday", 400, "“from”", ("Users", "/console/users")),
            ("/console/audit?outcome=none", 400, "“outcome”", ("Audit", "/console/audit")),
        ],
    )
    async def test_an_administrator_sees_an_error_inside_the_frame(
        self, service: Service, path: str, status: int, text: str, back: tuple[str, str]
    ) -> None:
        browser = await administrator(service)

        page = await browser.open(path)

        label, target = back
        assert page.status == status
        assert text in page.text
        assert page.links[f"← {label}"] == target
        assert page.links["Settings"] == "/console/settings"
        assert "/account/sign-out" in {form.action for form in page.forms}

    async def test_what_a_role_does_not_allow_is_refused_inside_the_frame(
        self, make_service: MakeService
    ) -> None:
        service = await make_service({**SETTINGS, "admin.roles": '{"support": {"user": ["list"]}}'})
        browser = await administrator(service, role="support")

        page = await browser.open("/console/audit")

        assert page.status == 403
        assert "Users" in page.links
        assert "Audit" not in page.links

    async def test_an_error_page_speaks_the_language_of_the_url(self, service: Service) -> None:
        browser = await administrator(service)

        page = await browser.open("/console/users?from=yesterday&ui_locales=ar")

        assert (page.status, page.language, page.direction) == (400, "ar", "rtl")
        assert "/console/users?ui_locales=ar" in page.targets

    async def test_an_error_page_keeps_the_notice_of_a_form(self, service: Service) -> None:
        browser = await administrator(service)
        service.client.cookies.set("service.notice", "user-banned")

        assert "The user is banned." not in (await browser.open(ABSENT)).text

    @pytest.mark.threat("C12")
    @pytest.mark.both_databases
    @pytest.mark.parametrize("dialect", ["postgresql"])
    async def test_while_the_database_is_away_the_frame_is_empty(self, make_service: MakeService) -> None:
        """Nobody knows then who calls; a path that does not exist has no frame either."""
        service = await make_service({**SETTINGS, "database.timeout": "1s"})
        await join(service, ADA)
        browser = Browser(service)

        async with service.services.database.transaction() as db:
            await db.execute(text("LOCK TABLE session IN ACCESS EXCLUSIVE MODE"))
            pages = [await browser.open(path) for path in ("/console/users?search=ann", ABSENT)]
            stylesheets = [
                "/account/static/console." in (await service.get(path)).text for path in ("/console", ABSENT)
            ]

        assert [page.status for page in pages] == [503, 404]
        assert "Search the console" not in pages[0].text
        assert pages[0].links["Try again"] == "/console/users?search=ann"
        assert {"Users", "Settings"}.isdisjoint(pages[0].links)
        assert stylesheets == [True, False]

    @pytest.mark.threat("H8")
    async def test_a_form_that_was_shown_to_another_administrator_is_refused_inside_the_frame(
        self, service: Service
    ) -> None:
        await administrator(service, "second@example.com")
        service.client.cookies.clear()
        browser = await administrator(service)
        await browser.open("/console/users/new")
        shown_to = {"account": "second@example.com", "user": ""}

        page = await browser.submit("/console/users/new", **shown_to, name="Ann", email="ann@example.com")

        assert page.status == 409
        assert f"You opened this form as second@example.com , and are signed in as {ROOT} now." in page.text
        assert page.links["Settings"] == "/console/settings"

    @pytest.mark.threat("C1")
    async def test_others_see_nothing_of_the_frame(self, service: Service) -> None:
        await join(service, ADA)

        for path in (ABSENT, f"/console/users/{UNKNOWN}", "/console/users?from=yesterday"):
            assert "/console" not in (await service.get(path)).text


@pytest.mark.operation("console.search.show")
class TestSearch:
    async def test_it_opens_a_single_result(self, service: Service) -> None:
        browser = await administrator(service)

        page = await browser.open(f"/console/search?search={quote(ROOT)}")

        assert page.path.startswith("/console/users/")

    async def test_it_lists_several_results(self, service: Service) -> None:
        browser = await administrator(service)
        for name in ("ann@example.com", "anna@example.com"):
            await join(service, name)
        await join(service, "x@example.com")
        await set_user(service, "x@example.com", role="admin")

        page = await browser.open("/console/search?search=ann")

        assert {"ann@example.com", "anna@example.com"} <= set(page.text.split())
        assert page.links["All results"] == "/console/users?search=ann"

    async def test_it_asks_for_a_text(self, service: Service) -> None:
        page = await (await administrator(service)).open("/console/search")

        assert "Enter what you are looking for." in page.text


@pytest.mark.threat("H8")
async def test_entries_of_one_administrator_are_not_shown_to_another(service: Service) -> None:
    """Both use one browser, and the second finds the page in its history."""
    browser = await administrator(service)
    await browser.open("/console/users/new")
    page = await browser.submit("/console/users/new", name="Grace Hopper", email="no address")
    assert "Grace Hopper" in {one.get("value") for one in page.inputs.values()}

    service.client.cookies.delete("service.session-token")
    await administrator(service, "second@example.com")
    again = await browser.open(page.path)

    assert again.status == 200
    assert "Grace Hopper" not in {one.get("value") for one in again.inputs.values()}
