// Sign-in through Gatewright as an OpenID provider: authorization code with PKCE, and a session in an encrypted cookie.

import { EncryptJWT, jwtDecrypt, type JWTPayload } from "jose";
import * as oidc from "openid-client";
import { patientFetch } from "./connection.js";
import { ApiError, unavailable } from "./errors.js";

export interface SignInOptions {
  /** The URL of Gatewright with its base path, such as `https://auth.example.com`. */
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** The origin of the application, such as `https://shop.example.com`. */
  appUrl: string;
  /** A random text of at least 32 characters. It encrypts the cookies; a new one signs all users out. */
  secret: string;
  /** By default `openid profile email`. */
  scope?: string | undefined;
  /** By default `/sign-in`, `/callback` and `/sign-out`. */
  paths?: Partial<SignInPaths> | undefined;
  /** Seconds that the session in the application lasts; by default 8 hours. */
  sessionMaxAge?: number | undefined;
  /** Milliseconds that a request to Gatewright may take; by default 5000. */
  timeout?: number | undefined;
  /** Seconds by which clocks may differ; by default 60. */
  leeway?: number | undefined;
}

export interface SignInPaths {
  /** GET redirects to Gatewright, and later to the path in `returnTo`. With `fresh`, the user must sign in again. */
  signIn: string;
  /** `redirect_uri` of the client is `appUrl` with this path. */
  callback: string;
  /** POST ends the session here and at Gatewright. `post_logout_redirect_uri` is `appUrl` with `/`. */
  signOut: string;
}

/** What the ID token says about the user. */
export interface SignedIn {
  user: { id: string; name: string | undefined; email: string | undefined; emailVerified: boolean };
  /** When the user signed in at Gatewright, in seconds since 1970. */
  authTime: number | undefined;
  idToken: string;
}

export interface SignInRequirements {
  /** The email address of the user must be verified. */
  verifiedEmail?: boolean | undefined;
  /** The user must have signed in within this many seconds. */
  maxAge?: number | undefined;
}

interface Attempt {
  state: string;
  nonce: string;
  verifier: string;
  returnTo: string;
}

const ATTEMPT = "gatewright-sign-in";
const SESSION = "gatewright-session";
const ATTEMPT_MAX_AGE = 600; // seconds
const SHORTEST_SECRET = 32; // characters
/** Codes of openid-client for a provider that does not respond, or not as one. */
const AWAY = new Set(["OAUTH_TIMEOUT", "OAUTH_RESPONSE_IS_NOT_CONFORM", "OAUTH_RESPONSE_IS_NOT_JSON", "OAUTH_PARSE_ERROR"]);

/** Signs users in to one application. */
export class SignIn {
  readonly #options: SignInOptions;
  readonly #paths: SignInPaths;
  readonly #scope: string;
  readonly #maxAge: number;
  readonly #leeway: number;
  readonly #secure: boolean;
  readonly #key: Promise<Uint8Array>;
  #provider: Promise<oidc.Configuration> | undefined;

  constructor(options: SignInOptions) {
    if (options.secret.length < SHORTEST_SECRET) throw new Error("The option `secret` has fewer than 32 characters.");
    this.#options = { ...options, appUrl: new URL(options.appUrl).origin };
    this.#paths = { signIn: "/sign-in", callback: "/callback", signOut: "/sign-out", ...options.paths };
    this.#scope = options.scope ?? "openid profile email";
    this.#maxAge = options.sessionMaxAge ?? 8 * 60 * 60;
    this.#leeway = options.leeway ?? 60;
    this.#secure = options.appUrl.startsWith("https:");
    this.#key = digest(options.secret);
  }

  /** Respond to a request for one of the three paths; return undefined for another. Throws 400, 405 and 503. */
  async handle(request: Request): Promise<Response | undefined> {
    const { pathname } = new URL(request.url);
    const { signIn, callback, signOut } = this.#paths;
    if (pathname !== signIn && pathname !== callback && pathname !== signOut) return undefined;
    if (request.method !== (pathname === signOut ? "POST" : "GET")) {
      throw new ApiError(405, "METHOD_NOT_ALLOWED", "Method not allowed");
    }
    if (pathname === signIn) return this.#begin(request);
    return pathname === callback ? this.#finish(request) : this.#end(request);
  }

