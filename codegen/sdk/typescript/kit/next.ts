// The kit for the App Router of Next.js 15 and 16: middleware, server components and route handlers.

import { headers } from "next/headers.js";
import { connection, NextResponse } from "next/server.js";
import type { ApiKey, Gatewright } from "../index.js";
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

export interface NextOptions {
  /** Respond to a request that middleware or a route handler refuses. By default, the response is the error as JSON. */
  onError?: ((error: ApiError, request: Request) => Response | Promise<Response>) | undefined;
}

export interface NextAuthOptions extends AuthenticatorOptions, NextOptions {
  /** Return the IP address of the client, from a header that your proxy sets; for the limits of Gatewright. */
  clientAddress?: ((headers: Headers) => string | undefined) | undefined;
}

/** A route handler that also gets the caller. */
export type CallerHandler<Caller, RouteContext> = (
  request: Request,
  caller: Caller,
  context: RouteContext,
) => Response | Promise<Response>;

type RouteHandler<RouteContext> = (request: Request, context: RouteContext) => Promise<Response>;

/** Create the functions that authenticate requests. */
export function createAuth(options: NextAuthOptions) {
  const authenticator = new Authenticator(options);
  const callerRequest = (found: Headers): CallerRequest => ({
    headers: found,
    clientAddress: options.clientAddress?.(found),
  });
  // A server component cannot set cookies, so it leaves it to the middleware to extend the session.
  const inComponent = { disableRefresh: true };

  return {
    authenticator,

    /** Return the session in a server component, or undefined. */
    session: async (): Promise<SessionCaller | undefined> =>
      authenticator.session(callerRequest(await received()), inComponent),

    /** Return the session in a server component, or throw an ApiError. */
    requireSession: async (requirements: Requirements = {}): Promise<SessionCaller> =>
      authenticator.requireSession(callerRequest(await received()), requirements, inComponent),

    /** Return a client whose calls Gatewright receives as those of the user, in a server component or a server action. */
    client: async (): Promise<Gatewright> => authenticator.client(callerRequest(await received())),

    /** Return middleware that requires a session, by cookie or bearer token, and extends it. */
    middleware: (requirements: Requirements = {}) => (request: Request): Promise<Response> =>
      respond(options.onError, request, async () => {
        const { cookies } = await authenticator.requireSession(callerRequest(request.headers), requirements);
        return withCookies(NextResponse.next(), cookies);
      }),

    /** Return a route handler that requires a session, by cookie or bearer token. */
    withSession:
      <RouteContext>(requirements: Requirements, handler: CallerHandler<SessionCaller, RouteContext>): RouteHandler<RouteContext> =>
      (request, context) =>
        respond(options.onError, request, async () => {
          const caller = await authenticator.requireSession(callerRequest(request.headers), requirements);
          return withCookies(await handler(request, caller, context), caller.cookies);
        }),

    /** Return a route handler that requires a token which Gatewright signed. */
    withToken:
      <RouteContext>(requirements: Requirements, handler: CallerHandler<TokenClaims, RouteContext>): RouteHandler<RouteContext> =>
      (request, context) =>
        respond(options.onError, request, async () =>
          handler(request, await authenticator.requireToken(callerRequest(request.headers), requirements), context),
        ),

    /** Return a route handler that requires the access token of an application. */
    withAccessToken:
      <RouteContext>(requirements: AccessTokenRequirements, handler: CallerHandler<AccessToken, RouteContext>): RouteHandler<RouteContext> =>
      (request, context) =>
        respond(options.onError, request, async () =>
          handler(request, await authenticator.requireAccessToken(callerRequest(request.headers), requirements), context),
        ),

    /** Return a route handler that requires an API key in the header `x-api-key`. */
    withApiKey:
      <RouteContext>(requirements: ApiKeyRequirements, handler: CallerHandler<ApiKey, RouteContext>): RouteHandler<RouteContext> =>
      (request, context) =>
        respond(options.onError, request, async () =>
          handler(request, await authenticator.requireApiKey(callerRequest(request.headers), requirements), context),
        ),
  };
}

/** Create the functions that sign users in through Gatewright as an OpenID provider. */
export function createSignIn(options: SignInOptions & NextOptions) {
  const signIn = new SignIn(options);

  return {
    signIn,

    /** The route handler of each path of the sign-in, for GET and POST. */
    route: (request: Request): Promise<Response> =>
      respond(options.onError, request, async () => (await signIn.handle(request)) ?? new Response(null, { status: 404 })),

    /** Return who is signed in, in a server component; undefined if no user is. */
    signedIn: async (): Promise<SignedIn | undefined> => signIn.signedIn({ headers: await received() }),

    /** Return a route handler that requires that the user is signed in. Requests for pages are redirected to the sign-in. */
    withSignedIn:
      <RouteContext>(requirements: SignInRequirements, handler: CallerHandler<SignedIn, RouteContext>): RouteHandler<RouteContext> =>
      (request, context) =>
        respond(redirecting, request, async () =>
          handler(request, await signIn.requireSignedIn(request, requirements), context),
        ),

    /** Return middleware that requires that the user is signed in. Requests for pages are redirected to the sign-in. */
    middleware: (requirements: SignInRequirements = {}) => (request: Request): Promise<Response> =>
      respond(redirecting, request, async () => {
        await signIn.requireSignedIn(request, requirements);
        return NextResponse.next();
      }),
  };

  function redirecting(error: ApiError, request: Request): Response | Promise<Response> {
    return signIn.redirectFor(error, request) ?? (options.onError ? options.onError(error, request) : error.toResponse());
  }
}

/** Create a route handler for the webhooks of an endpoint. */
export function receiveWebhook(options: WebhookOptions): (request: Request) => Promise<Response> {
  return (request) => receive(request, options);
}

/** Return the headers of the request. With Cache Components, `headers` alone is not enough to read the time or call Gatewright. */
async function received(): Promise<Headers> {
  await connection();
  return headers();
}

/** Return a response, or that of the ApiError that is thrown instead. */
async function respond(
  onError: NextOptions["onError"],
  request: Request,
  send: () => Promise<Response>,
): Promise<Response> {
  try {
    return await send();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return onError ? withCookies(await onError(error, request), error.cookies) : error.toResponse();
  }
}
