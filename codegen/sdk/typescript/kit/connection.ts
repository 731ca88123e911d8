// Requests to Gatewright with a timeout, which are repeated where that is safe.

import { createClient } from "../client/index.js";
import { Gatewright } from "../index.js";
import { secondsOf } from "./errors.js";

export interface ConnectionOptions {
  /** The URL of Gatewright with its base path, such as `https://auth.example.com`. */
  url: string;
  /** Milliseconds that a call may take, with its repetitions; by default 5000. */
  timeout?: number | undefined;
  /** How often a request is sent again that is safe to repeat; by default 2. */
  retries?: number | undefined;
  /** Headers of every request. */
  headers?: Record<string, string> | undefined;
}

export interface ConnectOptions extends ConnectionOptions {
  /** The token of a session, or the verifier token of a service that verifies API keys. */
  token?: string | undefined;
}

const TIMEOUT = 5000;
const RETRIES = 2;
const FIRST_PAUSE = 100; // milliseconds; doubles with each repetition
const LONGEST_PAUSE = 1000; // milliseconds; a response that asks for more is an error at once
const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);
const TRANSIENT = new Set([502, 503, 504]);

/** Return a client of Gatewright whose requests have a timeout and are repeated where that is safe. */
export function connect(options: ConnectOptions): Gatewright {
  const client = createClient({
    baseUrl: options.url,
    auth: options.token,
    headers: options.headers,
    fetch: patientFetch(options),
    redirect: "manual",
    parseAs: "json",
  });
  return new Gatewright({ client });
}

/**
 * Return a `fetch` with a timeout. It repeats GET after no response and after 502, 503 and 504, and every request if no
 * connection was made and after 429: Gatewright has not acted on it. The timeout includes the repetitions and the time
 * to read the response.
 */
export function patientFetch({ timeout = TIMEOUT, retries = RETRIES }: Partial<ConnectionOptions>): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const end = Date.now() + timeout;
    const signal = AbortSignal.any([request.signal, AbortSignal.timeout(timeout)]);
    for (let attempt = 0; ; attempt++) {
      // Frameworks that cache what `fetch` returns must not cache a session.
      const sent = await settle(fetch(request.clone(), { signal, cache: "no-store" }));
      const pause = pauseBefore(sent, request.method, attempt);
      if (pause === undefined || attempt >= retries || signal.aborted || Date.now() + pause >= end) {
        if (sent.response) return sent.response;
        throw sent.error;
      }
      await sent.response?.body?.cancel();
      await new Promise((resume) => setTimeout(resume, pause));
    }
  };
}

type Sent = { response: Response; error?: undefined } | { response?: undefined; error: unknown };

async function settle(sending: Promise<Response>): Promise<Sent> {
  try {
    return { response: await sending };
  } catch (error) {
    return { error };
  }
}

/** Return the milliseconds to wait before a request is sent again; undefined if it must not be. */
function pauseBefore({ response, error }: Sent, method: string, attempt: number): number | undefined {
  const backoff = FIRST_PAUSE * 2 ** attempt * (0.5 + Math.random());
  if (response === undefined) return SAFE.has(method) || wasNeverSent(error) ? backoff : undefined;
  if (response.status !== 429 && !(SAFE.has(method) && TRANSIENT.has(response.status))) return undefined;
  const seconds = secondsOf(response.headers.get("Retry-After"));
  if (seconds === undefined) return backoff;
  return seconds * 1000 <= LONGEST_PAUSE ? seconds * 1000 : undefined;
}

/** Return whether no connection was made, as Node.js says in the cause of the error. */
function wasNeverSent(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return typeof cause === "object" && cause !== null && "code" in cause && cause.code === "ECONNREFUSED";
}
