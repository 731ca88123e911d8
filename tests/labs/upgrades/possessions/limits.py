"""Limits of wrong passwords."""

from tests.labs.upgrades.possessions import Story, possession
from tests.labs.upgrades.site import Site
from tests.service import PASSWORD

FAILURES = 3
"""Wrong passwords that one account may have, by a setting of the service."""


@possession(since="0004")
async def spent_failures(site: Site) -> Story:
    """Wrong passwords are counted by all processes together."""
    email = site.email("wrong")
    await site.join(email)
    for _ in range(FAILURES):
        assert not await site.opens(email, "a wrong password")
    site = yield
    answer = await site.request("POST", "/sign-in/email", json={"email": email, "password": PASSWORD})
    assert answer.status_code == 429
