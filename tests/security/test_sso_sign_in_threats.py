"""Sign-ins through connections while something fails, by several instances, and many at once: row SSO16."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from tests.conftest import MakeService
from tests.handlers import device_steps, sso_saml_steps, sso_steps
from tests.handlers.people import add_person
from tests.handlers.sso_saml_steps import ADA, answer_to, error_of, go_on, post, request_in, state_of
from tests.handlers.steps import bearer, join, verify
from tests.labs.provider import steps
from tests.labs.provider.process import ProviderProcess
from tests.security.conftest import OpenInstance
from tests.security.crowd import CROWDS, turns
from tests.server.saml import provider as idp
from tests.service import Service

SAME = {"secrets": "s" * 32}


@asynccontextmanager
async def locked(service: Service, table: str) -> AsyncIterator[None]:
    """Lock a table against writers meanwhile; in SQLite that is the whole database."""
    async with service.services.database.begin() as db:
        is_sqlite = db.dialect == "sqlite"
        await db.execute(text(f"DELETE FROM {table} WHERE 1 = 0" if is_sqlite else f"LOCK TABLE {table}"))
        yield


@pytest.mark.threat("SSO16")
async def test_a_kept_response_outlives_an_outage_of_the_database(make_service: MakeService) -> None:
    service = await make_service({"database.timeout": "1s"})
    service.clock.now = idp.NOW
    await sso_steps.connect(service, sso_saml_steps.config(), idp.ISSUER)
    flow = await sso_steps.begin(service)
    posted = await post(service, answer_to(request_in(flow)), state_of(flow))
    location = httpx.URL(posted.headers["location"])

    async with locked(service, '"grant"'):
        failed = await service.get(f"{location.path}?{location.query.decode()}", headers=flow.headers)
    again = await go_on(service, posted, flow.headers)

    assert failed.status_code == 503
    assert error_of(again) is None


@pytest.mark.threat("SSO16")
# SQLite has no locks of a table: the sign-in would fail before it writes.
@pytest.mark.parametrize("dialect", ["postgresql"])
async def test_a_sign_in_that_cannot_be_stored_leaves_nothing(make_service: MakeService) -> None:
    service = await make_service({"database.timeout": "1s"})
    service.clock.now = idp.NOW
    await sso_steps.connect(service, sso_saml_steps.config(), idp.ISSUER)
    flow = await sso_steps.begin(service)
    posted = await post(service, answer_to(request_in(flow)), state_of(flow))

    # The last table that a sign-in writes.
    async with locked(service, "sso_session"):
        failed = await go_on(service, posted, flow.headers)

    assert error_of(failed) == "internal_server_error"
    for table in ('"user"', "account", "session"):
        assert not await service.rows(f"SELECT id FROM {table}")


@pytest.mark.threat("SSO16")
async def test_each_step_may_be_taken_by_another_instance(
    open_instance: OpenInstance, provider: ProviderProcess
) -> None:
    first, second = await open_instance(SAME), await open_instance(SAME)
    first.clock.now = second.clock.now = idp.NOW
    await sso_steps.connect(first, sso_saml_steps.config(), idp.ISSUER)
    flow = await sso_steps.begin(first)
    posted = await post(second, answer_to(request_in(flow)), state_of(flow))

    headers = steps.session_of(await go_on(first, posted, flow.headers))

    assert (await second.get("/get-session", headers=headers)).status_code == 200


@pytest.mark.threat("SSO16")
@pytest.mark.parametrize("number", CROWDS)
@pytest.mark.parametrize("is_known", [True, False])
async def test_many_first_sign_ins_of_one_user_link_one_identity(
    unlimited_instances: list[Service], number: int, is_known: bool
) -> None:
    service = unlimited_instances[0]
    for each in unlimited_instances:
        each.clock.now = idp.NOW
    if is_known:
        await join(service, ADA)
        await verify(service, ADA)
    await sso_steps.connect(service, sso_saml_steps.config(), idp.ISSUER)
    flows = [await sso_steps.begin(service) for _ in range(number)]
    posted = [
        await post(service, answer_to(request_in(flow), 0, assertion=f"_a{state_of(flow)}"), state_of(flow))
        for flow in flows
    ]

    answers = await asyncio.gather(
        *(
            each.get(str(httpx.URL(one.headers["location"]).raw_path, "ascii"), headers=flow.headers)
            for each, one, flow in zip(turns(unlimited_instances, number), posted, flows, strict=True)
        )
    )

    assert {error_of(answer) for answer in answers} == {None}
    assert len(await service.rows('SELECT id FROM "user"')) == 1
    assert len(await service.rows("SELECT id FROM account WHERE provider_id <> 'credential'")) == 1
    assert len(await service.inbox(ADA, "organization-linked")) == int(is_known)


@pytest.mark.threat("SSO16")
@pytest.mark.parametrize("number", CROWDS)
async def test_an_assertion_that_comes_many_times_at_once_is_used_once(
    unlimited_instances: list[Service], number: int
) -> None:
    service = unlimited_instances[0]
    for each in unlimited_instances:
        each.clock.now = idp.NOW
    await sso_steps.connect(service, sso_saml_steps.config(), idp.ISSUER)
    flow = await sso_steps.begin(service)
    message, state = answer_to(request_in(flow)), state_of(flow)

    answers = await asyncio.gather(
        *(post(each, message, state) for each in turns(unlimited_instances, number))
    )

    assert sum("continue" in answer.headers["location"] for answer in answers) == 1


@pytest.mark.threat("SSO15")
async def test_the_session_of_a_device_ends_with_the_sign_out_at_the_provider(
    service: Service, provider: ProviderProcess
) -> None:
    steps.as_user(provider, ADA, "acme-1")
    await sso_steps.connect(service, sso_steps.oidc(provider), provider.issuer)
    session = await sso_steps.enter(service)
    television = await device_steps.add_television(service)
    started = await device_steps.start(service, television)
    await device_steps.approve(service, started["user_code"], session)
    polled = await device_steps.poll(service, television, started["device_code"])
    device = bearer(polled.json()["access_token"])
    assert (await service.get("/get-session", headers=device)).status_code == 200
    event = "http://schemas.openid.net/event/backchannel-logout"
    claims: dict[str, Any] = {"events": {event: {}}, "jti": "t1", "sub": "acme-1", "nonce": None}
    token = provider.mint(claims=claims, header={"typ": "logout+jwt"})

    await service.client.post("/sso/backchannel-logout/acme", data={"logout_token": token})

    assert (await service.get("/get-session", headers=device)).status_code == 401


@pytest.mark.threat("SSO7")
async def test_an_error_of_the_provider_stays_text(service: Service, provider: ProviderProcess) -> None:
    await sso_steps.connect(service, sso_steps.oidc(provider), provider.issuer)
    provider.control(callback_error={"error": "<script>", "error_description": "<script>alert(1)</script>"})
    flow = await sso_steps.begin(service)

    answer = await steps.deliver(service, await sso_steps.visit(flow), flow)

    assert error_of(answer) == "provider_error"
    assert "<" not in answer.headers["location"]


@pytest.mark.threat("SSO7")
@pytest.mark.parametrize("field", ["callbackURL", "errorCallbackURL", "newUserCallbackURL"])
async def test_a_redirect_url_leads_to_no_other_site(
    service: Service, provider: ProviderProcess, field: str
) -> None:
    await sso_steps.connect(service, sso_steps.oidc(provider), provider.issuer)
    await add_person(service, email="bob@else.example")

    answer = await service.post("/sign-in/sso", {"providerId": "acme", field: "https://evil.example/"})

    assert answer.status_code == 403
