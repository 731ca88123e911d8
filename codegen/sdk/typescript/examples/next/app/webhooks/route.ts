import { receiveWebhook } from "gatewright-client/next";
import { received } from "@/lib/events";

export const POST = receiveWebhook({
  secret: process.env.WEBHOOK_SECRET ?? "",
  onEvent: (event, { id }) => void received.set(id, event.type),
});
