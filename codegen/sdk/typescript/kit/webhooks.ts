// Receive webhooks: verify the signature of the bytes that arrived, then read them.

import { Webhook } from "standardwebhooks";
import type { WebhookEvent } from "../index.js";
import { ApiError } from "./errors.js";

export interface WebhookOptions {
  /** The secret of the endpoint, `whsec_…`. */
  secret: string;
  /**
   * Called with each event. Store it by `delivery.id`, which discards repeats, and return: Gatewright waits 15 seconds. If
   * it throws, Gatewright sends the event again.
   */
  onEvent: (event: WebhookEvent, delivery: WebhookDelivery) => void | Promise<void>;
}

export interface WebhookDelivery {
  /** The same for every attempt to deliver an event (`webhook-id`). */
  id: string;
  /** The body as it arrived. */
  body: string;
}

/** Bytes of a body at most; events are smaller. */
export const LARGEST_WEBHOOK = 64 * 1024;

/** Return the event of a request, or throw 401 if the signature is wrong or more than 5 minutes old. */
export function verifyWebhook(secret: string, body: string, headers: Headers): WebhookEvent {
  try {
    return new Webhook(secret).verify(body, Object.fromEntries(headers)) as WebhookEvent;
  } catch (cause) {
    throw new ApiError(401, "UNAUTHORIZED", "Wrong signature", { cause });
  }
}

/** Respond to a request with a webhook: 204, 401 if it is not signed by Gatewright, 413 if it is too large. */
export async function receiveWebhook(request: Request, { secret, onEvent }: WebhookOptions): Promise<Response> {
  try {
    const body = await readText(request.body);
    const event = verifyWebhook(secret, body, request.headers);
    await onEvent(event, { id: request.headers.get("webhook-id") ?? "", body });
  } catch (error) {
    if (error instanceof ApiError) return error.toResponse();
    throw error;
  }
  return new Response(null, { status: 204 });
}

/** Return the text of a body, and throw 413 as soon as it is too large. */
export async function readText(chunks: AsyncIterable<Uint8Array> | ReadableStream<Uint8Array> | null): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for await (const chunk of (chunks ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > LARGEST_WEBHOOK) throw new ApiError(413, "PAYLOAD_TOO_LARGE", "The body is too large");
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
