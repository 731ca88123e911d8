"""The page where a user enters the code of a device."""

import pytest

from tests.conftest import MakeService
from tests.handlers.device_steps import WRONG_CODE, add_television, error, poll, start
from tests.handlers.pages import SETTINGS, Browser, act_as, send
from tests.handlers.steps import ADA, join
from tests.oauth import OAuthTestClient
from tests.service import PASSWORD, Service

PAGE, APPROVE, DENY = "/account/device", "/account/device/approve", "/account/device/deny"


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    """A service whose cookies a browser keeps."""
    return await make_service(
        {**SETTINGS, "oauth.scopes": '{"files": "Read your files"}', "limits.network_failures": "3"}
    )


@pytest.fixture
async def browser(service: Service) -> Browser:
    """A browser that is signed in."""
    await join(service, ADA)
    return Browser(service)


@pytest.fixture
async def television(service: Service) -> OAuthTestClient:
    """An application for devices that asks for scopes."""
    return await add_television(
        service,
        gets_session=False,
        grant_types=["urn:ietf:params:oauth:grant-type:device_code", "refresh_token"],
        scope="openid profile email offline_access files",
    )


@pytest.mark.operation("account_pages.show_device", "account_pages.approve_device")
async def test_a_user_enters_a_code_and_connects_the_device(service: Service, browser: Browser) -> None:
    television = await add_television(service)
    started = await start(service, television)
    await browser.open(PAGE)

    asked = await browser.open(f"{PAGE}?user_code={started['user_code'].lower()}")
    assert "Connect Television ?" in asked.text
    assert f"You are signed in as {ADA} ." in asked.text
    assert started["user_code"] in asked.text
    assert "127.0.0.1" in asked.text
    assert "can do everything that you can do here" in asked.text
    done = await browser.submit(APPROVE)

    assert (done.path.partition("?")[0], done.query) == (PAGE, {"reason": "approved"})
    assert "Your device is connected" in done.text
    assert error(await poll(service, television, started["device_code"])) == "200"


@pytest.mark.operation("account_pages.deny_device")
async def test_a_user_refuses_a_device(service: Service, browser: Browser) -> None:
    television = await add_television(service)
    started = await start(service, television)
    await browser.open(f"{PAGE}?user_code={started['user_code']}")

    done = await browser.submit(DENY)

    assert "The device was refused" in done.text
    assert error(await poll(service, television, started["device_code"])) == "400 access_denied"


@pytest.mark.threat("O20")
async def test_the_page_says_what_the_device_may_do(
    service: Service, browser: Browser, television: OAuthTestClient
) -> None:
    user_code = (await start(service, television, scope="openid profile email offline_access files"))[
        "user_code"
    ]
    service.clock.advance(minutes=3)

    page = await browser.open(f"{PAGE}?user_code={user_code}")

    for text in ("See your name", "See your email address", "Keep this access", "Read your files"):
        assert text in page.text
    assert "Confirm who you are" not in page.text
    assert "Continue only if you started this yourself" in page.text
    assert "3 minutes ago" in page.text


async def test_the_code_in_a_link_is_shown_before_anything_is_approved(
    service: Service, browser: Browser, television: OAuthTestClient
) -> None:
    started = await start(service, television)

    page = await browser.open(started["verification_uri_complete"])

    assert {form.action for form in page.forms} >= {APPROVE, DENY}
    assert [row.status for row in await service.rows("SELECT status FROM device_request")] == ["pending"]


async def test_signing_in_comes_first_and_leads_back(
    service: Service, browser: Browser, television: OAuthTestClient
) -> None:
    started = await start(service, television)
    service.client.cookies.clear()

    page = await browser.open(started["verification_uri_complete"])
    assert page.path.startswith("/account/sign-in?")
    page = await browser.submit("/account/sign-in", identifier=ADA, password=PASSWORD)

    assert "Connect Television ?" in page.text


@pytest.mark.threat("O19")
async def test_wrong_codes_are_told_and_counted(service: Service, browser: Browser) -> None:
    for _ in range(3):
        page = await browser.open(f"{PAGE}?user_code={WRONG_CODE}")
        assert (page.status, page.title.partition(":")[0]) == (422, "Error")
        assert "No device has this code" in page.text
        assert page.inputs["user_code"]["value"] == WRONG_CODE

    page = await browser.open(f"{PAGE}?user_code={WRONG_CODE}")
    assert page.status == 429


async def test_a_code_that_is_over(service: Service, browser: Browser, television: OAuthTestClient) -> None:
    user_code = (await start(service, television))["user_code"]
    await browser.open(f"{PAGE}?user_code={user_code}")
    form = browser.page.form(APPROVE)
    await browser.submit(APPROVE)

    again = await send(service, APPROVE, **form.fields)
    assert (again.status_code, "A decision about this code was made already" in again.text) == (422, True)
    page = await browser.open(f"{PAGE}?user_code={user_code}")
    assert "A decision about this code was made already" in page.text
    service.clock.advance(minutes=10)
    page = await browser.open(f"{PAGE}?user_code={user_code}")
    assert "This code has expired" in page.text


@pytest.mark.threat("O7")
async def test_an_administrator_decides_nothing_in_the_name_of_a_user(
    service: Service, browser: Browser, television: OAuthTestClient
) -> None:
    user_code = (await start(service, television))["user_code"]
    await act_as(service)
    await browser.open(f"{PAGE}?user_code={user_code}")

    for path in (APPROVE, DENY):
        refused = await send(service, path, **browser.page.form(path).fields)
        assert refused.status_code == 403

    assert [row.status for row in await service.rows("SELECT status FROM device_request")] == ["pending"]


@pytest.mark.threat("O6")
async def test_a_form_of_another_site_decides_nothing(
    service: Service, browser: Browser, television: OAuthTestClient
) -> None:
    user_code = (await start(service, television))["user_code"]
    page = await browser.open(f"{PAGE}?user_code={user_code}")
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    fields = page.form(APPROVE).fields

    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.test"}):
        refused = await send(service, APPROVE, headers, **fields)
        assert refused.status_code == 403

    assert [row.status for row in await service.rows("SELECT status FROM device_request")] == ["pending"]


@pytest.mark.threat("O17")
async def test_names_are_text(service: Service, browser: Browser) -> None:
    name = "<script>alert(1)</script>\"'"
    television = await add_television(service, client_name=name)
    answer = await service.client.post(
        "/device/code",
        data={**television.form, "scope": "openid"},
        headers={"user-agent": "<img src=x onerror=alert(1)>"},
    )

    page = await service.get(PAGE, params={"user_code": answer.json()["user_code"]})

    assert "<script>alert" not in page.text
    assert "<img" not in page.text
    assert "&lt;script&gt;" in page.text
