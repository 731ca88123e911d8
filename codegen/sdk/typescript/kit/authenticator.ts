// The caller of a request, by session, token or API key, and what is required of them. Only the keys of tokens are cached.

import type { ApiKey, ApiKeyPermissions, Gatewright, Session, User } from "../index.js";
import { connect, type ConnectionOptions } from "./connection.js";
import { ApiError, unavailable, unwrap, type ApiErrorCode, type ErrorDetails } from "./errors.js";
import {
  requireScopes,
  tokenVerifiers,
  type AccessToken,
  type TokenClaims,
  type TokenOptions,
  type TokenVerifiers,
} from "./tokens.js";

export interface AuthenticatorOptions extends TokenOptions {
  /** The verifier token of this application, one of `api_keys.verifiers`; needed for API keys. */
  verifier?: string | undefined;
  /** How often a request to Gatewright is sent again that is safe to repeat; by default 2. */
  retries?: number | undefined;
}

/** What identifies the caller of a request. Other parts of the request are ignored. */
export interface CallerRequest {
  headers: Headers;
  /** The IP address of the client, for the limits of Gatewright, which must have this application in `trusted_proxies`. */
  clientAddress?: string | undefined;
}

export interface Requirements {
  /** The user must have one of these roles. */
  roles?: readonly string[] | undefined;
  /** The email address of the user must be verified. */
  verifiedEmail?: boolean | undefined;
  /** The user must have signed in within this many seconds. */
  maxAge?: number | undefined;
  /** An organization must be active in the session. */
  organization?: boolean | undefined;
  /** The user must have one of these roles in the active organization. */
  organizationRoles?: readonly string[] | undefined;
}

export interface ApiKeyRequirements {
  /** What the key must permit: actions by resource. */
  permissions?: ApiKeyPermissions | undefined;
  /** The kind of keys (`configId`); by default every kind. */
  kind?: string | undefined;
}

export interface AccessTokenRequirements {
  /** The token must have all of these scopes. */
  scopes?: readonly string[] | undefined;
}

export interface SessionCaller {
  session: Session;
  user: User;
  /** The roles in the active organization; empty unless `organization` or `organizationRoles` was required. */
  organizationRoles: readonly string[];
  /** `Set-Cookie` headers that the response must pass on. */
  cookies: readonly string[];
}

export interface LookupOptions {
  /** Do not extend the session, for a response that cannot pass on cookies. */
  disableRefresh?: boolean | undefined;
}

const BEARER: ErrorDetails = { challenge: "Bearer" };
const API_KEY: ErrorDetails = { challenge: "ApiKey" };
const LONGEST_KEY = 512; // characters
const LIMITED = new Set(["RATE_LIMITED", "USAGE_EXCEEDED"]);
/** The code for a caller who has left the organization since the session was read. */
const NO_MEMBER: ApiErrorCode = "YOU_ARE_NOT_A_MEMBER_OF_THIS_ORGANIZATION";

/** What sessions and tokens say about a user, in the same form. */
interface Facts {
  roles: string | undefined;
  verifiedEmail: boolean | undefined;
  /** Seconds since 1970. */
  signedInAt: number | undefined;
  organization: string | undefined;
}

/** Authenticates requests at one Gatewright. Every method throws an ApiError if it refuses. */
export class Authenticator {
  readonly #connection: ConnectionOptions;
  readonly #gatewright: Gatewright;
  readonly #verifier: Gatewright | undefined;
  readonly #tokens: TokenVerifiers;
  readonly #leeway: number;
  readonly #now: () => Date;

