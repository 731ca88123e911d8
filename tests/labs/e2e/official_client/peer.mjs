// Better Auth's own server, with the plugins whose operations Gatewright has too. Environment: PORT, ADMIN_EMAIL, and TEAMS=on for
// organizations with teams.

import { createServer } from "node:http";
import { apiKey } from "@better-auth/api-key";
import { betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { toNodeHandler } from "better-auth/node";
import { admin, bearer, jwt, organization, twoFactor, username } from "better-auth/plugins";
import { SqliteDialect } from "kysely";
import Database from "libsql";

const port = Number(process.env.PORT);
const root = `http://127.0.0.1:${port}`;
const organizations = process.env.TEAMS === "on" ? [organization({ teams: { enabled: true } })] : [];
const options = {
  baseURL: root,
  secret: "compared-on-the-loopback-interface-and-nowhere-else",
  database: { dialect: new SqliteDialect({ database: new Database(":memory:") }), type: "sqlite" },
  emailAndPassword: { enabled: true },
  user: { deleteUser: { enabled: true } },
  plugins: [bearer(), username(), twoFactor(), admin(), apiKey(), jwt(), ...organizations],
  databaseHooks: {
    user: {
      create: {
        before: async (user) => ({ data: user.email === process.env.ADMIN_EMAIL ? { ...user, role: "admin" } : user }),
      },
    },
  },
  rateLimit: { enabled: false },
  telemetry: { enabled: false },
  logger: { disabled: true },
};
await (await getMigrations(options)).runMigrations();
createServer(toNodeHandler(betterAuth(options))).listen(port, "127.0.0.1", () => console.log("ready"));
