import { auth } from "@/lib/gatewright";

export const POST = auth.withAccessToken({ scopes: ["stock:write"] }, (request, { clientId }) =>
  Response.json({ by: clientId }),
);