  /** Return who is signed in, or undefined. */
  async signedIn(request: { headers: Headers }): Promise<SignedIn | undefined> {
    const session = await this.#read<{ idToken: string } & SignedIn>(request, SESSION);
    if (session === undefined) return undefined;
    const { user, authTime, idToken } = session;
    return { user, authTime, idToken };
  }

  /** Return who is signed in. Throws 401 and 403. */
  async requireSignedIn(request: { headers: Headers }, requirements: SignInRequirements = {}): Promise<SignedIn> {
    const signedIn = await this.signedIn(request);
    if (signedIn === undefined) throw new ApiError(401, "UNAUTHORIZED", "Please sign in", { challenge: "Cookie" });
    const { verifiedEmail, maxAge } = requirements;
    if (verifiedEmail && !signedIn.user.emailVerified) {
      throw new ApiError(403, "EMAIL_NOT_VERIFIED", "Please verify your email address first");
    }
    if (maxAge !== undefined && Date.now() / 1000 - (signedIn.authTime ?? 0) > maxAge + this.#leeway) {
      throw new ApiError(403, "SESSION_NOT_FRESH", "Please sign in again first");
    }
    return signedIn;
  }

  /**
   * Return a redirect to the sign-in for an error of `requireSignedIn`, with the URL to return to; undefined for other
   * errors, and if the request is not for a page.
   */
  redirectFor(error: ApiError, request: { headers: Headers; method: string; url: string }): Response | undefined {
    const stale = error.code === "SESSION_NOT_FRESH";
    const page = request.method === "GET" && (request.headers.get("Accept") ?? "").includes("text/html");
    if (!page || !(stale || error.code === "UNAUTHORIZED")) return undefined;
    const { pathname, search } = new URL(request.url);
    const query = new URLSearchParams({ returnTo: pathname + search, ...(stale ? { fresh: "true" } : {}) });
    return redirect(302, `${this.#paths.signIn}?${query}`);
  }