  constructor(options: AuthenticatorOptions) {
    const { url, verifier, timeout = 2000, retries, leeway = 60, now = () => new Date() } = options;
    this.#connection = { url, timeout: options.timeout, retries };
    const connection = { ...this.#connection, timeout };
    this.#gatewright = connect(connection);
    this.#verifier = verifier === undefined ? undefined : connect({ ...connection, token: verifier });
    this.#tokens = tokenVerifiers({ ...options, timeout, leeway, now });
    this.#leeway = leeway;
    this.#now = now;
  }

  /** Return a client whose calls Gatewright receives as those of the caller, with their cookie or bearer token. */
  client(request: CallerRequest): Gatewright {
    return connect({ ...this.#connection, headers: forwarded(request) });
  }

  /** Return the session that a cookie or a bearer token names; undefined if there is none. Throws 429, 503. */
  async session(request: CallerRequest, options: LookupOptions = {}): Promise<SessionCaller | undefined> {
    try {
      return await this.requireSession(request, {}, options);
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return undefined;
      throw error;
    }
  }

  /** Return the session that a cookie or a bearer token names. Throws 401, 403, 429, 503. */
  async requireSession(
    request: CallerRequest,
    requirements: Requirements = {},
    { disableRefresh }: LookupOptions = {},
  ): Promise<SessionCaller> {
    const query = disableRefresh ? { disableRefresh: true } : {};
    const { data, cookies } = await this.#ask((options) => this.#gatewright.sessions.getCurrent({ ...options, query }), request);
    // With `require_authentication = false`, Gatewright responds with null.
    if (data === null) throw new ApiError(401, "UNAUTHORIZED", "Please sign in", { ...BEARER, cookies });
    if (!data.user?.id) throw unavailable("The response is not one of Gatewright");
    const { session, user } = data;
    const facts = {
      roles: user.role,
      verifiedEmail: user.emailVerified,
      signedInAt: session.createdAt.getTime() / 1000,
      organization: session.activeOrganizationId,
    };
    this.#check(facts, requirements, cookies);
    const { organization, organizationRoles } = requirements;
    if (!organization && !organizationRoles) return { session, user, organizationRoles: [], cookies };
    const role = await this.#organizationRole(request, session.activeOrganizationId ?? "");
    requireOrganizationRole(role, organizationRoles, cookies);
    return { session, user, organizationRoles: role.split(","), cookies };
  }

  /** Return the claims of the bearer token, which Gatewright signed. Throws 401, 403, 503 without any keys. */
  async requireToken(request: CallerRequest, requirements: Requirements = {}): Promise<TokenClaims> {
    const claims = await this.#tokens.session(bearerOf(request));
    const facts = {
      roles: claims.role,
      verifiedEmail: claims.emailVerified,
      signedInAt: claims.auth_time,
      organization: claims.activeOrganizationId,
    };
    this.#check(facts, requirements);
    requireOrganizationRole(claims.organizationRole, requirements.organizationRoles);
    return claims;
  }

  /** Return the access token of an application, for the option `resource`. Throws 401, 403, 503 without any keys. */
  async requireAccessToken(request: CallerRequest, { scopes = [] }: AccessTokenRequirements = {}): Promise<AccessToken> {
    const token = await this.#tokens.access(bearerOf(request));
    requireScopes(token, scopes);
    return token;
  }

  /** Return the API key in the header `x-api-key`. Throws 401, 403, 429, 503. */
  async requireApiKey(request: CallerRequest, { permissions, kind }: ApiKeyRequirements = {}): Promise<ApiKey> {
    if (this.#verifier === undefined) throw new Error("The option `verifier` is needed to verify API keys.");
    const key = request.headers.get("x-api-key");
    if (key === null || key === "" || key.length > LONGEST_KEY) {
      throw new ApiError(401, "INVALID_API_KEY", "Send an API key in the header x-api-key", API_KEY);
    }
    const body = { key, ...(permissions ? { permissions } : {}), ...(kind ? { configId: kind } : {}) };
    const { valid, error, key: found } = await available(unwrap(this.#verifier.apiKeys.verify({ body })));
    if (valid && found) return found;
    if (!error) throw unavailable("The response is not one of Gatewright");
    if (LIMITED.has(error.code)) {
      const wait = error.details && Math.max(1, Math.ceil(Number(error.details.tryAgainIn) / 1000));
      throw new ApiError(429, error.code, error.message, wait === undefined ? {} : { retryAfter: wait });
    }
    const status = error.code === "KEY_PERMISSIONS_INSUFFICIENT" ? 403 : 401;
    throw new ApiError(status, error.code, error.message, API_KEY);
  }

  /** Send a request with what identifies the caller; return the data and the cookies of the response. */
  async #ask<Data>(
    send: (options: { headers: Record<string, string> }) => Promise<{ data?: Data; error?: unknown; response: Response }>,
    request: CallerRequest,
  ): Promise<{ data: Data; cookies: readonly string[] }> {
    let cookies: readonly string[] = [];
    const sending = send({ headers: forwarded(request) }).then((result) => {
      cookies = result.response?.headers.getSetCookie() ?? [];
      return result;
    });
    return { data: await forCaller(unwrap(sending)), cookies };
  }

  #check(facts: Facts, requirements: Requirements, cookies: readonly string[] = []): void {
    const { roles, verifiedEmail, maxAge, organization, organizationRoles } = requirements;
    const refuse = (code: ApiErrorCode, message: string) => new ApiError(403, code, message, { cookies });
    if (roles && !hasOneOf(facts.roles, roles)) throw refuse("ROLE_REQUIRED", "You do not have the required role");
    if (verifiedEmail && facts.verifiedEmail !== true) {
      throw refuse("EMAIL_NOT_VERIFIED", "Please verify your email address first");
    }
    const age = this.#now().getTime() / 1000 - (facts.signedInAt ?? 0);
    if (maxAge !== undefined && age > maxAge + this.#leeway) throw refuse("SESSION_NOT_FRESH", "Please sign in again first");
    if ((organization || organizationRoles) && facts.organization === undefined) {
      throw refuse("NO_ACTIVE_ORGANIZATION", "Choose an organization first");
    }
  }

  /** Return the role in an organization, by id: another one may have become active since the session was read. */
  async #organizationRole(request: CallerRequest, organizationId: string): Promise<string> {
    const query = { organizationId };
    const { data } = await this.#ask(
      (options) => this.#gatewright.organizations.getActiveMemberRole({ ...options, query }),
      request,
    );
    return data.role;
  }
}

function bearerOf(request: CallerRequest): string {
  const [, token] = /^bearer +(\S+)$/i.exec(request.headers.get("Authorization") ?? "") ?? [];
  if (token === undefined) throw new ApiError(401, "UNAUTHORIZED", "Please sign in", BEARER);
  return token;
}

function hasOneOf(held: string | undefined, roles: readonly string[]): boolean {
  return (held ?? "").split(",").some((role) => roles.includes(role));
}

function requireOrganizationRole(
  held: string | undefined,
  roles: readonly string[] | undefined,
  cookies: readonly string[] = [],
): void {
  if (roles === undefined || hasOneOf(held, roles)) return;
  throw new ApiError(403, "ORGANIZATION_ROLE_REQUIRED", "You do not have the required role in this organization", { cookies });
}

/** Return the headers that identify the caller. */
function forwarded({ headers, clientAddress }: CallerRequest): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of ["authorization", "cookie"]) {
    const value = headers.get(name);
    if (value !== null) found[name] = value;
  }
  if (clientAddress !== undefined) found["x-forwarded-for"] = clientAddress;
  return found;
}

/** Throw refusals that concern the caller as they are, and 503 for everything else that is not a success. */
async function forCaller<Data>(call: Promise<Data>): Promise<Data> {
  try {
    return await call;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { requestId, retryAfter, cookies, fields } = error;
    const details = { requestId, retryAfter, cookies, fields, cause: error };
    if (error.status === 401) throw new ApiError(401, error.code, "Please sign in", { ...details, ...BEARER });
    if (error.status === 429) throw error;
    if (error.code === NO_MEMBER) throw new ApiError(403, "ORGANIZATION_ROLE_REQUIRED", "You do not have the required role in this organization", details);
    throw notSuccess(error);
  }
}

/** Throw 503 for everything that is not a success. */
async function available<Data>(call: Promise<Data>): Promise<Data> {
  try {
    return await call;
  } catch (error) {
    throw error instanceof ApiError ? notSuccess(error) : error;
  }
}

function notSuccess(error: ApiError): ApiError {
  if (error.code === "SERVICE_UNAVAILABLE") return error;
  const { requestId, retryAfter = 5 } = error;
  return unavailable("Gatewright cannot check this request", { requestId, retryAfter, cause: error });
}
