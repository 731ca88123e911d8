// What the application needs of Gatewright.

import { createAuth, createSignIn } from "gatewright-client/next";

export const { AUTH_URL = "http://localhost:8000", APP_URL = "http://localhost:3000" } = process.env;

export const auth = createAuth({
  url: AUTH_URL,
  verifier: process.env.VERIFIER,
  resource: "https://stock.example.com",
  clientAddress: (headers) => headers.get("x-forwarded-for")?.split(",").at(-1)?.trim(),
});

// The secrets are not there while the application is built.
export const signIn = createSignIn({
  issuer: AUTH_URL,
  clientId: process.env.CLIENT_ID ?? "",
  clientSecret: process.env.CLIENT_SECRET ?? "",
  appUrl: APP_URL,
  secret: process.env.SESSION_SECRET ?? "-".repeat(32),
});
