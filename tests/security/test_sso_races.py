"""Sign-ins through connections and requests of a directory, many at once: rows SSO13 and SSO16.

On SQLite by one instance, on PostgreSQL by two that share a database.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from domain.sso.configuration import Config, encrypt_config
from models.sso_connection import ConnectionType
from tests.conftest import Headers
from tests.handlers import sso_saml_steps, sso_steps
from tests.handlers.organization_steps import add, broken, create
from tests.handlers.sso_saml_steps import ADA, answer_to, attributes, error_of, post, request_in, state_of
from tests.handlers.steps import join, verify
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.steps import as_user
from tests.scim import Directory, add_directory, user
from tests.security.conftest import PATIENT, UNLIMITED
from tests.security.crowd import CROWDS, all_of, turns
from tests.server.saml import provider as idp
from tests.service import Service, close_service, open_service

SEATS = 4
SETTINGS = {
    **UNLIMITED,
    **PATIENT,
    "limits.enabled": "false",
    "secrets": "s" * 32,
    "organizations.membership_limit": str(SEATS),
}
DOMAIN = "acme.example"
NAME_ID = '<saml:NameID Format="urn:oasis:names:tc:SAML:2.0:nameid-format:persistent">{}</saml:NameID>'

IS_IDENTITY = "provider_id <> 'credential'"

Return = tuple[str, Headers]
"""The URL to which a browser returns at the end of a sign-in, and its cookies."""
Begin = Callable[[str], Awaitable[Return]]


@pytest.fixture(params=["sqlite", "postgresql"], scope="module")
async def opened(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[list[Service]]:
    """One instance on SQLite, two on one PostgreSQL database."""
    directory: Path = tmp_path_factory.mktemp("race")
    url, number = f"sqlite:///{directory / 'gatewright.db'}", 1
    if request.param == "postgresql":
        url, number = request.getfixturevalue("cluster").create(migrated=True), 2
    instances = [await open_service(url, directory, SETTINGS) for _ in range(number)]
    yield instances
    for instance in instances:
        await close_service(instance)


@pytest.fixture
async def instances(opened: list[Service]) -> list[Service]:
    """The instances, with an empty database, at the time of the SAML identity provider."""
    for instance in opened:
        await instance.reset()
        instance.clock.now = idp.NOW
    return opened


@pytest.fixture
async def service(instances: list[Service]) -> Service:
    return instances[0]


@pytest.fixture
async def organization(service: Service) -> str:
    """An organization with its owner."""
    return str((await create(service, await add(service, "owner")))["id"])


@pytest.fixture
async def directory(service: Service, organization: str) -> Directory:
    """The directory of a connection to a SAML identity provider."""
    return await connect(service, organization, ConnectionType.SAML, idp.ISSUER, sso_saml_steps.config())


async def connect(
    service: Service, organization: str, kind: ConnectionType, issuer: str, config: Config
) -> Directory:
    """Add a connection of the organization; return its directory."""
    encrypted = encrypt_config(service.services.cipher, config)
    return await add_directory(service, organization, DOMAIN, type=kind, issuer=issuer, config=encrypted)


@pytest.fixture(params=["saml", "openid"])
def begin(request: pytest.FixtureRequest) -> Begin:
    """Begin a sign-in with an address, and have the identity provider respond; return what completes it."""
    found: Begin = request.getfixturevalue(f"begin_{request.param}")
    return found


@pytest.fixture
def begin_saml(directory: Directory) -> Begin:
    service = directory.service

    async def begin(address: str) -> Return:
        flow = await sso_steps.begin(service)
        response = answer_to(
            request_in(flow),
            name_id=NAME_ID.format(address),
            attributes=attributes(address),
            assertion=f"_a{state_of(flow)}",
        )
        posted = await post(service, response, state_of(flow))
        return str(httpx.URL(posted.headers["location"]).raw_path, "ascii"), flow.headers

    return begin


@pytest.fixture
async def begin_openid(service: Service, organization: str, provider_process: ProviderProcess) -> Begin:
    provider_process.reset(now=idp.NOW.timestamp())
    config, issuer = sso_steps.oidc(provider_process), provider_process.issuer
    await connect(service, organization, ConnectionType.OIDC, issuer, config)

    async def begin(address: str) -> Return:
        flow = await sso_steps.begin(service)
        as_user(provider_process, address, f"subject of {address}", email_verified=True)
        return await sso_steps.visit(flow), flow.headers

    return begin


async def complete(instances: list[Service], returns: Sequence[Return]) -> list[str | None]:
    """Complete all sign-ins at once; return the errors."""
    at = turns(instances, len(returns))
    answers = await all_of(
        [each.get(url, headers=headers) for each, (url, headers) in zip(at, returns, strict=True)]
    )
    for each in instances:
        each.client.cookies.clear()
    return [error_of(answer) for answer in answers]


async def add_users(
    instances: list[Service], directory: Directory, addresses: Sequence[str]
) -> Sequence[int]:
    """Have the directory create all users at once; return the statuses in their order of size."""
    at = [replace(directory, service=each) for each in turns(instances, len(addresses))]
    answers = await all_of(
        [each.send("POST", "/Users", user(address)) for each, address in zip(at, addresses, strict=True)]
    )
    return sorted(answer.status_code for answer in answers)


async def number_of(service: Service, table: str, where: str = "true", **values: str) -> int:
    return len(await service.rows(f"SELECT id FROM {table} WHERE {where}", **values))


@pytest.mark.threat("SSO16")
@pytest.mark.parametrize("number", CROWDS)
@pytest.mark.parametrize("is_known", [True, False])
async def test_many_first_sign_ins_of_one_user_link_one_identity_and_make_one_member(
    instances: list[Service], service: Service, begin: Begin, is_known: bool, number: int
) -> None:
    if is_known:
        await join(service, ADA)
        await verify(service, ADA)
    returns = [await begin(ADA) for _ in range(number)]

    errors = await complete(instances, returns)

    assert set(errors) == {None}
    assert await number_of(service, '"user"', "email = :email", email=ADA) == 1
    assert await number_of(service, "account", IS_IDENTITY) == 1
    assert await number_of(service, "member") == 2
    assert len(await service.inbox(ADA, "organization-linked")) == int(is_known)
    assert await broken(service) == []


@pytest.mark.threat("SSO16")
@pytest.mark.parametrize("number", CROWDS)
async def test_as_many_users_sign_in_as_there_are_seats(
    instances: list[Service], service: Service, begin: Begin, number: int
) -> None:
    returns = [await begin(f"user{each}@{DOMAIN}") for each in range(number)]

    errors = await complete(instances, returns)

    assert errors.count(None) == SEATS - 1
    assert errors.count("membership_limit_reached") == number - (SEATS - 1)
    # A user who is refused is not created.
    assert await number_of(service, '"user"') == await number_of(service, "member") == SEATS
    assert await number_of(service, "account", IS_IDENTITY) == SEATS - 1
    assert await broken(service) == []


@pytest.mark.threat("SSO13")
@pytest.mark.parametrize("number", CROWDS)
async def test_a_directory_creates_as_many_users_as_there_are_seats(
    instances: list[Service], service: Service, directory: Directory, number: int
) -> None:
    statuses = await add_users(instances, directory, [f"user{each}@{DOMAIN}" for each in range(number)])

    assert statuses == [*[201] * (SEATS - 1), *[403] * (number - (SEATS - 1))]
    assert await number_of(service, '"user"') == await number_of(service, "member") == SEATS
    assert await number_of(service, "scim_link") == SEATS - 1
    assert await broken(service) == []


@pytest.mark.threat("SSO13", "SSO16")
@pytest.mark.parametrize("number", CROWDS)
async def test_a_directory_and_sign_ins_make_one_user(
    instances: list[Service], service: Service, directory: Directory, begin_saml: Begin, number: int
) -> None:
    returns = [await begin_saml(ADA) for _ in range(number // 2)]

    errors, statuses = await asyncio.gather(
        complete(instances, returns), add_users(instances, directory, [ADA] * (number // 2))
    )

    assert set(errors) == {None}
    assert statuses == [201, *[409] * (number // 2 - 1)]
    assert await number_of(service, '"user"', "email = :email", email=ADA) == 1
    assert await number_of(service, "member") == 2
    assert await number_of(service, "scim_link") == 1
    assert await broken(service) == []
