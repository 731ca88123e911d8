import { signIn } from "@/lib/gatewright";

export const GET = signIn.withSignedIn({}, (request, { user }) => Response.json(user));
