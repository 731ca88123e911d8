// Verify session tokens and access tokens with the published keys of Gatewright, without a request per token.

import { createRemoteJWKSet, customFetch, errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey, type JWTVerifyOptions } from "jose";
import { patientFetch } from "./connection.js";
import { ApiError, unavailable } from "./errors.js";

export interface TokenOptions {
  /** The URL of Gatewright with its base path, such as `https://auth.example.com`. */
  url: string;
  /** The `iss` of tokens, by default `url`. */
  issuer?: string | undefined;
  /** The `aud` of tokens: one of `jwt.audiences`, by default the issuer. */
  audience?: string | undefined;
  /** The URI of this API among `oauth.resources`, of the format `jwt`: the `aud` of access tokens. */
  resource?: string | undefined;
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

/** The claims of an access token (RFC 9068). */
export interface AccessTokenClaims extends JWTPayload {
  sub: string;
  client_id: string;
  exp: number;
  scope?: string;
  auth_time?: number;
  acr?: string;
  amr?: string[];
}

/** A valid access token: which application may do what, and for which user. */
export interface AccessToken {
  /** The application that sends the token. */
  clientId: string;
  /** The user that the application acts for; undefined if it acts for itself. */
  userId: string | undefined;
  /** What the application may do. What the user may do is for the API to decide. */
  scopes: readonly string[];
  claims: AccessTokenClaims;
}

export interface TokenVerifiers {
  /** Return the claims of a session token. */
  session(token: string): Promise<TokenClaims>;
  /** Return an access token for `resource`. */
  access(token: string): Promise<AccessToken>;
}

const ALGORITHMS = ["ES256", "RS256", "EdDSA"];
const LONGEST = 8192; // characters
/** Codes of jose for a key document that cannot be fetched or is none. */
const NO_KEYS = new Set(["ERR_JWKS_TIMEOUT", "ERR_JWKS_INVALID", "ERR_JOSE_GENERIC"]);

/** Return functions that verify tokens, or throw 401 `INVALID_TOKEN`, or 503 without any keys. */
export function tokenVerifiers(options: TokenOptions): TokenVerifiers {
  const { url, issuer = url, audience = issuer, resource, leeway = 60, now = () => new Date() } = options;
  const keys = publishedKeys(options);
  const verify = <Claims>(token: string, expected: { audience: string; typ: string; requiredClaims: string[] }) =>
    verified<Claims>(token, keys, {
      ...expected,
      issuer,
      algorithms: ALGORITHMS,
      clockTolerance: leeway,
      currentDate: now(),
    });
  return {
    // The same keys sign session tokens, ID tokens, access tokens and logout tokens.
    session: (token) => verify(token, { audience, typ: "JWT", requiredClaims: ["exp", "sub"] }),
    async access(token) {
      if (resource === undefined) throw new Error("The option `resource` is needed to verify access tokens.");
      const requiredClaims = ["exp", "sub", "client_id"];
      return accessToken(await verify<AccessTokenClaims>(token, { audience: resource, typ: "at+jwt", requiredClaims }));
    },
  };
}

async function verified<Claims>(token: string, keys: JWTVerifyGetKey, expected: JWTVerifyOptions): Promise<JWTPayload & Claims> {
  if (token.length > LONGEST) throw invalidToken();
  try {
    return (await jwtVerify<Claims>(token, keys, expected)).payload;
  } catch (cause) {
    if (!(cause instanceof errors.JOSEError) || NO_KEYS.has(cause.code)) {
      throw unavailable("The keys of Gatewright cannot be fetched", { cause });
    }
    throw invalidToken(cause);
  }
}

function accessToken(claims: AccessTokenClaims): AccessToken {
  const { sub, client_id: clientId, scope = "" } = claims;
  if (![sub, clientId, scope].every((value) => typeof value === "string")) throw invalidToken();
  return { clientId, userId: sub === clientId ? undefined : sub, scopes: scope.split(" ").filter(Boolean), claims };
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

/** Throw 403 unless a token has all of these scopes. */
export function requireScopes(token: AccessToken, scopes: readonly string[]): void {
  if (scopes.every((scope) => token.scopes.includes(scope))) return;
  const needed = scopes.join(" ");
  throw new ApiError(403, "INSUFFICIENT_SCOPE", `The token needs the scope ${needed}`, {
    challenge: `Bearer error="insufficient_scope", scope="${needed}"`,
  });
}
