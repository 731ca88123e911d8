"""Sign-ins through connections while the database stops, or the process is killed: row SSO16."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import asyncpg
import httpx
import pytest

from tests.handlers import sso_saml_steps, sso_steps
from tests.handlers.sso_saml_steps import ADA, answer_to, go_on, id_in, post, request_in, state_of
from tests.handlers.steps import join
from tests.labs.faults.asking import until, until_ready
from tests.labs.faults.engines import OwnCluster
from tests.labs.provider import steps
from tests.live import serving
from tests.server.saml import provider as idp
from tests.service import BASE_URL, running_service

SETTINGS = {"sso.enabled": "true"}


@pytest.mark.threat("SSO16")
async def test_a_kept_response_outlives_a_crash_of_the_database(server: OwnCluster, tmp_path: Path) -> None:
    settings = {"database.timeout": "2s", "secrets": "s" * 32, **SETTINGS}
    async with running_service(server.create(migrated=True), tmp_path, settings) as service:
        service.clock.now = idp.NOW
        await sso_steps.connect(service, sso_saml_steps.config(), idp.ISSUER)
        flow = await sso_steps.begin(service)
        posted = await post(service, answer_to(request_in(flow)), state_of(flow))
        location = str(httpx.URL(posted.headers["location"]).raw_path, "ascii")

        await asyncio.to_thread(server.halt)
        failed = await service.get(location, headers=flow.headers)
        await asyncio.to_thread(server.resume)
        await until_ready(service)
        session = steps.session_of(await go_on(service, posted, flow.headers))

        assert failed.status_code == 503
        assert (await service.get("/get-session", headers=session)).json()["user"]["email"] == ADA


LINKED = "SELECT count(*) FROM account WHERE provider_id LIKE 'sso:%'"
WAITING = (
    "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
)


@pytest.mark.threat("SSO16")
async def test_a_process_that_is_killed_while_it_links_leaves_nothing_half_done(
    server: OwnCluster, tmp_path: Path
) -> None:
    url = server.create(migrated=True)
    settings = {"secrets": "s" * 32, "base_url": BASE_URL, "session.cookie_secure": "false", **SETTINGS}
    async with running_service(url, tmp_path, settings) as service:
        await join(service, ADA)
        await sso_steps.connect(service, sso_saml_steps.config(), idp.ISSUER)
    watch, lock = await asyncpg.connect(url), await asyncpg.connect(url)
    (tmp_path / "killed").mkdir()

    with serving(tmp_path / "killed", {"database_url": url, **settings}) as live:
        async with httpx.AsyncClient(base_url=live.url, trust_env=False, timeout=60) as browser:
            begun = await browser.post("/sign-in/sso", json={"providerId": "acme", "callbackURL": "/"})
            request = httpx.URL(begun.json()["url"])
            message = answer_to(id_in(request), (datetime.now(UTC) - idp.NOW).total_seconds())
            form = {"SAMLResponse": message, "RelayState": request.params["RelayState"]}
            posted = await browser.post("/sso/saml2/sp/acs/acme", data=form)
            # The session, and with it the identity, is stored last: the sign-in waits there until it is killed.
            await lock.execute("BEGIN; LOCK TABLE session IN SHARE MODE")
            arriving = asyncio.create_task(
                browser.get(httpx.URL(posted.headers["location"]).raw_path.decode())
            )

            async def waits() -> bool:
                return bool(await watch.fetchval(WAITING))

            await until(waits)
            live.process.kill()
            with pytest.raises(httpx.TransportError):
                await arriving
    await lock.execute("ROLLBACK")
    after = await watch.fetchval(LINKED)

    async with running_service(url, tmp_path, settings) as service:
        service.clock.now = idp.NOW
        flow = await sso_steps.begin(service)
        again = await post(service, answer_to(request_in(flow), assertion="_assertion2"), state_of(flow))
        session = steps.session_of(await go_on(service, again, flow.headers))
        shown = (await service.get("/get-session", headers=session)).json()
    linked = await watch.fetchval(LINKED)
    await asyncio.gather(watch.close(), lock.close())

    assert (after, linked, shown["user"]["email"]) == (0, 1, ADA)
