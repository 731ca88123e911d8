// A receiver of webhooks that uses the generated types: the type of an event decides which members it has.
// It reads the bodies of requests, one a line, and prints what each is about.

import { createInterface } from "node:readline";
import type { WebhookEvent } from "gatewright-client";

function about(event: WebhookEvent): string | null {
  switch (event.type) {
    case "user.created":
      return event.data.method;
    case "user.deleted":
      return event.data.user.id;
    case "session.revoked":
      return event.data.user === null ? event.data.reason : event.data.sessionIds.join(",");
    case "member.role_changed":
      return `${event.data.previousRole} -> ${event.data.role}`;
    case "signing_key.created":
      return event.data.kid;
    default:
      return event.data.actorId;
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const event = JSON.parse(line) as WebhookEvent;
  console.log(`${event.type}: ${about(event) ?? "nobody"}`);
}
