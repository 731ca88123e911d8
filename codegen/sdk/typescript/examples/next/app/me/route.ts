import { auth } from "@/lib/gatewright";

export const GET = auth.withSession({}, (request, { user: { id, name, email } }) => Response.json({ id, name, email }));
