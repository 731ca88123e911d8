import { auth } from "@/lib/gatewright";

export const GET = auth.withSession({ roles: ["admin"] }, (request, { user }) =>
  Response.json({ message: `For ${user.name} only` }),
);
