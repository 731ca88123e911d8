"""Signed tokens, API keys and impersonation."""

import json

from joserfc import jws
from joserfc.jwk import import_key

from tests.labs.upgrades.possessions import Story, possession
from tests.labs.upgrades.site import Site
from tests.settings.api_keys import VERIFIER


@possession(since="0005")
async def signed_token(site: Site) -> Story:
    """A signed token is verified by the published keys, and the next one is signed by the same key."""
    session = await site.join(site.email("signed"))
    token = (await site.get("/token", session))["token"]
    site = yield
    keys = {key["kid"]: key for key in (await site.get("/jwks"))["keys"]}
    key_id = jws.extract_compact(token.encode()).headers()["kid"]
    payload = jws.deserialize_compact(token, import_key(keys[key_id]), algorithms=["ES256"]).payload
    assert json.loads(payload)["sub"] == (await site.user(session))["id"]
    newer = (await site.get("/token", session))["token"]
    assert jws.extract_compact(newer.encode()).headers()["kid"] == key_id


@possession(since="0007")
async def api_key(site: Site) -> Story:
    """An API key is accepted as its user and by services that verify keys, until it is deleted."""
    email = site.email("key")
    session = await site.join(email)
    created = await site.post("/api-key/create", session, name="ci", prefix="ci_")
    site = yield
    found = await site.request("GET", "/get-session", headers={"x-api-key": created["key"]})
    assert found.json()["user"]["email"] == email
    verified = await site.post("/api-key/verify", VERIFIER, key=created["key"])
    assert verified["valid"] is True
    listed = await site.get("/api-key/list", session)
    keys = listed if isinstance(listed, list) else listed["apiKeys"]
    assert [(key["id"], key["name"]) for key in keys] == [(created["id"], "ci")]
    await site.post("/api-key/delete", session, keyId=created["id"])
    verified = await site.request("POST", "/api-key/verify", VERIFIER, json={"key": created["key"]})
    assert verified.json().get("valid") is False


@possession(since="0008")
async def impersonation(site: Site) -> Story:
    """A session in the name of a user ends when the administrator wants it to."""
    root = await site.administrator()
    email = site.email("impersonated")
    user = await site.user(await site.join(email))
    acting = (await site.post("/admin/impersonate-user", root, userId=user["id"]))["session"]["token"]
    site = yield
    assert (await site.user(acting))["email"] == email
    await site.post("/admin/stop-impersonating", acting)
    assert not await site.is_live(acting)
