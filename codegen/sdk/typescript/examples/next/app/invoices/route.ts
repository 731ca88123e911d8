import { auth } from "@/lib/gatewright";

export const GET = auth.withSession({ organizationRoles: ["owner", "admin"] }, (request, { session }) =>
  Response.json({ organization: session.activeOrganizationId }),
);
