"""Look-ups of administrators and of services that verify API keys, in tables that grow."""

from functools import partial
from typing import Protocol

from domain.admin import listing, users
from domain.admin.listing import UserQuery
from domain.api_keys import verification
from domain.context import Caller, RequestFacts
from server.services import Services
from tests.labs.bench import growth_rows as rows
from tests.labs.bench.growth_rows import SESSIONS_EACH
from tests.labs.bench.timing import timed

_PLAIN = UserQuery(
    search=None, search_field="email", search_operator="contains", filter_field="email", filter_operator="eq",
    filter_values=None, sort_by="created_at", descending=True, limit=100, offset=0,
)  # fmt: skip


class Asking(Protocol):
    """What asks for rows that are there, at random."""

    services: Services

    def number(self) -> int:
        """Return the number of a live session."""

    async def caller(self, number: int) -> Caller:
        """Return the caller with a session."""


async def first_page(probe: Asking) -> float:
    """List the newest hundred users, as the console does at first; give the seconds it took."""
    return await _listed(probe, _PLAIN, 100)


async def by_role(probe: Asking) -> float:
    """List the users with a role that a hundred have."""
    return await _listed(probe, _PLAIN._replace(filter_field="role", filter_values=[rows.ROLE]), rows.HOLDERS)


async def by_prefix(probe: Asking) -> float:
    """Find a user by the beginning of the address."""
    begin = rows.email(probe.number() // SESSIONS_EACH).partition("@")[0] + "@"
    return await _listed(probe, _PLAIN._replace(search=begin, search_operator="starts_with"), 1)


async def by_part(probe: Asking) -> float:
    """Find a user by a part of the address, which takes the search indexes of PostgreSQL."""
    part = rows.email(probe.number() // SESSIONS_EACH).removeprefix("somebody").removesuffix("example.com")
    return await _listed(probe, _PLAIN._replace(search=part), 1)


async def get_user(probe: Asking) -> float:
    """Read a user by their id."""
    user_id = rows.user_id(probe.number() // SESSIONS_EACH)
    job = partial(users.get_user, user_id=user_id)
    caller = await _administrator(probe)
    with timed() as taken:
        found = await probe.services.unit_of_work.run(
            job, RequestFacts(probe.services.clock(), caller=caller)
        )
    assert found.id == user_id
    return taken[0]


async def verify_key(probe: Asking) -> float:
    """Verify the API key of a user."""
    job = partial(verification.verify, text=rows.key(probe.number() // SESSIONS_EACH))
    with timed() as taken:
        assert await probe.services.unit_of_work.run(
            job, RequestFacts(probe.services.clock(), verifier="bench")
        )
    return taken[0]


async def _listed(probe: Asking, query: UserQuery, expected: int) -> float:
    facts = RequestFacts(probe.services.clock(), caller=await _administrator(probe))
    with timed() as taken:
        page = await probe.services.unit_of_work.run(partial(listing.list_users, query=query), facts)
    assert len(page.users) == expected
    return taken[0]


async def _administrator(probe: Asking) -> Caller:
    """Return a caller who may do everything."""
    caller = await probe.caller(probe.number())
    return Caller(caller.token, caller.session, caller.user._replace(role="admin"), by_cookie=False)
