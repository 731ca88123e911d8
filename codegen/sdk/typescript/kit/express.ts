// The kit for Express 5: each requirement is a handler that comes before yours.

import type { NextFunction, Request as ExpressRequest, Response as ExpressResponse } from "express";
import type { ApiKey, Session, User } from "../index.js";
import {
  Authenticator,
  type AccessTokenRequirements,
  type ApiKeyRequirements,
  type AuthenticatorOptions,
  type CallerRequest,
  type Requirements,
  type SessionCaller,
} from "./authenticator.js";
import { ApiError } from "./errors.js";
import { SignIn, type SignedIn, type SignInOptions, type SignInRequirements } from "./sign-in.js";
import type { AccessToken, TokenClaims } from "./tokens.js";
import { readText, verifyWebhook, type WebhookOptions } from "./webhooks.js";

/** Respond to a refused request. */
export type OnError = (error: ApiError, req: ExpressRequest, res: ExpressResponse, next: NextFunction) => void;

export interface ExpressOptions {
  /** By default, the response is the error as JSON. */
  onError?: OnError | undefined;
}

/** The types of responses whose `locals` have what a handler has stored there for the later ones. */
export type SessionResponse = ExpressResponse<unknown, Omit<SessionCaller, "cookies">>;
export type OptionalSessionResponse = ExpressResponse<unknown, { session?: Session; user?: User }>;
export type TokenResponse = ExpressResponse<unknown, { claims: TokenClaims }>;
export type AccessTokenResponse = ExpressResponse<unknown, { accessToken: AccessToken }>;
export type ApiKeyResponse = ExpressResponse<unknown, { apiKey: ApiKey }>;
export type SignedInResponse = ExpressResponse<unknown, { signedIn: SignedIn }>;
export type OptionalSignedInResponse = ExpressResponse<unknown, { signedIn?: SignedIn }>;

type Handler<Res extends ExpressResponse> = (req: ExpressRequest, res: Res, next: NextFunction) => Promise<void>;

/** Create the handlers that authenticate requests. */
export function createAuth(options: AuthenticatorOptions & ExpressOptions) {
  const authenticator = new Authenticator(options);

  function handler<Res extends ExpressResponse>(authenticate: (request: CallerRequest, res: Res) => Promise<void>): Handler<Res> {
    return refusing(options, (req, res) => authenticate({ headers: headersOf(req), clientAddress: req.ip }, res));
  }

  return {
    authenticator,

    /** Store `session` and `user` if there is a session. */
    loadSession: () =>
      handler<OptionalSessionResponse>(async (request, res) => {
        const found = await authenticator.session(request);
        pass(found?.cookies, res);
        if (found) Object.assign(res.locals, { session: found.session, user: found.user });
      }),

    /** Require a session, by cookie or bearer token; store `session`, `user` and `organizationRoles`. */
    requireSession: (requirements: Requirements = {}) =>
      handler<SessionResponse>(async (request, res) => {
        const { cookies, ...caller } = await authenticator.requireSession(request, requirements);
        pass(cookies, res);
        Object.assign(res.locals, caller);
      }),

    /** Require a token that Gatewright signed; store its `claims`. */
    requireToken: (requirements: Requirements = {}) =>
      handler<TokenResponse>(async (request, res) => {
        res.locals.claims = await authenticator.requireToken(request, requirements);
      }),

    /** Require the access token of an application; store it as `accessToken`. */
    requireAccessToken: (requirements: AccessTokenRequirements = {}) =>
      handler<AccessTokenResponse>(async (request, res) => {
        res.locals.accessToken = await authenticator.requireAccessToken(request, requirements);
      }),

    /** Require an API key in the header `x-api-key`; store it as `apiKey`. */
    requireApiKey: (requirements: ApiKeyRequirements = {}) =>
      handler<ApiKeyResponse>(async (request, res) => {
        res.locals.apiKey = await authenticator.requireApiKey(request, requirements);
      }),
  };
}

/** Create the handlers that sign users in through Gatewright as an OpenID provider. */
export function createSignIn(options: SignInOptions & ExpressOptions) {
  const signIn = new SignIn(options);
  const urlOf = (req: ExpressRequest) => new URL(req.originalUrl, options.appUrl).href;

  return {
    signIn,

    /** Handle the paths of the sign-in. */
    routes: () => async (req: ExpressRequest, res: ExpressResponse, next: NextFunction): Promise<void> => {
      try {
        const response = await signIn.handle(new Request(urlOf(req), { method: req.method, headers: headersOf(req) }));
        if (response) send(response, res);
        else next();
      } catch (error) {
        refuse(options, error, req, res, next);
      }
    },

    /** Store who is `signedIn`, if a user is signed in. */
    loadSignedIn: () =>
      refusing<OptionalSignedInResponse>(options, async (req, res) => {
        const signedIn = await signIn.signedIn({ headers: headersOf(req) });
        if (signedIn) res.locals.signedIn = signedIn;
      }),

    /** Require that the user is signed in; store who is `signedIn`. Requests for pages are redirected to the sign-in. */
    requireSignedIn: (requirements: SignInRequirements = {}): Handler<SignedInResponse> => {
      const check = async (req: ExpressRequest, res: SignedInResponse) => {
        res.locals.signedIn = await signIn.requireSignedIn({ headers: headersOf(req) }, requirements);
      };
      return async (req, res, next) => {
        try {
          await check(req, res);
        } catch (error) {
          const request = { headers: headersOf(req), method: req.method, url: urlOf(req) };
          const redirect = error instanceof ApiError ? signIn.redirectFor(error, request) : undefined;
          if (redirect) send(redirect, res);
          else refuse(options, error, req, res, next);
          return;
        }
        next();
      };
    },
  };
}

/** Create a handler for the webhooks of an endpoint. No body parser may come before it. */
export function receiveWebhook({ secret, onEvent }: WebhookOptions) {
  return async (req: ExpressRequest, res: ExpressResponse, next: NextFunction): Promise<void> => {
    try {
      const body = await readText(req);
      const event = verifyWebhook(secret, body, headersOf(req));
      await onEvent(event, { id: req.get("webhook-id") ?? "", body });
      res.status(204).end();
    } catch (error) {
      refuse({}, error, req, res, next);
    }
  };
}

/** Return a handler that goes on to the next one unless `authenticate` throws. */
function refusing<Res extends ExpressResponse>(
  options: ExpressOptions,
  authenticate: (req: ExpressRequest, res: Res) => Promise<void>,
): Handler<Res> {
  return async (req, res, next) => {
    try {
      await authenticate(req, res);
    } catch (error) {
      refuse(options, error, req, res, next);
      return;
    }
    next();
  };
}

function refuse(options: ExpressOptions, error: unknown, req: ExpressRequest, res: ExpressResponse, next: NextFunction): void {
  if (!(error instanceof ApiError)) {
    next(error);
    return;
  }
  pass(error.cookies, res);
  if (options.onError) options.onError(error, req, res, next);
  else res.status(error.status).set(error.headers()).json(error);
}

function headersOf(req: ExpressRequest): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(req.headers)) {
    if (typeof value === "string") headers.set(name, value);
  }
  return headers;
}

function pass(cookies: readonly string[] | undefined, res: ExpressResponse): void {
  for (const cookie of cookies ?? []) res.append("Set-Cookie", cookie);
}

function send(response: Response, res: ExpressResponse): void {
  res.status(response.status);
  pass(response.headers.getSetCookie(), res);
  for (const [name, value] of response.headers) if (name !== "set-cookie") res.set(name, value);
  res.end();
}
