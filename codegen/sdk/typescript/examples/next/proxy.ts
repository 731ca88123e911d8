// Runs before the pages: requires a session, and passes on the cookie that Gatewright extended.

import { auth } from "./lib/gatewright";

export default auth.middleware();

export const config = { matcher: "/profile" };
