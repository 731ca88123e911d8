// Better Auth behind node:http, put together as its documentation shows it for Node.
// Environment: PORT, and DATABASE_URL (sqlite:///… or postgresql://…).

import { createServer } from "node:http";

import Database from "better-sqlite3";
import { betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { toNodeHandler } from "better-auth/node";
import { bearer, emailOTP, magicLink, twoFactor } from "better-auth/plugins";
import pg from "pg";

const port = Number(process.env.PORT);

function openDatabase(address) {
  if (address.startsWith("postgresql://")) {
    return new pg.Pool({ connectionString: address, max: 16 });
  }
  const file = new Database(address.replace("sqlite:///", ""));
  // As durable as Gatewright's own connections, no more and no less.
  file.pragma("journal_mode = WAL");
  file.pragma("synchronous = NORMAL");
  return file;
}

const options = {
  baseURL: `http://127.0.0.1:${port}`,
  secret: "measured-on-the-loopback-interface-and-nowhere-else",
  database: openDatabase(process.env.DATABASE_URL),
  emailAndPassword: { enabled: true },
  plugins: [
    bearer(),
    twoFactor(),
    magicLink({ sendMagicLink: async () => {} }),
    emailOTP({ sendVerificationOTP: async () => {} }),
  ],
  // Nothing that Gatewright does not do during the measurement either.
  rateLimit: { enabled: false },
  telemetry: { enabled: false },
  logger: { disabled: true },
};

const { toBeCreated, toBeAdded, runMigrations } = await getMigrations(options);
if (toBeCreated.length || toBeAdded.length) {
  await runMigrations();
}
createServer(toNodeHandler(betterAuth(options))).listen(port, "127.0.0.1");
