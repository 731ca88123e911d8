import { APP_URL, auth } from "@/lib/gatewright";

export const GET = auth.withSession({}, () => Response.redirect(`${APP_URL}/me`));
