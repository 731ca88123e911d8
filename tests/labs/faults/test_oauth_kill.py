"""Processes of the OAuth provider are killed between a redemption and its response: row O26."""

import asyncio
import itertools
import json
import random
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass

import asyncpg
import httpx
import pytest

from tests.contract.client import BASIC, CLIENT_SECRET
from tests.labs.faults.asking import until
from tests.labs.faults.places import DEADLINE, IS_LONG, LONG, Place
from tests.labs.faults.test_kill import LATEST, new_random
from tests.live import LiveService
from tests.oauth import REDIRECT_URI
from tests.oauth_codes import error
from tests.oauth_flow import CHALLENGE, VERIFIER, handle_of, query_of, uri_of
from tests.service import PASSWORD

KILLS = 50 if IS_LONG else 1
AT_ONCE = 6
"""Codes, and as many refresh tokens, at the moment of a kill."""

CLIENT = {
    "client_name": "Shop",
    "redirect_uris": [REDIRECT_URI],
    "grant_types": ["authorization_code", "refresh_token"],
    "scope": "openid offline_access",
    "id_token_signed_response_alg": "ES256",
    "secret": CLIENT_SECRET,
}
SETTINGS = {
    "oauth.clients": json.dumps({"shop": CLIENT}),
    # A new process takes seconds to start.
    "oauth.code_expires_in": "10m",
    "oauth.refresh_reuse_grace": "60s",
}

HALVES = {
    "a used code without its grant": "SELECT client_id FROM oauth_code WHERE used_at IS NOT NULL AND grant_id IS NULL",
    "a grant without tokens": "SELECT id FROM oauth_grant"
    " WHERE id NOT IN (SELECT grant_id FROM oauth_token WHERE grant_id IS NOT NULL)",
    "a grant without a code that was used": "SELECT id FROM oauth_grant"
    " WHERE id NOT IN (SELECT grant_id FROM oauth_code WHERE used_at IS NOT NULL AND grant_id IS NOT NULL)",
    "a grant without just one refresh token that can be used": "SELECT grant_id FROM oauth_token"
    " WHERE kind = 'refresh' GROUP BY grant_id HAVING sum(CASE WHEN rotated_at IS NULL THEN 1 ELSE 0 END) <> 1",
    "a rotated token without its successor": "SELECT grant_id FROM oauth_token WHERE rotated_at IS NOT NULL"
    " AND token NOT IN (SELECT predecessor FROM oauth_token WHERE predecessor IS NOT NULL)",
    "a successor of a token that was not rotated": "SELECT grant_id FROM oauth_token WHERE predecessor IS NOT NULL"
    " AND predecessor NOT IN (SELECT token FROM oauth_token WHERE rotated_at IS NOT NULL)",
}
"""What must not be found in the tables at any time, and the statement that would find it."""


@dataclass
class Redemption:
    """A code, or a refresh token, and the response to its redemption, if there was one."""

    parameters: dict[str, str]
    answer: httpx.Response | None = None

    async def send(self, client: httpx.AsyncClient) -> httpx.Response:
        """Redeem it. Raises httpx.TransportError when the process is gone."""
        return await client.post("/oauth2/token", data=self.parameters, headers={"authorization": BASIC})

    async def act(self, client: httpx.AsyncClient) -> None:
        """Redeem it; nothing is known of it when there is no response."""
        try:
            self.answer = await self.send(client)
        except httpx.TransportError:
            return
        assert self.answer.status_code == 200, self.answer.text


def refresh_of(answer: httpx.Response) -> Redemption:
    """Return the redemption of the refresh token of a response."""
    return Redemption({"grant_type": "refresh_token", "refresh_token": answer.json()["refresh_token"]})


def client_of(live: LiveService) -> httpx.AsyncClient:
    """Return a client of a process."""
    return httpx.AsyncClient(base_url=live.url, timeout=DEADLINE)


