// The service under test as this suite sees it: where it is, how the session travels, and the mails it has sent.

import { readFile } from "node:fs/promises";
import { apiKeyClient } from "@better-auth/api-key/client";
import { createAuthClient } from "better-auth/client";
import {
  adminClient,
  deviceAuthorizationClient,
  emailOTPClient,
  jwtClient,
  magicLinkClient,
  organizationClient,
  twoFactorClient,
  usernameClient,
} from "better-auth/client/plugins";
import { TOTP, URI } from "otpauth";

export const ROOT = process.env.SERVICE_ROOT;
export const BASE_PATH = process.env.SERVICE_BASE_PATH || "/";
export const CARRIED_BY = process.env.CARRIED_BY;
export const PASSWORD = "correct horse battery";
export const ADMINISTRATOR = process.env.ADMIN_EMAIL;
export const TEAMS = process.env.TEAMS === "on";
const MAIL_FILE = process.env.MAIL_FILE;
const PROVIDER = process.env.PROVIDER_ISSUER;
const TIMEOUT = 10_000;

let users = 0;
const memories = new WeakMap();

/** Give an address nobody has signed up with yet. */
export function newAddress() {
  users += 1;
  return `user${process.pid}x${users}@example.com`;
}

/** Give a client as the official documentation sets it up, with a browser's memory for cookies or a stored token. */
export function newClient(...more) {
  const memory = CARRIED_BY === "cookie" ? cookieMemory() : bearerMemory();
  const client = createAuthClient({
    baseURL: ROOT,
    basePath: BASE_PATH,
    plugins: [
      twoFactorClient(),
      usernameClient(),
      adminClient(),
      jwtClient(),
      apiKeyClient(),
      magicLinkClient(),
      emailOTPClient(),
      deviceAuthorizationClient(),
      organizationClient(TEAMS ? { teams: { enabled: true } } : {}),
      ...more,
    ],
    fetchOptions: memory.fetchOptions,
  });
  memories.set(client, memory);
  return client;
}

/** Put a token where a client in bearer mode keeps the one it sends; a client in cookie mode needs none. */
export function holdToken(client, token) {
  if (CARRIED_BY === "bearer") memories.get(client).token = token;
}

// What the official documentation shows for bearer tokens; the browser's part of cookies that are not the session's
// (trusted device, state of a flow) is absent there.
function bearerMemory() {
  const memory = { token: "" };
  memory.fetchOptions = {
    auth: { type: "Bearer", token: () => memory.token },
    // Better Auth's server wants one to sign in; ours does not.
    headers: process.env.ORIGIN ? { origin: process.env.ORIGIN } : {},
    onSuccess: (context) => {
      memory.token = context.response.headers.get("set-auth-token") ?? memory.token;
    },
  };
  return memory;
}

// Node's fetch keeps no cookies, so that part of a browser is played here: one host, no expiry but deletion.
function cookieMemory() {
  const cookies = new Map();
  const memory = { cookies };
  memory.fetchOptions = {
    customFetchImpl: async (address, init = {}) => {
      const headers = new Headers(init.headers);
      headers.set("cookie", [...cookies].map(([name, value]) => `${name}=${value}`).join("; "));
      headers.set("origin", new URL(ROOT).origin);
      const answer = await fetch(address, { ...init, headers, redirect: "manual" });
      keep(cookies, answer.headers.getSetCookie());
      return answer;
    },
  };
  return memory;
}

function keep(cookies, lines) {
  for (const line of lines) {
    const [pair, ...attributes] = line.split("; ");
    const name = pair.slice(0, pair.indexOf("="));
    if (attributes.includes("Max-Age=0")) cookies.delete(name);
    else cookies.set(name, pair.slice(name.length + 1));
  }
}

/** Wait for a mail by its template and recipient, the newest; `number` says how many there must be by then. */
export async function mail(template, to, number = 1) {
  const end = Date.now() + TIMEOUT;
  while (Date.now() < end) {
    // What follows the last newline is still being written.
    const lines = (await readFile(MAIL_FILE, "utf8").catch(() => "")).split("\n").slice(0, -1).filter(Boolean);
    const found = lines.map((line) => JSON.parse(line)).filter((each) => each.template === template && each.to === to);
    if (found.length >= number) return found.at(-1);
    await new Promise((resume) => setTimeout(resume, 50));
  }
  throw new Error(`no mail ${template} to ${to}`);
}

/**
 * Keep a hook of a client mounted, as a component that shows it does. `until` waits for a value that is not pending, and
 * fails with the last one.
 */
export function mounted(hook) {
  let value;
  let look = () => {};
  const stop = hook.subscribe((current) => {
    value = current;
    look();
  });
  const until = (is) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`the hook stays at ${JSON.stringify(value)}`)), TIMEOUT);
      look = () => {
        if (value.isPending || value.isRefetching || !is(value)) return;
        clearTimeout(timer);
        look = () => {};
        resolve(value.data);
      };
      look();
    });
  return { until, stop };
}

/** Give the token that a mailed link carries, in its path or its query. */
export function tokenIn(link) {
  const address = new URL(link);
  return address.searchParams.get("token") ?? address.pathname.split("/").at(-1);
}

/** Give the code an authenticator app shows for an address `otpauth://…`, `steps` of 30 seconds from now. */
export function codeOf(uri, steps = 0) {
  const totp = URI.parse(uri);
  if (!(totp instanceof TOTP)) throw new Error("not a TOTP address");
  return totp.generate({ timestamp: Date.now() + steps * 30_000 });
}

/** Give the data of an answer that must be a success. */
export function succeeded({ data, error }) {
  if (error) throw new Error(`${error.status} ${error.code} ${error.message}`);
  return data;
}

/** Tell the provider who is there, so that it asks nobody. */
export async function atProvider(user) {
  await control("/control", { user });
}

/** Give an ID token of the provider, as an application gets one by itself. */
export async function idTokenOf(claims) {
  return (await control("/control/mint", { claims })).id_token;
}

async function control(path, body) {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(PROVIDER + path, { method: "POST", headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

/**
 * Go to the provider's page and back to the service, as a browser with this client's cookies does; give where it ends.
 * The service listens on a port that its public address does not name.
 */
export async function visit(client, page) {
  const back = new URL((await fetch(page, { redirect: "manual" })).headers.get("location"));
  const answer = await memories.get(client).fetchOptions.customFetchImpl(ROOT + back.pathname + back.search);
  return answer.headers.get("location");
}
