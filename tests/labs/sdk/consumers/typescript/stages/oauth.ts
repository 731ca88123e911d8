// An authorization request on pages of one's own, the consent to it, and a logout that the client asks for.
// What the client itself does is not in the SDK: it redirects the browser to the service.

import assert from "node:assert/strict";
import type { Gatewright } from "gatewright-client";
import { ROOT, administrator, nobody, ok, refused, signedIn } from "../client.js";

const CALLBACK = "https://shop.example/callback";
const SIGNED_OUT = "https://shop.example/signed-out";

interface User {
  sdk: Gatewright;
  token: string;
}

export async function stage(): Promise<void> {
  const admin = await administrator();
  const ada = await signedIn();
  const body = { client_name: "Shop", redirect_uris: [CALLBACK], post_logout_redirect_uris: [SIGNED_OUT] };
  const { client_id } = ok(await admin.oauthClients.create({ body }));
  await authorize(ada, client_id);
  await lookAfterConsents(ada, client_id);
  await logOut(ada, client_id);
  assert.equal(ok(await admin.oauthClients.remove({ body: { client_id } })).success, true);
}

// Go from the request of a client to its code.
async function authorize(ada: User, client_id: string): Promise<void> {
  const asked = new URLSearchParams({
    response_type: "code",
    client_id,
    redirect_uri: CALLBACK,
    scope: "openid email",
    code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    code_challenge_method: "S256",
    state: "the-state",
    prompt: "select_account",
  });
  let page = await visit(ada, `/oauth2/authorize?${asked}`);
  let oauth_query = page.search.slice(1);
  const known = ok(await nobody.oauthClients.readPublicBeforeLogin({ body: { client_id, oauth_query } }));
  assert.equal(known.client_name, "Shop");
  const details = ok(await ada.sdk.oauth.readRequest({ query: { request: handleIn(page) } }));
  assert.deepEqual(details.scopes.map((scope) => scope.name), ["openid", "email"]);
  page = await visit(ada, ok(await ada.sdk.oauth.continue({ body: { oauth_query, selected: true } })).url);
  oauth_query = page.search.slice(1);
  const done = await visit(ada, ok(await ada.sdk.oauth.consent({ body: { oauth_query, accept: true } })).url);
  assert.equal(`${done.origin}${done.pathname}`, CALLBACK);
  assert.ok(done.searchParams.get("code"));
}

// Reduce what the client was allowed, and take it back.
async function lookAfterConsents({ sdk }: User, client_id: string): Promise<void> {
  const [given, ...others] = ok(await sdk.oauthConsents.list());
  assert.ok(given);
  assert.equal(others.length, 0);
  assert.deepEqual([given.clientId, given.scopes], [client_id, ["openid", "email"]]);
  const { id } = given;
  assert.deepEqual(ok(await sdk.oauthConsents.read({ query: { id } })), given);
  const update = { scopes: ["openid"] };
  assert.deepEqual(ok(await sdk.oauthConsents.narrow({ body: { id, update } })).scopes, ["openid"]);
  assert.equal(ok(await sdk.oauthConsents.revoke({ body: { id } })).success, true);
  assert.equal(refused(await sdk.oauthConsents.read({ query: { id } })), "CONSENT_NOT_FOUND");
}

// Accept to be signed out.
async function logOut(ada: User, client_id: string): Promise<void> {
  const asked = new URLSearchParams({ client_id, post_logout_redirect_uri: SIGNED_OUT });
  const request = handleIn(await visit(ada, `/oauth2/end-session?${asked}`));
  assert.equal(ok(await ada.sdk.oauth.confirmEndSession({ body: { request, accept: true } })).url, SIGNED_OUT);
  assert.equal(refused(await ada.sdk.sessions.getCurrent()), "UNAUTHORIZED");
}

// Open a URL of the service in the session of a user; give where it redirects to.
// The service is at a free port, which its own URLs do not name.
async function visit({ token }: User, url: string): Promise<URL> {
  const { pathname, search } = new URL(url, ROOT);
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${ROOT}${pathname}${search}`, { headers, redirect: "manual" });
  assert.equal(answer.status, 302);
  return new URL(answer.headers.get("location") ?? "");
}

// Give the handle of the request that a page is about.
function handleIn(page: URL): string {
  return page.searchParams.get("request") ?? "";
}
