import { auth } from "@/lib/gatewright";

export const GET = auth.withApiKey({ permissions: { files: ["read"] } }, (request, key) =>
  Response.json({ of: key.referenceId }),
);
