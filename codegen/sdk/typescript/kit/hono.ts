// The kit for Hono 4: each requirement is a middleware that comes before your handler.

import type { Context, MiddlewareHandler } from "hono";
import type { ApiKey } from "../index.js";
import {
  Authenticator,
  type AccessTokenRequirements,
  type ApiKeyRequirements,
  type AuthenticatorOptions,
  type CallerRequest,
  type Requirements,
  type SessionCaller,
} from "./authenticator.js";
import { withCookies } from "./cookies.js";
import { ApiError } from "./errors.js";
import { SignIn, type SignedIn, type SignInOptions, type SignInRequirements } from "./sign-in.js";
import type { AccessToken, TokenClaims } from "./tokens.js";
import { receiveWebhook as receive, type WebhookOptions } from "./webhooks.js";

export interface HonoOptions {
  /** Respond to a refused request. By default, the response is the error as JSON. */
  onError?: ((error: ApiError, c: Context) => Response | Promise<Response>) | undefined;
}

export interface HonoAuthOptions extends AuthenticatorOptions, HonoOptions {
  /** Return the IP address of the client, as `getConnInfo` of the adapter says it; for the limits of Gatewright. */
  clientAddress?: ((c: Context) => string | undefined) | undefined;
}

type Variables<Stored extends object> = MiddlewareHandler<{ Variables: Stored }>;

/** Create the middleware that authenticates requests. */
export function createAuth(options: HonoAuthOptions) {
  const authenticator = new Authenticator(options);
  const callerRequest = (c: Context): CallerRequest => ({
    headers: c.req.raw.headers,
    clientAddress: options.clientAddress?.(c),
  });

  return {
    authenticator,

    /** Set `session` and `user` if there is a session. */
    loadSession: (): Variables<Partial<Pick<SessionCaller, "session" | "user">>> => async (c, next) =>
      guard(options, c, next, async () => {
        const found = await authenticator.session(callerRequest(c));
        c.set("session", found?.session);
        c.set("user", found?.user);
        return found?.cookies;
      }),

    /** Require a session, by cookie or bearer token; set `session`, `user` and `organizationRoles`. */
    requireSession: (requirements: Requirements = {}): Variables<Omit<SessionCaller, "cookies">> => async (c, next) =>
      guard(options, c, next, async () => {
        const caller = await authenticator.requireSession(callerRequest(c), requirements);
        c.set("session", caller.session);
        c.set("user", caller.user);
        c.set("organizationRoles", caller.organizationRoles);
        return caller.cookies;
      }),

    /** Require a token that Gatewright signed; set its `claims`. */
    requireToken: (requirements: Requirements = {}): Variables<{ claims: TokenClaims }> => async (c, next) =>
      guard(options, c, next, async () => {
        c.set("claims", await authenticator.requireToken(callerRequest(c), requirements));
      }),

    /** Require the access token of an application; set it as `accessToken`. */
    requireAccessToken: (requirements: AccessTokenRequirements = {}): Variables<{ accessToken: AccessToken }> => async (c, next) =>
      guard(options, c, next, async () => {
        c.set("accessToken", await authenticator.requireAccessToken(callerRequest(c), requirements));
      }),

    /** Require an API key in the header `x-api-key`; set it as `apiKey`. */
    requireApiKey: (requirements: ApiKeyRequirements = {}): Variables<{ apiKey: ApiKey }> => async (c, next) =>
      guard(options, c, next, async () => {
        c.set("apiKey", await authenticator.requireApiKey(callerRequest(c), requirements));
      }),
  };
}

/** Create the middleware that signs users in through Gatewright as an OpenID provider. */
export function createSignIn(options: SignInOptions & HonoOptions) {
  const signIn = new SignIn(options);

  return {
    signIn,

    /** Handle the paths of the sign-in. */
    routes: (): MiddlewareHandler => async (c, next) => {
      let response: Response | undefined;
      const refused = await guard(options, c, async () => {}, async () => {
        response = await signIn.handle(c.req.raw);
      });
      return refused ?? response ?? next();
    },

    /** Set who is `signedIn`, if a user is signed in. */
    loadSignedIn: (): Variables<{ signedIn?: SignedIn | undefined }> => async (c, next) => {
      c.set("signedIn", await signIn.signedIn(c.req.raw));
      await next();
    },

    /** Require that the user is signed in; set who is `signedIn`. Requests for pages are redirected to the sign-in. */
    requireSignedIn: (requirements: SignInRequirements = {}): Variables<{ signedIn: SignedIn }> => async (c, next) => {
      const onError = (error: ApiError) => signIn.redirectFor(error, c.req.raw) ?? refuse(options, error, c);
      return guard({ onError }, c, next, async () => {
        c.set("signedIn", await signIn.requireSignedIn(c.req.raw, requirements));
      });
    },
  };
}

/** Create a handler for the webhooks of an endpoint. */
export function receiveWebhook(options: WebhookOptions): (c: Context) => Promise<Response> {
  return (c) => receive(c.req.raw, options);
}

/** Go on to the next handler unless `authenticate` throws. It returns cookies for the response. */
async function guard(
  options: HonoOptions,
  c: Context,
  next: () => Promise<void>,
  authenticate: () => Promise<readonly string[] | undefined | void>,
): Promise<Response | void> {
  let cookies: readonly string[] | undefined;
  try {
    cookies = (await authenticate()) ?? [];
  } catch (error) {
    if (error instanceof ApiError) return refuse(options, error, c);
    throw error;
  }
  await next();
  for (const cookie of cookies) c.header("Set-Cookie", cookie, { append: true });
}

async function refuse({ onError }: HonoOptions, error: ApiError, c: Context): Promise<Response> {
  return onError ? withCookies(await onError(error, c), error.cookies) : error.toResponse();
}
