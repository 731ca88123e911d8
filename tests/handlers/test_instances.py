"""The operations of openapi/paths/instances.yaml."""

import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

import pytest

from server.components.instances import Heartbeat
from tests.conftest import MakeService
from tests.handlers import steps
from tests.handlers.pages import SETTINGS
from tests.handlers.people import add_person
from tests.handlers.test_console import administrator
from tests.service import Service, running_service

pytestmark = pytest.mark.both_databases

PATH = "/admin/list-instances"
SECRET, OTHER_SECRET = "the password of the mail server", "another password"
OLD, NEW = "o" * 32, "n" * 32
"""Secrets of the service."""


async def beat(service: Service) -> None:
    """Write that the process of a service runs, as happens every 15 seconds."""
    await service.services.port[Heartbeat].write()


@asynccontextmanager
async def second_instance(service: Service, settings: Mapping[str, str]) -> AsyncIterator[Service]:
    """Yield another instance on the same database."""
    url = service.services.settings.database_url.get_secret_value()
    async with running_service(url, service.mail_file.parent, settings) as instance:
        instance.clock.now = service.clock.now
        await beat(instance)
        yield instance


async def listed(service: Service) -> dict[str, Any]:
    """Return what a new administrator reads."""
    [(number,)] = await service.rows('SELECT count(*) FROM "user"')
    admin = await add_person(service, "admin", f"admin{number}@example.com")
    answer = await service.get(PATH, headers=admin.headers)
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


async def different(service: Service) -> dict[str, list[str | None]]:
    """Return the values of settings that differ."""
    differences = (await listed(service))["differences"]
    return {one["name"]: [value["value"] for value in one["values"]] for one in differences}


@pytest.mark.operation("instances.list_all")
async def test_a_process_is_listed_for_a_minute_after_it_was_seen(make_service: MakeService) -> None:
    service = await make_service()
    await beat(service)
    service.clock.advance(seconds=30)
    await beat(service)
    service.clock.advance(seconds=59)

    [found] = (await listed(service))["instances"]

    assert (found["host"], found["process"]) == (socket.gethostname(), os.getpid())
    assert found["version"] == version("gatewright")
    assert found["lastSeenAt"] == "2026-01-01T12:00:30.000Z"
    service.clock.advance(seconds=1)
    assert await listed(service) == {"instances": [], "differences": []}


async def test_settings_that_differ_are_listed_with_their_instances(make_service: MakeService) -> None:
    settings = {"mail.smtp.password": SECRET, "session.expires_in": "3d"}
    service = await make_service(settings)
    await beat(service)

    async with second_instance(service, {**settings, "session.expires_in": "5d"}) as other:
        found = await listed(service)
        assert found == await listed(other)

    ids = {one["id"] for one in found["instances"]}
    [difference] = [one for one in found["differences"] if one["name"] == "session.expires_in"]
    assert {value["value"] for value in difference["values"]} == {"3d", "5d"}
    assert {one for value in difference["values"] for one in value["instanceIds"]} == ids
    assert len(ids) == 2


async def test_equal_settings_do_not_differ(make_service: MakeService) -> None:
    settings = {"mail.smtp.password": SECRET, "session.expires_in": "3d"}
    service = await make_service(settings)
    await beat(service)

    async with second_instance(service, settings):
        found = await listed(service)

    assert len(found["instances"]) == 2
    assert found["differences"] == []


@pytest.mark.threat("C9")
async def test_secrets_are_compared_without_being_stored(make_service: MakeService) -> None:
    service = await make_service({"mail.smtp.password": SECRET})
    await beat(service)

    async with second_instance(service, {"mail.smtp.password": OTHER_SECRET}) as other:
        assert await different(service) == {"mail.smtp.password": ["set", "set"]}
        rows = await service.rows("SELECT settings FROM instance")
        secrets = [one.get_secret_value() for one in service.services.settings.secrets]

    stored = "".join(row.settings for row in rows)
    assert len(rows) == 2
    url = other.services.settings.database_url.get_secret_value()
    assert not [one for one in (SECRET, OTHER_SECRET, url, *secrets) if one in stored]


async def test_while_service_secrets_are_rotated_only_they_differ(make_service: MakeService) -> None:
    service = await make_service({"mail.smtp.password": SECRET, "secrets": OLD})
    await beat(service)

    async with second_instance(service, {"mail.smtp.password": SECRET, "secrets": f"{NEW},{OLD}"}):
        assert await different(service) == {"secrets": ["set", "set"]}


async def test_the_settings_of_an_older_program_are_compared(make_service: MakeService) -> None:
    service = await make_service()
    await beat(service)
    await steps.execute(
        service, "UPDATE instance SET id = 'old', settings = '{\"from.the.past\": [\"1\", []]}'"
    )
    await beat(service)

    found = await different(service)

    assert set(found["from.the.past"]) == {"1", None}
    assert None in found["session.expires_in"]


async def test_the_console_shows_instances_and_differences(make_service: MakeService) -> None:
    service = await make_service({**SETTINGS, "session.expires_in": "3d"})
    browser = await administrator(service)
    await beat(service)

    page = await browser.open("/console/settings")
    assert "Instances" not in page.text
    assert "instances of the last minute" not in page.text
    assert "seen in the last minute" not in (await browser.open("/console")).text

    process = f"{socket.gethostname()} · process {os.getpid()}"
    async with second_instance(service, {**SETTINGS, "session.expires_in": "3d"}):
        page = await browser.open("/console/settings")
        assert "All instances of the last minute have the same settings." in page.text
        page = await browser.open("/console")
        assert f"{process} {version('gatewright')} now {process} {version('gatewright')} now" in page.text
        assert "Their settings differ." not in page.text
    await steps.execute(service, "DELETE FROM instance")
    await beat(service)
    other = {**SETTINGS, "session.expires_in": "5d", "mail.smtp.password": SECRET}
    async with second_instance(service, other):
        assert "/console/settings" in (await browser.open("/console")).links["Their settings differ."]
        page = await browser.open("/console/settings")
        differences = page.text.partition("Name of a setting")[0]
        values = ("expires_in 3d", "expires_in 5d", "smtp.password set", "smtp.password not set")
        assert [value for value in values if f"{value} {process}" not in differences] == []
        assert SECRET not in page.text


@pytest.mark.threat("ADM24")
async def test_only_those_who_manage_the_service_see_them(make_service: MakeService) -> None:
    service = await make_service()
    user = await add_person(service)

    answer = await service.get(PATH, headers=user.headers)

    assert steps.code(answer) == "403 YOU_ARE_NOT_ALLOWED_TO_MANAGE_SERVICE"
