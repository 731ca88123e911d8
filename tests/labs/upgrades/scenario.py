"""An upgrade from an old release to the present one: both run on one database for a while, under load."""

import asyncio
import json
import subprocess
import traceback
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
from sqlalchemy import func, select, update
from sqlmodel import col

from models.outbox import MailState, Outbox
from tests.discovery import modules
from tests.labs.faults.asking import until
from tests.labs.faults.instances import CHEAP_HASHES
from tests.labs.faults.places import Place
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.labs.upgrades import possessions, tables
from tests.labs.upgrades.load import Load
from tests.labs.upgrades.possessions import POSSESSIONS, Possession, Story
from tests.labs.upgrades.possessions.limits import FAILURES
from tests.labs.upgrades.possessions.oauth import API
from tests.labs.upgrades.releases import Release, program_of, revision_of
from tests.labs.upgrades.site import TIMEOUT, Site
from tests.live import PROGRAM, ROOT, LiveService, serving
from tests.receiver import Receiver
from tests.service import PASSWORD

SETTINGS = {
    "base_url": "http://localhost:8000",
    **CHEAP_HASHES,
    "limits.enabled": "true",
    "limits.requests": "0",
    "limits.mail_burst": "0",
    "limits.mail_daily": "0",
    "limits.failures": str(FAILURES),
    "limits.network_failures": "0",
    "api_keys.sessions": "true",
    "oauth.scopes": json.dumps({"read": "Read"}),
    "oauth.resources": json.dumps({API: {"name": "API", "scopes": ["read"]}}),
    # On a busy machine, minutes pass between the two halves of a story.
    "two_factor.otp_expires_in": "1h",
    "two_factor.challenge_expires_in": "1h",
    "delete_user.confirm_by_mail": "true",
    "password_reset.sender": "file",
}
ROUNDS = 2
"""Rounds of each user before, during and after the time in which both releases run."""
_IS_WAITING = col(Outbox.state) == MailState.QUEUED


@dataclass
class Record:
    """What was seen of an upgrade, and of the return to the old release."""

    empty_tables: list[str]
    """Tables that the old release has left empty."""
    lost_rows: list[str]
    """Rows that were not there any more, or had other values, when the old release had stopped."""
    unusable: dict[str, str]
    """What was acquired at the old release and could not be used after the upgrade, each with the reason."""
    unusable_at_old: dict[str, str]
    """What was acquired at the new release and could not be used at the old one, while both ran."""
    unusable_at_new: dict[str, str]
    """The other way round."""
    undelivered: list[str]
    """Templates of the emails that waited during the upgrade and have not come."""
    faults: list[str]
    """Defects that processes have logged."""
    lost_by_return: list[str]
    """Rows of the old release that the return to it has deleted or changed."""


@asynccontextmanager
async def running(site: Site) -> AsyncIterator[LiveService]:
    """Run the program of a site, without blocking the load while it starts and stops."""
    path = {"PYTHONPATH": str(site.files)}
    service = serving(site.place.directory, site.settings, variables=path, program=site.program)
    live = await asyncio.to_thread(service.__enter__)
    try:
        yield live
    except BaseException:
        print(*live.output.lines[-20:], sep="")
        raise
    finally:
        await asyncio.to_thread(service.__exit__, None, None, None)


async def upgrade(release: Release, place: Place, provider: ProviderProcess) -> Record:
    """Upgrade a service in which every table has rows, return to the old release, and return what was seen."""
    settings = place.settings({**SETTINGS, **release.settings, **social_settings(provider)})
    async with Receiver() as receiver, httpx.AsyncClient(timeout=TIMEOUT) as client:
        site = Site(place, settings, provider, receiver, client, program=program_of(release))
        load = Load(site)
        seen = await _upgrade(site, load, _known_to(release))
        lost = await _return(site, load, revision_of(release))
    return Record(**seen, lost_by_return=lost)