  async #begin(request: Request): Promise<Response> {
    const query = new URL(request.url).searchParams;
    const verifier = oidc.randomPKCECodeVerifier();
    const attempt: Attempt = {
      state: oidc.randomState(),
      nonce: oidc.randomNonce(),
      verifier,
      returnTo: this.#pathOf(query.get("returnTo")),
    };
    const url = oidc.buildAuthorizationUrl(await this.#discover(), {
      redirect_uri: this.#options.appUrl + this.#paths.callback,
      scope: this.#scope,
      state: attempt.state,
      nonce: attempt.nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      ...(query.has("fresh") ? { prompt: "login" } : {}),
    });
    return redirect(302, url.href, await this.#cookie(ATTEMPT, { ...attempt }, ATTEMPT_MAX_AGE));
  }

  async #finish(request: Request): Promise<Response> {
    const attempt = await this.#read<Attempt>(request, ATTEMPT);
    if (attempt === undefined) throw notSignedIn("this browser has not begun to sign in");
    const { pathname, search } = new URL(request.url);
    const provider = await this.#discover();
    let tokens;
    try {
      // Checks state, issuer and nonce, and the claims of the ID token.
      tokens = await oidc.authorizationCodeGrant(provider, new URL(this.#options.appUrl + pathname + search), {
        expectedState: attempt.state,
        expectedNonce: attempt.nonce,
        pkceCodeVerifier: attempt.verifier,
      });
    } catch (cause) {
      throw refusal(cause);
    }
    const claims = tokens.claims();
    if (claims === undefined || tokens.id_token === undefined) throw notSignedIn("there is no ID token");
    const { sub, name, email, email_verified, auth_time } = claims;
    const user = { id: sub, name, email, emailVerified: email_verified === true };
    const session = { user, authTime: auth_time, idToken: tokens.id_token };
    return redirect(303, attempt.returnTo, this.#cleared(ATTEMPT), await this.#cookie(SESSION, session, this.#maxAge));
  }

  async #end(request: Request): Promise<Response> {
    const session = await this.signedIn(request);
    const home = `${this.#options.appUrl}/`;
    // While Gatewright is unavailable, at least the session of the application ends.
    const provider = session && (await this.#discover().catch(() => undefined));
    const url =
      session && provider
        ? oidc.buildEndSessionUrl(provider, { id_token_hint: session.idToken, post_logout_redirect_uri: home }).href
        : home;
    return redirect(303, url, this.#cleared(SESSION));
  }

  /** Return the configuration of Gatewright, which is fetched once. */
  #discover(): Promise<oidc.Configuration> {
    this.#provider ??= this.#fetchConfiguration().catch((cause: unknown) => {
      this.#provider = undefined;
      throw refusal(cause);
    });
    return this.#provider;
  }

  async #fetchConfiguration(): Promise<oidc.Configuration> {
    const { issuer, clientId, clientSecret, timeout = 5000 } = this.#options;
    const metadata = { client_secret: clientSecret, [oidc.clockTolerance]: this.#leeway };
    const provider = await oidc.discovery(new URL(issuer), clientId, metadata, undefined, {
      execute: issuer.startsWith("http:") ? [oidc.allowInsecureRequests] : [],
      timeout: timeout / 1000,
      [oidc.customFetch]: patientFetch({ timeout }) as oidc.CustomFetch,
    });
    return provider;
  }

  /** Return a path of the application to redirect to; `/` for a URL elsewhere. */
  #pathOf(returnTo: string | null): string {
    if (returnTo === null || !URL.canParse(returnTo, this.#options.appUrl)) return "/";
    const { origin, pathname, search } = new URL(returnTo, this.#options.appUrl);
    // A path such as `//elsewhere.example` would be a URL of another origin.
    return origin === this.#options.appUrl && !pathname.startsWith("//") ? pathname + search : "/";
  }

  #nameOf(cookie: string): string {
    return this.#secure ? `__Host-${cookie}` : cookie;
  }

  async #cookie(name: string, content: JWTPayload, maxAge: number): Promise<string> {
    const value = await new EncryptJWT(content)
      .setProtectedHeader({ alg: "dir", enc: "A256GCM" })
      .setAudience(name)
      .setExpirationTime(Math.floor(Date.now() / 1000) + maxAge)
      .encrypt(await this.#key);
    return this.#setCookie(name, value, maxAge);
  }

  #cleared(name: string): string {
    return this.#setCookie(name, "", 0);
  }

  #setCookie(name: string, value: string, maxAge: number): string {
    return `${this.#nameOf(name)}=${value}; Max-Age=${maxAge}; Path=/; HttpOnly; SameSite=Lax${this.#secure ? "; Secure" : ""}`;
  }

  async #read<Content>({ headers }: { headers: Headers }, name: string): Promise<Content | undefined> {
    const prefix = `${this.#nameOf(name)}=`;
    const cookie = (headers.get("Cookie") ?? "").split(/; */).find((one) => one.startsWith(prefix));
    if (cookie === undefined) return undefined;
    const checks = { audience: name, keyManagementAlgorithms: ["dir"], contentEncryptionAlgorithms: ["A256GCM"] };
    try {
      return (await jwtDecrypt<Content>(cookie.slice(prefix.length), await this.#key, checks)).payload;
    } catch {
      return undefined; // expired, of another secret, or no cookie of this kit
    }
  }
}

async function digest(secret: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(secret)));
}

function redirect(status: number, location: string, ...cookies: string[]): Response {
  const response = new Response(null, { status, headers: { Location: location, "Cache-Control": "no-store" } });
  for (const cookie of cookies) response.headers.append("Set-Cookie", cookie);
  return response;
}

function notSignedIn(reason: string, cause?: unknown): ApiError {
  return new ApiError(400, "AUTHENTICATION_FAILED", `Not signed in: ${reason}`, { cause });
}

/** Return the error for one of openid-client: 400 with the reason, or 503 if Gatewright does not respond. */
function refusal(cause: unknown): ApiError {
  if (!(cause instanceof Error)) return notSignedIn("the sign-in failed", cause);
  const code = "code" in cause ? String(cause.code) : "";
  if (cause instanceof TypeError || AWAY.has(code)) return unavailable("Gatewright does not respond", { cause });
  const reason = "error" in cause ? String(cause.error) : cause.message;
  return notSignedIn(reason, cause);
}
