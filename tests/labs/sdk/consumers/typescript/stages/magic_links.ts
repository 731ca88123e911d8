// Sign-in by links.

import assert from "node:assert/strict";
import { ADA, mail, nobody, ok, tokenIn } from "../client.js";

export async function stage(): Promise<void> {
  const mary = "mary@example.com";
  ok(await nobody.magicLinks.request({ body: { email: ADA } }));
  const token = tokenIn(await mail("magic-link", ADA));
  assert.equal(ok(await nobody.magicLinks.peek({ query: { token } })).newUser, false);
  ok(await nobody.magicLinks.verify({ query: { token } }));
  ok(await nobody.magicLinks.request({ body: { email: mary } }));
  ok(await nobody.magicLinks.confirm({ body: { token: tokenIn(await mail("magic-link", mary)) } }));
}
