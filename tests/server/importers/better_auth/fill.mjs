// Fills empty databases (DATABASE_URLS) with users, by Better Auth's own API; prints what a test must know of each.

import { apiKey } from "@better-auth/api-key";
import { passkey } from "@better-auth/passkey";
import { betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { admin, organization, twoFactor, username } from "better-auth/plugins";
import { SqliteDialect } from "kysely";
import Database from "libsql";
import pg from "pg";

const password = process.env.PASSWORD;

function openDatabase(address) {
  if (address.startsWith("postgresql://")) return new pg.Pool({ connectionString: address });
  const file = new Database(address.replace("sqlite:///", ""));
  return { dialect: new SqliteDialect({ database: file }), type: "sqlite" };
}

async function fill(address) {
  const options = {
    baseURL: "http://127.0.0.1:3000",
    secret: process.env.BETTER_AUTH_SECRET,
    database: openDatabase(address),
    emailAndPassword: { enabled: true },
    plugins: [
      username(), admin(), twoFactor({ issuer: "Example" }), passkey(),
      apiKey([{ configId: "default" }, { configId: "team", references: "organization" }]),
      organization({ teams: { enabled: true } }),
    ],
    rateLimit: { enabled: false },
    telemetry: { enabled: false },
    logger: { disabled: true },
  };
  await (await getMigrations(options)).runMigrations();
  const auth = betterAuth(options);
  const { adapter, internalAdapter } = await auth.$context;

  async function signUp(name, more = {}) {
    const body = { name, email: `${name}@Example.com`, password, ...more };
    const { headers, response } = await auth.api.signUpEmail({ body, returnHeaders: true });
    const cookie = headers.getSetCookie().map((line) => line.split(";")[0]).join("; ");
    return { id: response.user.id, headers: new Headers({ cookie }) };
  }

  const ada = await signUp("ada", { username: "Ada_L", displayUsername: "Ada_L" });
  const enrolled = await auth.api.enableTwoFactor({ body: { password }, headers: ada.headers });
  const shared = new URL(enrolled.totpURI).searchParams.get("secret");
  const { code } = await auth.api.generateTOTP({ body: { secret: decodeBase32(shared) } });
  await auth.api.verifyTOTP({ body: { code }, headers: ada.headers });

  const bob = await signUp("bob");
  await internalAdapter.updateUser(bob.id, { role: "admin", emailVerified: true });

  const eve = await signUp("eve");
  const banExpires = new Date("2099-01-31T12:00:00.000Z");
  await internalAdapter.updateUser(eve.id, { banned: true, banReason: "spam", banExpires });

  const carol = await internalAdapter.createUser({
    name: "Carol", email: "carol@example.com", emailVerified: true, image: "https://example.com/carol.png",
  });
  await internalAdapter.createAccount({
    userId: carol.id, providerId: "test", accountId: "carol-at-the-provider",
    accessToken: "access-token-of-carol", scope: "openid,email",
  });
  const { key } = await auth.api.createApiKey({
    body: {
      userId: bob.id, name: "ci", prefix: "ci_", permissions: { files: ["read"] },
      remaining: 2, refillAmount: 2, refillInterval: 60_000, rateLimitEnabled: false,
    },
  });
  const device = JSON.parse(process.env.PASSKEY);
  await adapter.create({
    model: "passkey",
    data: { ...device, userId: bob.id, name: "Phone", counter: 5, deviceType: "multiDevice", backedUp: true, createdAt: new Date() },
  });
  const acme = await auth.api.createOrganization({
    body: { name: "Acme", slug: "Acme", metadata: { plan: "free" } }, headers: bob.headers,
  });
  await auth.api.addMember({ body: { userId: carol.id, role: ["admin", "member"], organizationId: acme.id } });
  const team = await auth.api.createTeam({ body: { name: "Sales", organizationId: acme.id }, headers: bob.headers });
  await auth.api.addTeamMember({ body: { teamId: team.id, userId: carol.id }, headers: bob.headers });
  const invite = (email, more) => auth.api.createInvitation({
    body: { email, role: "member", organizationId: acme.id, ...more }, headers: bob.headers,
  });
  const pending = await invite("dora@example.com", { teamId: team.id });
  const canceled = await invite("erik@example.com", {});
  await auth.api.cancelInvitation({ body: { invitationId: canceled.id }, headers: bob.headers });
  const deploy = await auth.api.createApiKey({
    body: { configId: "team", organizationId: acme.id, name: "deploy", prefix: "org_" }, headers: bob.headers,
  });
  return {
    acme: acme.id, team: team.id, invitation: pending.id, organizationKey: deploy.key,
    key, ada: ada.id, bob: bob.id, eve: eve.id, carol: carol.id, totpURI: enrolled.totpURI,
  };
}

const known = [];
for (const address of process.env.DATABASE_URLS.split(" ")) known.push(await fill(address));
console.log(JSON.stringify(known));
process.exit(0);

function decodeBase32(text) {
  const bits = [...text].map((letter) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(letter).toString(2).padStart(5, "0"));
  return bits.join("").match(/.{8}/g).map((byte) => String.fromCharCode(parseInt(byte, 2))).join("");
}
