"""The email that precedes the end of the certificates of a SAML connection."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from domain.sso.configuration import encrypt_config
from domain.sso.saml import SamlLibrary
from domain.sso_connections import certificate_notices
from server.components.sso_connections import SsoConnections
from tests.conftest import MakeService
from tests.handlers import organization_steps, sso_steps
from tests.handlers.people import Person
from tests.handlers.sso_saml_steps import config
from tests.handlers.steps import execute
from tests.server.observability.test_metrics import COUNTED, samples
from tests.server.saml.provider import ISSUER, NOW, key, self_signed
from tests.service import Service

TEMPLATE = "sso-certificate-ends"


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    service = await make_service({"limits.enabled": "false"})
    service.clock.now = NOW
    return service


@pytest.fixture
async def owner(service: Service) -> Person:
    return await organization_steps.add_verified(service, "owner@example.com")


@pytest.fixture
async def acme(service: Service, owner: Person) -> str:
    """The id of the organization of the owner."""
    return str((await organization_steps.create(service, owner))["id"])


def end_of(service: Service) -> datetime:
    """Return the end of the certificate of the identity provider."""
    return service.services.port[SamlLibrary]().certificate_facts(key().certificate).not_after


async def notices(service: Service, owner: Person) -> int:
    """Run the job twice, and return how many notices the owner has."""
    for _ in range(2):
        await service.services.unit_of_work.run(certificate_notices.run)
    return len(await service.inbox(owner.email, TEMPLATE))


@pytest.mark.both_databases
async def test_owners_are_notified_once_thirty_days_before(
    service: Service, owner: Person, acme: str
) -> None:
    await sso_steps.connect(service, config(), ISSUER, organization_id=acme)
    end = end_of(service)
    service.clock.now = end - timedelta(days=30, minutes=1)
    early = await notices(service, owner)
    service.clock.advance(minutes=2)

    assert (early, await notices(service, owner)) == (0, 1)
    [mail] = await service.inbox(owner.email, TEMPLATE)
    assert all(text in mail["text"] for text in ("Acme", f"{end:%B %Y}"))


@pytest.mark.parametrize("columns", [{"state": "paused"}, {"organization_id": None}])
async def test_nobody_is_notified_who_has_nothing_to_do(
    service: Service, owner: Person, acme: str, columns: dict[str, Any]
) -> None:
    await sso_steps.connect(service, config(), ISSUER, **{"organization_id": acme, **columns})
    service.clock.now = end_of(service) - timedelta(days=1)

    assert await notices(service, owner) == 0


def brief() -> str:
    """Return a certificate that ends a day after `NOW`."""
    return self_signed(ec.generate_private_key(ec.SECP256R1())).certificate


async def test_a_newer_certificate_makes_a_notice_needless(
    service: Service, owner: Person, acme: str
) -> None:
    both = replace(config(), certificates=(brief(), key().certificate))
    await sso_steps.connect(service, both, ISSUER, organization_id=acme)

    assert await notices(service, owner) == 0


async def test_the_next_certificate_has_a_notice_of_its_own(
    service: Service, owner: Person, acme: str
) -> None:
    first, second = replace(config(), certificates=(brief(),)), config()
    await sso_steps.connect(service, first, ISSUER, organization_id=acme)
    sent = await notices(service, owner)
    stored = encrypt_config(service.services.cipher, second)
    await execute(service, "UPDATE sso_connection SET config = :config", config=stored)
    service.clock.now = end_of(service) - timedelta(days=1)

    assert (sent, await notices(service, owner)) == (1, 2)


@pytest.mark.parametrize("organization", [True, False])
@pytest.mark.parametrize(("before", "number"), [(31, 0), (29, 1), (-1, 1)])
async def test_it_is_counted_for_alerts(
    make_service: MakeService, organization: bool, before: int, number: int
) -> None:
    service = await make_service({"limits.enabled": "false", **COUNTED})
    service.clock.now = NOW
    owner = await organization_steps.add_verified(service, "owner@example.com")
    acme = str((await organization_steps.create(service, owner))["id"])
    await sso_steps.connect(service, config(), ISSUER, organization_id=acme if organization else None)
    service.clock.now = end_of(service) - timedelta(days=before)
    [component] = [one for one in service.services.components if isinstance(one, SsoConnections)]
    [job] = [job for job in component.jobs() if job.name == "sso_certificates"]

    await job.run()

    assert service.services.metrics is not None
    assert samples(service.services.metrics)["gatewright_sso_ending_certificates",] == number
