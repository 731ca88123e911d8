// Verify the tokens of `/token` with the published keys of Gatewright, without a request per token.

import { createRemoteJWKSet, customFetch, errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from "jose";
import { patientFetch } from "./connection.js";
import { ApiError, unavailable } from "./errors.js";

export interface TokenOptions {
  /** The URL of Gatewright with its base path, such as `https://auth.example.com`. */
  url: string;
  /** The `iss` of tokens, by default `url`. */
  issuer?: string | undefined;
  /** The `aud` of tokens: one of `jwt.audiences`, by default the issuer. */
  audience?: string | undefined;
  /** Milliseconds that fetching the keys may take; by default 2000. */
  timeout?: number | undefined;
  /** Seconds by which clocks may differ; by default 60. */
  leeway?: number | undefined;
  /** Seconds after which the keys are fetched again; by default 300. */
  keysRefreshAfter?: number | undefined;
  /** Seconds for which keys are used that cannot be fetched again; by default 3600. */
  keysExpireAfter?: number | undefined;
  /** Seconds between two fetches because of an unknown key; by default 60. */
  keysSearchInterval?: number | undefined;
  /** Return the current time. */
  now?: (() => Date) | undefined;
}

/** The claims of a session token. `jwt.claims` decides which facts about the user it has. */
export interface TokenClaims extends JWTPayload {
  sub: string;
  exp: number;
  sid?: string;
  auth_time?: number;
  amr?: string[];
  act?: { sub: string };
  email?: string;
  emailVerified?: boolean;
  name?: string;
  role?: string;
  activeOrganizationId?: string;
  organizationRole?: string;
  activeTeamId?: string;
}

const ALGORITHMS = ["ES256", "RS256", "EdDSA"];
const LONGEST = 8192; // characters
/** Codes of jose for a key document that cannot be fetched or is none. */
const NO_KEYS = new Set(["ERR_JWKS_TIMEOUT", "ERR_JWKS_INVALID", "ERR_JOSE_GENERIC"]);

/** Return a function that returns the claims of a token, or throws 401 `INVALID_TOKEN`, or 503 without any keys. */
export function tokenVerifier(options: TokenOptions): (token: string) => Promise<TokenClaims> {
  const { url, issuer = url, audience = issuer, leeway = 60, now = () => new Date() } = options;
  const keys = publishedKeys(options);
  return async (token) => {
    if (token.length > LONGEST) throw invalidToken();
    try {
      const { payload } = await jwtVerify<TokenClaims>(token, keys, {
        issuer,
        audience,
        algorithms: ALGORITHMS,
        typ: "JWT", // The same keys sign ID tokens, access tokens and logout tokens.
        requiredClaims: ["exp", "sub"],
        clockTolerance: leeway,
        currentDate: now(),
      });
      return payload;
    } catch (cause) {
      if (!(cause instanceof errors.JOSEError) || NO_KEYS.has(cause.code)) {
        throw unavailable("The keys of Gatewright cannot be fetched", { cause });
      }
      throw invalidToken(cause);
    }
  };
}

/**
 * Return a function that finds keys by `kid`. It fetches the document every `keysRefreshAfter` seconds, and goes on with the
 * keys it has if that fails, for `keysExpireAfter` seconds.
 */
function publishedKeys(options: TokenOptions): JWTVerifyGetKey {
  const { timeout = 2000, keysRefreshAfter = 300, keysExpireAfter = 3600, keysSearchInterval = 60 } = options;
  const keys = createRemoteJWKSet(new URL(`${options.url}/.well-known/jwks.json`), {
    timeoutDuration: timeout,
    cacheMaxAge: keysExpireAfter * 1000,
    cooldownDuration: keysSearchInterval * 1000,
    [customFetch]: patientFetch({ timeout }),
  });
  let attempted = 0; // monotonic milliseconds
  return (header, token) => {
    if (performance.now() - attempted >= keysRefreshAfter * 1000) {
      attempted = performance.now();
      // Without usable keys, the call below fetches them itself.
      if (keys.fresh) void keys.reload().catch(() => undefined);
    }
    return keys(header, token);
  };
}

export function invalidToken(cause?: unknown): ApiError {
  return new ApiError(401, "INVALID_TOKEN", "Please sign in", {
    challenge: 'Bearer error="invalid_token"',
    cause,
  });
}
