// Passkeys.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { ADA, ok, signedIn } from "../client.js";

export async function stage(): Promise<void> {
  const { sdk } = await signedIn();
  const created = authenticator("create", ok(await sdk.passkeys.beginRegistration()));
  const added = ok(await sdk.passkeys.finishRegistration({ body: { response: created as never, name: "Laptop" } }));
  const signed = authenticator("get", ok(await sdk.passkeys.beginSignIn()));
  const answer = ok(await sdk.passkeys.signIn({ body: { response: signed as never } }));
  assert.equal("user" in answer && answer.user?.email, ADA);
  ok(await sdk.passkeys.rename({ body: { id: added.id, name: "Phone" } }));
  assert.deepEqual(ok(await sdk.passkeys.listOwn()).map((one) => one.name), ["Phone"]);
  ok(await sdk.passkeys.remove({ body: { id: added.id } }));
}

/** Ask the authenticator, which is a program, for its response. */
function authenticator(ceremony: string, options: unknown): unknown {
  const [program = "", ...given] = (process.env.AUTHENTICATOR ?? "").split(" ");
  return JSON.parse(execFileSync(program, [...given, ceremony], { input: JSON.stringify(options), encoding: "utf8" }));
}
