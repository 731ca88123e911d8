import { auth } from "@/lib/gatewright";

export const GET = auth.withSession({ verifiedEmail: true, maxAge: 600 }, (request, { user }) =>
  Response.json({ to: user.email }),
);
