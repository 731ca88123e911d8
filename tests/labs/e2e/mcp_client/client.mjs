// A client of the Model Context Protocol, by the official SDK: it is told what it is, authorizes itself, and calls a tool.
//
// It speaks as the programs of tests/labs/relying_parties do: `{"open": url}` sends the user there, and the URL where that
// ended is read as a JSON string; `{"done": ...}` is what it has seen.
import { createInterface } from "node:readline/promises";

import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const told = JSON.parse(process.env.APPLICATION);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

let client = told.registered ?? undefined;
let returned;
const kept = {};
const provider = {
  redirectUrl: told.redirect_uri,
  clientMetadataUrl: told.document ?? undefined,
  clientMetadata: {
    client_name: "Editor",
    redirect_uris: [told.redirect_uri],
    grant_types: ["authorization_code", "refresh_token"],
    application_type: "native",
    token_endpoint_auth_method: "none",
  },
  state: () => "state of the client",
  clientInformation: () => client,
  saveClientInformation: (given) => {
    client = given;
  },
  tokens: () => kept.tokens,
  saveTokens: (tokens) => {
    kept.tokens = tokens;
  },
  codeVerifier: () => kept.verifier,
  saveCodeVerifier: (verifier) => {
    kept.verifier = verifier;
  },
  redirectToAuthorization: async (url) => {
    say({ open: url.href });
    returned = new URL(JSON.parse((await lines.next()).value));
  },
};

const connect = async () => {
  const transport = new StreamableHTTPClientTransport(new URL(told.server), { authProvider: provider });
  const mcp = new Client({ name: "editor", version: "1.0.0" });
  try {
    await mcp.connect(transport);
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    await transport.finishAuth(returned.searchParams.get("code"));
    return connect();
  }
  return mcp;
};

let mcp = await connect();
const first = await mcp.callTool({ name: "whoami" });
await mcp.close();
const before = kept.tokens;
// The access token is lost, so that the client refreshes.
kept.tokens = { ...before, access_token: "lost" };
mcp = await connect();
const second = await mcp.callTool({ name: "whoami" });
await mcp.close();
say({
  done: {
    client_id: client.client_id,
    returned: returned.href,
    users: [first.content[0].text, second.content[0].text],
    scope: before.scope,
    rotated: before.refresh_token !== kept.tokens.refresh_token,
  },
});
process.exit(0);
