// A Hono application with everything that the kit does: a session, a token, an API key, webhooks, and sign-in.

import { serve } from "@hono/node-server";
import { getConnInfo } from "@hono/node-server/conninfo";
import { createAuth, createSignIn, receiveWebhook } from "gatewright-client/hono";
import { Hono } from "hono";

const { AUTH_URL = "http://localhost:8000", APP_URL = "http://localhost:3000" } = process.env;

const auth = createAuth({
  url: AUTH_URL,
  verifier: process.env.VERIFIER,
  resource: "https://stock.example.com",
  clientAddress: (c) => getConnInfo(c).remote.address,
});
const signIn = createSignIn({
  issuer: AUTH_URL,
  clientId: process.env.CLIENT_ID ?? "",
  clientSecret: process.env.CLIENT_SECRET ?? "",
  appUrl: APP_URL,
  secret: process.env.SESSION_SECRET ?? "",
});

const app = new Hono();

// The session of Gatewright, for an application on the same site and for clients with a bearer token.
app.get("/me", auth.requireSession(), (c) => {
  const { id, name, email } = c.var.user;
  return c.json({ id, name, email });
});
app.get("/user", auth.requireSession(), () => Response.redirect(`${APP_URL}/me`));
app.get("/reports", auth.requireSession({ roles: ["admin"] }), (c) =>
  c.json({ message: `For ${c.var.user.name} only` }),
);
app.get("/invoices", auth.requireSession({ organizationRoles: ["owner", "admin"] }), (c) =>
  c.json({ organization: c.var.session.activeOrganizationId }),
);
app.get("/payout", auth.requireSession({ verifiedEmail: true, maxAge: 600 }), (c) => c.json({ to: c.var.user.email }));

// A signed token, verified without a request.
app.get("/orders", auth.requireToken(), (c) => c.json({ of: c.var.claims.sub }));

// An access token of an application, for its user or for itself.
app.get("/stock", auth.requireAccessToken({ scopes: ["stock:read"] }), (c) => {
  const { clientId, userId = null } = c.var.accessToken;
  return c.json({ by: clientId, for: userId });
});
app.post("/stock/change", auth.requireAccessToken({ scopes: ["stock:write"] }), (c) =>
  c.json({ by: c.var.accessToken.clientId }),
);

// An API key.
app.get("/files", auth.requireApiKey({ permissions: { files: ["read"] } }), (c) =>
  c.json({ of: c.var.apiKey.referenceId }),
);

// Webhooks. A real application stores them in its database.
const received = new Map<string, string>();
const secret = process.env.WEBHOOK_SECRET ?? "";
app.post("/webhooks", receiveWebhook({ secret, onEvent: (event, { id }) => void received.set(id, event.type) }));
app.get("/events", (c) => c.json([...received.values()]));

// Sign-in through Gatewright, for an application anywhere.
app.use(signIn.routes());
app.get("/", signIn.loadSignedIn(), (c) => c.json({ email: c.var.signedIn?.user.email ?? null }));
app.get("/account", signIn.requireSignedIn(), (c) => c.json(c.var.signedIn.user));

serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000), hostname: "127.0.0.1" });
