"""The operations of openapi/paths/doctor.yaml."""

import asyncio
import sys

import pytest

from domain.doctor.doctor import Finding, InstallationChecks, LastReport
from server.components.doctor import run_checks
from tests.handlers import steps
from tests.handlers.people import Person, add_person
from tests.service import Service

FOUND = Finding("mail", "wrong", "smtp.example.com:587: connection refused", "check mail.smtp.host")
PATH = "/admin/run-doctor"


class Checks:
    """Checks that count how often they ran, and wait until they may end."""

    def __init__(self) -> None:
        self.runs = 0
        self.began = asyncio.Event()
        self.may_end = asyncio.Event()

    async def __call__(self) -> list[Finding]:
        self.runs += 1
        self.began.set()
        await self.may_end.wait()
        return [FOUND]


@pytest.fixture
async def admin(service: Service) -> Person:
    return await add_person(service, "admin")


@pytest.fixture
def checks(service: Service) -> Checks:
    """The checks of the service."""
    checks = Checks()
    service.services.port[LastReport].report = None
    service.services.port.add(InstallationChecks, checks)
    return checks


@pytest.mark.operation("doctor.run")
async def test_the_findings_are_returned(service: Service, admin: Person, checks: Checks) -> None:
    checks.may_end.set()

    answer = await service.get(PATH, headers=admin.headers)

    assert answer.json() == {"checkedAt": "2026-01-01T12:00:00.000Z", "findings": [FOUND._asdict()]}


async def test_the_checks_run_once_for_all_who_ask_within_a_minute(
    service: Service, admin: Person, checks: Checks
) -> None:
    waiting = [asyncio.create_task(service.get(PATH, headers=admin.headers)) for _ in range(10)]
    async with asyncio.timeout(10):
        await checks.began.wait()
    assert (await service.get("/ok")).status_code == 200
    checks.may_end.set()
    assert {answer.status_code for answer in await asyncio.gather(*waiting)} == {200}

    service.clock.advance(seconds=59)
    await service.get(PATH, headers=admin.headers)
    assert checks.runs == 1

    service.clock.advance(seconds=1)
    await service.get(PATH, headers=admin.headers)
    assert checks.runs == 2


@pytest.mark.threat("ADM24")
async def test_nobody_else_runs_them(service: Service, admin: Person, checks: Checks) -> None:
    user = await add_person(service)

    answer = await service.get(PATH, headers=user.headers)

    assert steps.code(answer) == "403 YOU_ARE_NOT_ALLOWED_TO_MANAGE_SERVICE"
    assert checks.runs == 0


def program(text: str) -> tuple[str, ...]:
    return (sys.executable, "-c", text)


class TestProcess:
    async def test_the_command_reports_what_it_finds(self) -> None:
        found = await run_checks()

        assert {finding.verdict for finding in found} <= {"ok", "warning", "wrong", "skipped"}
        assert "configuration" in {finding.check for finding in found}

    @pytest.mark.parametrize("text", ["", "print('[')", "print('[{}]')", "raise SystemExit(3)"])
    async def test_a_command_that_fails_is_a_finding(self, text: str) -> None:
        [finding] = await run_checks(program(text))

        assert (finding.verdict, finding.found) == ("skipped", "the checks ended without findings")

    async def test_a_command_that_hangs_is_stopped(self) -> None:
        [finding] = await run_checks(program("import time; time.sleep(60)"), within=0.2)

        assert finding.found == "the checks took longer than 0.2 s"
