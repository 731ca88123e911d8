// API keys.

import assert from "node:assert/strict";
import { holding, ok, refused, signedIn } from "../client.js";

export async function stage(): Promise<void> {
  const { sdk } = await signedIn();
  const verifier = holding(process.env.VERIFIER);
  const made = ok(await sdk.apiKeys.create({ body: { name: "ci" } }));
  assert.equal(ok(await sdk.apiKeys.get({ query: { id: made.id } })).start, made.start);
  assert.equal(ok(await sdk.apiKeys.listOwn({ query: { sortBy: "name" } })).total, 1);
  assert.equal(ok(await verifier.apiKeys.verify({ body: { key: made.key } })).key?.id, made.id);
  ok(await sdk.apiKeys.update({ body: { keyId: made.id, enabled: false } }));
  assert.equal(ok(await verifier.apiKeys.verify({ body: { key: made.key } })).error?.code, "KEY_DISABLED");
  ok(await sdk.apiKeys.delete({ body: { keyId: made.id } }));
  assert.equal(refused(await sdk.apiKeys.get({ query: { id: made.id } })), "KEY_NOT_FOUND");
}
