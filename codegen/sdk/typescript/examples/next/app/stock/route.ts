import { auth } from "@/lib/gatewright";

export const GET = auth.withAccessToken({ scopes: ["stock:read"] }, (request, { clientId, userId = null }) =>
  Response.json({ by: clientId, for: userId }),
);
