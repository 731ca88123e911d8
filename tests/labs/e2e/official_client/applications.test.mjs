// The official client's plugin oauth-provider, on pages of one's own that an application sends its users to.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { beforeEach, test } from "node:test";
import { oauthProviderClient } from "@better-auth/oauth-provider/client";
import { BASE_PATH, newAddress, newClient, PASSWORD, ROOT, succeeded } from "./service.mjs";

const ISSUER = ROOT + (BASE_PATH === "/" ? "" : BASE_PATH);
const [CLIENT, SECRET] = ["shop", "s".repeat(40)];
const REDIRECT_URI = "https://shop.example/callback";
const VERIFIER = "v".repeat(43);
const CHALLENGE = createHash("sha256").update(VERIFIER).digest("base64url");

// What the plugin reads of a browser: the query of the page. The client writes there where it goes on.
const page = { search: "", href: "" };
globalThis.window = { location: page };

beforeEach(() => Object.assign(page, { search: "", href: "" }));

/** Return where the authorization endpoint redirects to, for the user of a client, or for nobody. */
async function redirected(address, client) {
  const session = client && succeeded(await client.getSession()).session;
  const headers = session ? { authorization: `Bearer ${session.token}` } : {};
  const answer = await fetch(address, { redirect: "manual", headers });
  assert.equal(answer.status, 302);
  return new URL(answer.headers.get("location"));
}

/** Send a user here as an application does, and open the page that this leads to. */
async function arrive(more = {}, client = undefined) {
  const query = new URLSearchParams({
    response_type: "code",
    client_id: CLIENT,
    redirect_uri: REDIRECT_URI,
    scope: "openid email",
    code_challenge: CHALLENGE,
    code_challenge_method: "S256",
    state: "state",
    ...more,
  });
  const opened = await redirected(`${ISSUER}/oauth2/authorize?${query}`, client);
  page.search = opened.search;
  return opened.pathname;
}

async function signedUp() {
  const user = newClient(oauthProviderClient());
  const email = newAddress();
  succeeded(await user.signUp.email({ name: "Ada", email, password: PASSWORD }));
  return { user, email };
}

async function redeem(code) {
  const body = new URLSearchParams({
    grant_type: "authorization_code",
    code,
    code_verifier: VERIFIER,
    client_id: CLIENT,
    client_secret: SECRET,
  });
  return (await fetch(`${ISSUER}/oauth2/token`, { method: "POST", body })).json();
}

test("a user signs up, consents, and goes back", async () => {
  const path = await arrive();
  assert.match(path, /\/sign-in$/);
  const user = newClient(oauthProviderClient());
  const shown = succeeded(await user.oauth2.publicClientPrelogin({ client_id: CLIENT }));
  assert.deepEqual([shown.client_id, shown.client_name, shown.redirect_uris], [CLIENT, "Shop", []]);

  const joined = succeeded(await user.signUp.email({ name: "Ada", email: newAddress(), password: PASSWORD }));
  assert.equal(joined.redirect, true);
  assert.equal(page.href, joined.url);
  const next = await redirected(joined.url, user);
  assert.match(next.pathname, /\/consent$/);

  page.search = next.search;
  assert.equal(succeeded(await user.oauth2.publicClient({ query: { client_id: CLIENT } })).client_name, "Shop");
  const consented = succeeded(await user.oauth2.consent({ accept: true }));
  const back = await redirected(consented.url, user);

  assert.equal(back.origin + back.pathname, REDIRECT_URI);
  assert.deepEqual([back.searchParams.get("state"), back.searchParams.get("iss")], ["state", ISSUER]);
  const tokens = await redeem(back.searchParams.get("code"));
  assert.deepEqual([tokens.token_type, tokens.scope], ["Bearer", "openid email"]);
});

test("a user signs in, and allows a part", async () => {
  const { email } = await signedUp();
  await arrive();
  const user = newClient(oauthProviderClient());
  const signedIn = succeeded(await user.signIn.email({ email, password: PASSWORD }));
  assert.equal(signedIn.redirect, true);

  page.search = (await redirected(signedIn.url, user)).search;
  const consented = succeeded(await user.oauth2.consent({ accept: true, scope: "openid" }));
  const back = await redirected(consented.url, user);
  assert.equal((await redeem(back.searchParams.get("code"))).scope, "openid");
});

test("a user selects the account", async () => {
  const { user } = await signedUp();
  await new Promise((later) => setTimeout(later, 20));
  assert.match(await arrive({ prompt: "select_account" }, user), /\/select-account$/);

  const selected = succeeded(await user.oauth2.continue({ selected: true }));
  assert.match((await redirected(selected.url, user)).pathname, /\/consent$/);
});

test("a user refuses", async () => {
  const { user } = await signedUp();
  await arrive({}, user);

  const refused = succeeded(await user.oauth2.consent({ accept: false }));
  assert.equal(new URL(refused.url).searchParams.get("error"), "access_denied");
  assert.equal((await user.oauth2.consent({ accept: true })).error.code, "REQUEST_NOT_FOUND");
});

test("a user has allowed it, and takes it back", async () => {
  const { user } = await signedUp();
  await arrive({}, user);
  succeeded(await user.oauth2.consent({ accept: true }));
  page.search = "";

  const [consent] = succeeded(await user.oauth2.getConsents());
  assert.deepEqual([consent.clientId, consent.scopes], [CLIENT, ["openid", "email"]]);
  succeeded(await user.oauth2.deleteConsent({ id: consent.id }));
  assert.deepEqual(succeeded(await user.oauth2.getConsents()), []);
});
