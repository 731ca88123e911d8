import { auth } from "@/lib/gatewright";

export const GET = auth.withToken({}, (request, claims) => Response.json({ of: claims.sub }));