async def code_of(client: httpx.AsyncClient, session: str) -> Redemption:
    """Return the redemption of a new code."""
    sent = {
        "response_type": "code",
        "client_id": "shop",
        "redirect_uri": REDIRECT_URI,
        "scope": "openid offline_access",
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
    }
    headers = {"authorization": f"Bearer {session}"}
    answer = await client.get("/oauth2/authorize", params=sent, headers=headers)
    if "request" in query_of(answer):
        handle = handle_of(answer)
        body = {"accept": True, "oauth_query": f"request={handle}"}
        await client.post("/oauth2/consent", json=body, headers=headers)
        stored = {"client_id": "shop", "request_uri": uri_of(handle)}
        answer = await client.get("/oauth2/authorize", params=stored, headers=headers)
    code = query_of(answer)["code"]
    return Redemption({"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER})


async def prepare(client: httpx.AsyncClient) -> list[Redemption]:
    """Return codes and refresh tokens of a new user, none of them used."""
    email = f"{random.getrandbits(64):x}@example.com"
    joined = await client.post("/sign-up/email", json={"name": "Ada", "email": email, "password": PASSWORD})
    client.cookies.clear()
    codes = [await code_of(client, joined.json()["token"]) for _ in range(AT_ONCE * 2)]
    redeemed = [await one.send(client) for one in codes[AT_ONCE:]]
    return [*codes[:AT_ONCE], *map(refresh_of, redeemed)]


async def check(client: httpx.AsyncClient, one: Redemption) -> None:
    """Check that a code was used or not, and that a refresh token leads to its successor."""
    if "code" in one.parameters:
        # A code that was answered is not sent again: after ten seconds that is a replay, which revokes its grant.
        answer = one.answer or await one.send(client)
        # Without an answer, its tokens may have gone with the response.
        assert error(answer) in ("200", "400 invalid_grant")
        if answer.status_code == 200:
            assert error(await refresh_of(answer).send(client)) == "200"
        return
    again = await one.send(client)
    assert error(again) == "200"
    if one.answer is not None:
        assert again.content == one.answer.content
    assert error(await refresh_of(again).send(client)) == "200"


async def halves(place: Place) -> list[str]:
    """Return what the tables hold half of."""
    found = {what: await place.rows(statement) for what, statement in HALVES.items()}
    return [f"{what}: {rows}" for what, rows in found.items() if rows]


async def kill_among(live: LiveService, redemptions: Sequence[Redemption], chance: random.Random) -> None:
    """Send all redemptions at once, and kill the process when some have a response."""
    async with client_of(live) as client:
        sent = [asyncio.create_task(one.act(client)) for one in redemptions]
        for done in itertools.islice(asyncio.as_completed(sent), chance.randrange(len(sent))):
            await done
        await asyncio.sleep(chance.uniform(0, LATEST))
        live.process.kill()
        await asyncio.gather(*sent)
    await asyncio.to_thread(live.process.wait)


@pytest.mark.threat("O26")
@pytest.mark.parametrize("dialect", ["sqlite", pytest.param("postgresql", marks=LONG)])
async def test_a_killed_process_leaves_no_half_of_a_redemption(place: Place) -> None:
    chance, redemptions = new_random(), list[Redemption]()
    for number in range(KILLS + 1):
        with place.serving(SETTINGS) as live:
            assert await halves(place) == []
            async with client_of(live) as client:
                for one in redemptions:
                    await check(client, one)
                assert await halves(place) == []
                redemptions = await prepare(client)
            chance.shuffle(redemptions)
            if number < KILLS:
                await kill_among(live, redemptions, chance)
    assert await halves(place) == []


@pytest.mark.threat("O26")
@pytest.mark.parametrize("dialect", ["postgresql"])
async def test_a_process_killed_while_it_stores_tokens_leaves_all_or_nothing(place: Place) -> None:
    """A statement that waits for a lock goes on when its process is gone: the database may still store all of it."""
    holder = await asyncpg.connect(place.url)
    with place.serving(SETTINGS) as live:
        async with client_of(live) as client:
            redemptions = await prepare(client)
            taken = [redemptions[0], redemptions[-1]]
            await holder.execute("BEGIN")
            await holder.execute("LOCK TABLE oauth_token IN SHARE MODE")
            acting: Awaitable[object] = asyncio.gather(*(one.act(client) for one in taken))
            waiting = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'oauth_token'::regclass"

            async def are_waiting() -> bool:
                return len(await holder.fetch(waiting)) == len(taken)

            await until(are_waiting)
            live.process.kill()
            await acting
        await asyncio.to_thread(live.process.wait)
    await holder.close()

    with place.serving(SETTINGS) as live:
        async with client_of(live) as client:
            assert await halves(place) == []
            for one in taken:
                await check(client, one)
            assert await halves(place) == []
