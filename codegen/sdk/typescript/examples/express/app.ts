// An Express application with everything that the kit does: a session, a token, an API key, webhooks, and sign-in.

import express from "express";
import {
  createAuth,
  createSignIn,
  receiveWebhook,
  type AccessTokenResponse,
  type ApiKeyResponse,
  type OptionalSignedInResponse,
  type SessionResponse,
  type SignedInResponse,
  type TokenResponse,
} from "gatewright-client/express";

const { AUTH_URL = "http://localhost:8000", APP_URL = "http://localhost:3000" } = process.env;

const auth = createAuth({ url: AUTH_URL, verifier: process.env.VERIFIER, resource: "https://stock.example.com" });
const signIn = createSignIn({
  issuer: AUTH_URL,
  clientId: process.env.CLIENT_ID ?? "",
  clientSecret: process.env.CLIENT_SECRET ?? "",
  appUrl: APP_URL,
  secret: process.env.SESSION_SECRET ?? "",
});

const app = express();

// The session of Gatewright, for an application on the same site and for clients with a bearer token.
app.get("/me", auth.requireSession(), (req, res: SessionResponse) => {
  const { id, name, email } = res.locals.user;
  res.json({ id, name, email });
});
app.get("/user", auth.requireSession(), (req, res) => {
  res.redirect("/me");
});
app.get("/reports", auth.requireSession({ roles: ["admin"] }), (req, res: SessionResponse) => {
  res.json({ message: `For ${res.locals.user.name} only` });
});
app.get("/invoices", auth.requireSession({ organizationRoles: ["owner", "admin"] }), (req, res: SessionResponse) => {
  res.json({ organization: res.locals.session.activeOrganizationId });
});
app.get("/payout", auth.requireSession({ verifiedEmail: true, maxAge: 600 }), (req, res: SessionResponse) => {
  res.json({ to: res.locals.user.email });
});

// A signed token, verified without a request.
app.get("/orders", auth.requireToken(), (req, res: TokenResponse) => {
  res.json({ of: res.locals.claims.sub });
});

// An access token of an application, for its user or for itself.
const stock = (req: express.Request, res: AccessTokenResponse) => {
  const { clientId, userId = null } = res.locals.accessToken;
  res.json({ by: clientId, for: userId });
};
app.get("/stock", auth.requireAccessToken({ scopes: ["stock:read"] }), stock);
app.post("/stock/change", auth.requireAccessToken({ scopes: ["stock:write"] }), stock);

// An API key.
app.get("/files", auth.requireApiKey({ permissions: { files: ["read"] } }), (req, res: ApiKeyResponse) => {
  res.json({ of: res.locals.apiKey.referenceId });
});

// Webhooks. A real application stores them in its database.
const received = new Map<string, string>();
const secret = process.env.WEBHOOK_SECRET ?? "";
app.post("/webhooks", receiveWebhook({ secret, onEvent: (event, { id }) => void received.set(id, event.type) }));
app.get("/events", (req, res) => {
  res.json([...received.values()]);
});

// Sign-in through Gatewright, for an application anywhere.
app.use(signIn.routes());
app.get("/", signIn.loadSignedIn(), (req, res: OptionalSignedInResponse) => {
  res.json({ email: res.locals.signedIn?.user.email ?? null });
});
app.get("/account", signIn.requireSignedIn(), (req, res: SignedInResponse) => {
  res.json(res.locals.signedIn.user);
});

app.listen(Number(process.env.PORT ?? 3000), "127.0.0.1");
