// Verify tokens by jose, with nothing but the address of the keys.

import { createInterface } from "node:readline";
import { createRemoteJWKSet, jwtVerify } from "jose";

const { JWKS_URL, ISSUER, AUDIENCE } = process.env;
const keys = createRemoteJWKSet(new URL(JWKS_URL), { cooldownDuration: 0 });

for await (const line of createInterface({ input: process.stdin })) {
  try {
    const { payload } = await jwtVerify(line.trim(), keys, {
      issuer: ISSUER,
      audience: AUDIENCE,
      algorithms: ["ES256", "RS256", "EdDSA"],
      typ: "JWT",
      requiredClaims: ["exp", "sub"],
      clockTolerance: 60,
    });
    console.log("ok", payload.sub);
  } catch (error) {
    console.log("refused", error.code);
  }
}
