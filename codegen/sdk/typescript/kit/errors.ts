// Errors of Gatewright, and of the kit itself: one class, with everything that the response says.

import type { ApiKeyRefusal, Error as ErrorBody, ErrorCode, InvalidField } from "../index.js";

/** The codes of Gatewright, and those of this kit. */
export type ApiErrorCode =
  | ErrorCode
  | ApiKeyRefusal["code"]
  | "ROLE_REQUIRED"
  | "ORGANIZATION_ROLE_REQUIRED"
  | "INSUFFICIENT_SCOPE";

/** Seconds after which a request is worth repeating if Gatewright did not respond. */
const UNAVAILABLE_FOR = 5;

export interface ErrorDetails {
  /** The fields that are missing or malformed. */
  fields?: readonly InvalidField[] | undefined;
  /** The identifier of the request in the log of Gatewright. */
  requestId?: string | undefined;
  /** Seconds to wait before repeating the request. */
  retryAfter?: number | undefined;
  /** The value of `WWW-Authenticate`. */
  challenge?: string | undefined;
  /** `Set-Cookie` headers of Gatewright, which clear the cookie of an ended session. */
  cookies?: readonly string[] | undefined;
  cause?: unknown;
}

/** An error response of Gatewright, a refusal of this kit, or no usable response (`SERVICE_UNAVAILABLE`). */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly fields: readonly InvalidField[];
  readonly requestId: string | undefined;
  readonly retryAfter: number | undefined;
  readonly challenge: string | undefined;
  readonly cookies: readonly string[];

  constructor(
    readonly status: number,
    readonly code: ApiErrorCode,
    message: string,
    details: ErrorDetails = {},
  ) {
    super(message, { cause: details.cause });
    this.fields = details.fields ?? [];
    this.requestId = details.requestId;
    this.retryAfter = details.retryAfter;
    this.challenge = details.challenge;
    this.cookies = details.cookies ?? [];
  }

  /** Return the headers of a response with this error, other than its cookies. */
  headers(): Record<string, string> {
    return {
      "Cache-Control": "no-store",
      ...(this.challenge === undefined ? {} : { "WWW-Authenticate": this.challenge }),
      ...(this.retryAfter === undefined ? {} : { "Retry-After": String(this.retryAfter) }),
    };
  }

  /** Return the body of a response with this error. */
  toJSON(): { message: string; code: ApiErrorCode } {
    return { message: this.message, code: this.code };
  }

  /** Return a response with this error. */
  toResponse(): Response {
    const response = Response.json(this, { status: this.status, headers: this.headers() });
    for (const cookie of this.cookies) response.headers.append("Set-Cookie", cookie);
    return response;
  }
}

/** Return the error of a service that did not respond, or not as Gatewright does. */
export function unavailable(message: string, details: ErrorDetails = {}): ApiError {
  return new ApiError(503, "SERVICE_UNAVAILABLE", message, { retryAfter: UNAVAILABLE_FOR, ...details });
}

/** The result of a method of the generated client. */
export interface Result<Data> {
  data?: Data | undefined;
  error?: unknown;
  response?: Response | undefined;
}

/** Return the data of a result, or throw its error. */
export async function unwrap<Data>(call: Promise<Result<Data>>): Promise<Data> {
  const { data, error, response } = await settled(call);
  if (response === undefined) throw unavailable("Gatewright does not respond", { cause: error });
  if (data !== undefined) return data;
  throw errorOf(response, error);
}

async function settled<Data>(call: Promise<Result<Data>>): Promise<Result<Data>> {
  try {
    return await call;
  } catch (cause) {
    throw unavailable("The response is not one of Gatewright", { cause });
  }
}

function errorOf(response: Response, body: unknown): ApiError {
  const details = {
    requestId: response.headers.get("X-Request-Id") ?? undefined,
    retryAfter: secondsOf(response.headers.get("Retry-After")),
    challenge: response.headers.get("WWW-Authenticate") ?? undefined,
    cookies: response.headers.getSetCookie(),
  };
  if (!isErrorBody(body)) {
    const retryAfter = details.retryAfter ?? UNAVAILABLE_FOR;
    return unavailable("The response is not one of Gatewright", { ...details, retryAfter, cause: body });
  }
  return new ApiError(response.status, body.code, body.message, { ...details, fields: body.fields });
}

function isErrorBody(body: unknown): body is ErrorBody {
  return typeof body === "object" && body !== null && "code" in body && "message" in body;
}

/** Return the seconds of a `Retry-After` header; undefined without one, and for a date. */
export function secondsOf(header: string | null): number | undefined {
  return header !== null && /^\d{1,9}$/.test(header) ? Number(header) : undefined;
}
