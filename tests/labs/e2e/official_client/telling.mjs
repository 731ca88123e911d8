// What servers tell the official client, recorded so that two of them can be compared.

import { newClient, PASSWORD } from "./service.mjs";

export const told = {};
/** Better Auth believes proxies only, and its keys have no prefix. */
const HIDDEN = { ipAddress: "<address>", start: "<start>" };
let users = 0;

/** Return an outcome as it can be compared: random and moving values by their kind. */
function shown(value) {
  if (value instanceof Date) return "<time>";
  if (Array.isArray(value)) return value.map(shown);
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.keys(value).sort().map((key) => [key, HIDDEN[key] ?? shown(value[key])]));
  }
  if (typeof value !== "string") return value;
  if (/^\d{4}-\d\d-\d\dT/.test(value)) return "<time>";
  if (value.startsWith("rvk_")) return "<handle>";
  return /^[A-Za-z0-9_-]{32,}$/.test(value) ? "<random>" : value.replace(/\d+@/, "@");
}

/** Record an outcome under a name; give the data. */
export async function tell(name, asked, pick = (data) => data) {
  const { data, error } = await asked;
  told[name] = error ? { status: error.status, code: error.code ?? null } : shown(pick(data));
  return data;
}

/** Sign up a user. */
export async function joined(name = "ada") {
  users += 1;
  const client = newClient();
  const credentials = { email: `${name}${users}@example.com`, password: PASSWORD };
  const { data } = await client.signUp.email({ name, ...credentials });
  return { client, credentials, id: data.user.id };
}

/** Sign in a user. */
export async function signedIn(credentials) {
  const client = newClient();
  await client.signIn.email(credentials);
  return client;
}
