// The metadata of the OAuth provider, which clients configure themselves by.

import assert from "node:assert/strict";
import { nobody, ok } from "../client.js";

export async function stage(): Promise<void> {
  for (const metadata of [ok(await nobody.discovery.openid()), ok(await nobody.discovery.oauth())]) {
    assert.equal(metadata.token_endpoint, `${metadata.issuer}/oauth2/token`);
    assert.deepEqual(metadata.code_challenge_methods_supported, ["S256"]);
  }
}