async def _upgrade(site: Site, load: Load, known: Sequence[Possession]) -> dict[str, Any]:
    async with AsyncExitStack() as stack:
        old = await stack.enter_async_context(running(site))
        at_old = site.at(old.url, site.program)
        held = await _acquire(at_old, known)
        waiting = await _file_mail(at_old)
        before = await tables.rows_of(site.place)
        load.processes = [old]
        async with load.running():
            await load.until(ROUNDS)
            new = await stack.enter_async_context(running(site.at("", PROGRAM)))
            load.processes = [old, new]
            await load.until(ROUNDS)
            at_new = site.at(new.url, PROGRAM)
            at_old = replace(at_old, migrated=True)
            unusable_at_old = await _use(at_old, await _acquire(at_new, known))
            unusable_at_new = await _use(at_new, await _acquire(at_old, known))
            load.processes = [new]
            await asyncio.to_thread(_stop, old)
            await load.until(ROUNDS)
        lost_rows = tables.lost(before, await tables.rows_of(site.place))
        unusable = await _use(at_new, held)
        undelivered = await _undelivered(at_new, waiting)
        await load.check()
        return {
            "empty_tables": [name for name, rows in before.items() if not rows],
            "lost_rows": lost_rows,
            "unusable": unusable,
            "unusable_at_old": unusable_at_old,
            "unusable_at_new": unusable_at_new,
            "undelivered": undelivered,
            "faults": [*old.output.faults(), *new.output.faults()],
        }


async def _return(site: Site, load: Load, revision: str) -> list[str]:
    """Downgrade the schema, start the old release, and return what its tables have lost. Nothing else runs."""
    before = await tables.rows_of(site.place)
    await asyncio.to_thread(_downgrade, site.place.url, revision)
    after = await tables.rows_of(site.place)
    async with running(site) as old:
        load.processes = [old]
        await load.check()
    return tables.lost({name: before[name] for name in after}, after)


def _downgrade(url: str, revision: str) -> None:
    """Downgrade the schema as the upgrade guide says, with the sources of the new release."""
    words = [str(PROGRAM.with_name("alembic")), "-x", f"url={url}", "downgrade", revision]
    subprocess.run(words, cwd=ROOT, check=True, capture_output=True)


def _known_to(release: Release) -> list[Possession]:
    """Return what a release has."""
    for module in modules(possessions):
        assert module, "a module declares its possessions when it is imported"
    return [one for one in POSSESSIONS if one.since <= revision_of(release)]


def _stop(live: LiveService) -> None:
    live.process.terminate()
    assert live.process.wait(TIMEOUT) == 0


Held = list[tuple[Possession, Story]]


async def _acquire(site: Site, known: Sequence[Possession]) -> Held:
    held = [(one, one.begin(site)) for one in known]
    for _, story in held:
        await anext(story)
    return held


async def _use(site: Site, held: Held) -> dict[str, str]:
    """Use everything at a process; return why something could not be used, by its name."""
    reasons = {one.name: await _finish(site, story) for one, story in held}
    return {name: reason for name, reason in reasons.items() if reason}


async def _finish(site: Site, story: Story) -> str:
    """Return why something could not be used, or an empty string."""
    try:
        await story.asend(site)
    except StopAsyncIteration:
        return ""
    except Exception:
        return traceback.format_exc(limit=-3)
    raise AssertionError("a possession yields once")


async def _file_mail(site: Site) -> list[tuple[str, str]]:
    """Have emails wait for their delivery; return the recipient and the template of each."""
    file = site.place.directory / "mail.jsonl"
    aside = file.rename(file.with_suffix(".aside"))
    file.mkdir()
    email = site.email("waiting")
    session = await site.join(email)
    await site.post("/two-factor/enable", session, password=PASSWORD)
    await site.post("/request-password-reset", email=email)
    await site.post("/delete-user", session, password=PASSWORD)
    templates = ("verify-email", "reset-password", "delete-account")
    queued = select(func.count()).select_from(Outbox).where(_IS_WAITING, col(Outbox.attempts) > 0)

    async def have_been_attempted() -> bool:
        [[number]] = await site.place.rows(queued)
        return bool(number == len(templates))

    await until(have_been_attempted)
    later = datetime.now(UTC) + timedelta(hours=1)
    await site.place.rows(update(Outbox).where(_IS_WAITING).values(next_attempt=later))
    file.rmdir()
    aside.rename(file)
    return [(email, template) for template in templates]


async def _undelivered(site: Site, waiting: Sequence[tuple[str, str]]) -> list[str]:
    """Have the emails delivered that wait; return the templates of those that do not come."""
    await site.place.rows(update(Outbox).where(_IS_WAITING).values(next_attempt=datetime.now(UTC)))
    # Another email has the process look for what is due.
    await site.join(site.email("next"))

    async def have_been_attempted() -> bool:
        [[number]] = await site.place.rows(select(func.count()).select_from(Outbox).where(_IS_WAITING))
        return not number

    await until(have_been_attempted)
    return [template for email, template in waiting if not site.place.mails(email, template)]
