"""Flows of the OAuth provider that go from instance to instance, while keys are rotated: row O26."""

from collections.abc import Iterator
from itertools import cycle
from typing import Any

import pytest
from joserfc import jws
from joserfc.jwk import KeySet

from domain.oauth_clients.metadata import DEVICE_CODE
from tests.handlers import device_steps
from tests.handlers.people import add_person
from tests.handlers.steps import join, works
from tests.oauth import OAuthTestClient, add_client
from tests.oauth_codes import API, EVERYTHING, SETTINGS, error, redeem, refresh
from tests.oauth_flow import (
    VERIFIER,
    arrive_by_uri,
    consent,
    error_of,
    handle_of,
    is_at_client,
    parameters_of,
    push,
    query_of,
    uri_of,
)
from tests.oauth_tokens import is_active
from tests.security.conftest import OpenInstance
from tests.service import Service

pytestmark = pytest.mark.threat("O26")

SAME = {**SETTINGS, "secrets": "s" * 32}
RETURN = "https://shop.example/signed-out"


@pytest.fixture
async def instances(open_instance: OpenInstance) -> list[Service]:
    """Two instances on one database."""
    return [await open_instance(SAME), await open_instance(SAME)]


@pytest.fixture
def turns(instances: list[Service]) -> Iterator[Service]:
    """The instances in turn, for each step of a flow the other one."""
    return cycle(instances)


@pytest.fixture
async def shop(instances: list[Service]) -> OAuthTestClient:
    """A client that may do everything."""
    types = [*EVERYTHING["grant_types"], DEVICE_CODE]
    return await add_client(
        instances[0], **{**EVERYTHING, "grant_types": types, "post_logout_redirect_uris": [RETURN]}
    )


async def user_info(service: Service, token: str) -> int:
    """Return the status of the response to an access token."""
    headers = {"authorization": f"Bearer {token}"}
    return (await service.client.get("/oauth2/userinfo", headers=headers)).status_code


async def key_of(service: Service, token: str) -> str:
    """Return the key id of a token that the keys of an instance verify."""
    keys = KeySet.import_key_set((await service.get("/jwks")).json())
    return str(jws.deserialize_compact(token, keys, algorithms=["ES256"]).protected["kid"])


async def sign_in_by(
    turns: Iterator[Service], shop: OAuthTestClient, ada: dict[str, str], **more: Any
) -> Any:
    """Go from a pushed request to tokens; return them."""
    scope = "openid email read offline_access"
    pushed = await push(next(turns), shop, scope=scope, resource=API, **more)
    arrived = await arrive_by_uri(next(turns), shop, pushed.json()["request_uri"], ada)
    handle = handle_of(arrived)
    described = await next(turns).get("/oauth2/request", params={"request": handle})
    assert described.json()["scopes"]
    assert (await consent(next(turns), handle, ada)).status_code == 200
    code = query_of(await arrive_by_uri(next(turns), shop, uri_of(handle), ada))["code"]
    answer = await redeem(next(turns), shop, code, verifier=VERIFIER, resource=API)
    assert error(await redeem(next(turns), shop, code, verifier=VERIFIER)) == "400 invalid_grant"
    return answer.json()


class TestInstances:
    async def test_each_step_may_be_on_another(
        self, instances: list[Service], turns: Iterator[Service], shop: OAuthTestClient
    ) -> None:
        ada = await join(instances[0])
        tokens = await sign_in_by(turns, shop, ada)

        assert [await is_active(next(turns), shop, tokens["access_token"]) for _ in instances] == [True] * 2
        assert len({await key_of(next(turns), tokens["id_token"]) for _ in instances}) == 1
        narrow = (await refresh(next(turns), shop, tokens["refresh_token"], scope="read")).json()
        repeated = (await refresh(next(turns), shop, tokens["refresh_token"], scope="read")).json()
        assert narrow == repeated
        assert await user_info(next(turns), narrow["access_token"]) == 401
        last = await refresh(next(turns), shop, narrow["refresh_token"], resource=API)
        assert error(last) == "200"
        sent = {"token": last.json()["refresh_token"], **shop.form}
        assert (await next(turns).client.post("/oauth2/revoke", data=sent)).status_code == 200
        assert not any([await is_active(next(turns), shop, tokens["access_token"]) for _ in instances])

    async def test_a_device_is_approved_and_polls_elsewhere(
        self, instances: list[Service], turns: Iterator[Service], shop: OAuthTestClient
    ) -> None:
        ada = await join(instances[0])
        started = await device_steps.start(next(turns), shop)
        pending = error(await device_steps.redeem(next(turns), shop, started["device_code"]))
        await device_steps.approve(next(turns), started["user_code"], ada)
        for instance in instances:
            instance.clock.advance(seconds=30)

        redeemed = await device_steps.redeem(next(turns), shop, started["device_code"])

        assert (pending, error(redeemed)) == ("400 authorization_pending", "200")
        assert [await user_info(next(turns), redeemed.json()["access_token"]) for _ in instances] == [200] * 2

    async def test_what_ends_on_one_has_ended_on_the_other(
        self, instances: list[Service], turns: Iterator[Service], shop: OAuthTestClient
    ) -> None:
        ada = await join(instances[0])
        tokens = await sign_in_by(turns, shop, ada)
        consents = (await next(turns).get("/oauth2/get-consents", headers=ada)).json()

        await next(turns).post("/oauth2/delete-consent", {"id": consents[0]["id"]}, headers=ada)

        assert not any([await is_active(next(turns), shop, tokens["access_token"]) for _ in instances])
        refused = [error(await refresh(next(turns), shop, tokens["refresh_token"])) for _ in instances]
        assert refused == ["400 invalid_grant"] * 2


class TestRotation:
    async def test_a_flow_goes_on_with_another_key(
        self, instances: list[Service], turns: Iterator[Service], shop: OAuthTestClient
    ) -> None:
        ada = await join(instances[0])
        admin = await add_person(instances[0], "admin")
        before = await sign_in_by(turns, shop, ada)
        for instance in instances:
            instance.clock.advance(minutes=1)
        body = {"algorithm": "ES256", "now": True}
        rotated = await instances[0].post("/admin/rotate-signing-key", body, headers=admin.headers)
        assert rotated.status_code == 200, rotated.text

        # Issued by the new key, on the instance that has it; the other one finds it when it meets it.
        after = (await refresh(instances[0], shop, before["refresh_token"], resource=API)).json()
        kept = [before["access_token"], after["access_token"]]
        assert [await is_active(instances[1], shop, token) for token in kept] == [True, True]
        for instance in instances:
            old, new = [await key_of(instance, tokens["id_token"]) for tokens in (before, after)]
            assert old != new

        # The old ID token still says who is meant, silently and at the end.
        hinted = parameters_of(shop, prompt="none", id_token_hint=before["id_token"])
        silent = await instances[1].client.get("/oauth2/authorize", params=hinted, headers=ada)
        assert (is_at_client(silent), error_of(silent)) == (True, None)
        hint = {"id_token_hint": before["id_token"], "post_logout_redirect_uri": RETURN}
        left = await instances[0].get("/oauth2/end-session", params=hint, headers=ada)
        assert left.headers["location"] == RETURN
        assert not await works(instances[1], ada)
