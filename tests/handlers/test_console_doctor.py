"""The checks of the installation in the console."""

import pytest

from domain.doctor.doctor import Finding, InstallationChecks, LastReport
from tests.conftest import MakeService
from tests.handlers.pages import SETTINGS
from tests.handlers.test_console import administrator
from tests.service import Service

DOCTOR = "/console/doctor"


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    return await make_service(SETTINGS)


async def check(service: Service, *findings: Finding) -> None:
    """Configure the service so that its checks have these findings."""

    async def checks() -> list[Finding]:
        return list(findings)

    service.services.port[LastReport].report = None
    service.services.port.add(InstallationChecks, checks)


@pytest.mark.operation("console.doctor.show")
async def test_it_shows_the_worst_finding_first(service: Service) -> None:
    await check(
        service,
        Finding("clock", "ok", "within 1 s", ""),
        Finding("limits", "warning", "limits are off", "set it to true"),
        Finding("mail", "wrong", "connection refused", "check <host>"),
    )
    browser = await administrator(service)

    page = await browser.open(DOCTOR)

    order = [page.text.index(text) for text in ("connection refused", "limits are off", "within 1 s")]
    assert order == sorted(order)
    assert "check <host>" in page.text
    assert "Nothing is wrong." not in page.text


async def test_it_says_when_nothing_is_wrong(service: Service) -> None:
    await check(service, Finding("clock", "ok", "within 1 s", ""))
    browser = await administrator(service)

    assert "Nothing is wrong." in (await browser.open(DOCTOR)).text
