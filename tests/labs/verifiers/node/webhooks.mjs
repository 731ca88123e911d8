// Verify requests of webhooks by standardwebhooks.

import { createInterface } from "node:readline";
import { Webhook, WebhookVerificationError } from "standardwebhooks";

for await (const line of createInterface({ input: process.stdin })) {
  const { secret, headers, body } = JSON.parse(line);
  try {
    const event = new Webhook(secret).verify(Buffer.from(body, "base64"), headers);
    console.log("ok", event.type);
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error;
    console.log("refused", error.message);
  }
}
