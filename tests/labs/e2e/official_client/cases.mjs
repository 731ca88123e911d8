// What the official client is told by a server, case by case, without what is random: one JSON object on standard output.

import { ADMINISTRATOR, newClient, PASSWORD } from "./service.mjs";
import { joined, signedIn, tell, told } from "./telling.mjs";

const isSignedIn = async (client) => ({ data: Boolean((await client.getSession()).data), error: null });

const admin = await signedIn({ email: ADMINISTRATOR, password: PASSWORD });
const adminId = (await admin.getSession()).data.user.id;

// Administration: looking.
const ada = await joined();
await tell("list users as a user", ada.client.admin.listUsers({ query: {} }));
await tell("list users signed out", newClient().admin.listUsers({ query: {} }));
const byEmail = { searchValue: ada.credentials.email, searchField: "email", limit: 10, offset: 0 };
await tell("find a user", admin.admin.listUsers({ query: byEmail }));
const byRole = { filterField: "role", filterValue: "admin", filterOperator: "eq", limit: 10, offset: 0 };
await tell("users with a role", admin.admin.listUsers({ query: byRole }), (data) => data.users.map((user) => user.email));
await tell("limit 0", admin.admin.listUsers({ query: { limit: 0 } }), (data) => data.users.length > 0);
await tell("sort by a secret", admin.admin.listUsers({ query: { sortBy: "password" } }), (data) => data.users.length);
await tell("get a user", admin.admin.getUser({ query: { id: ada.id } }));
await tell("get an unknown user", admin.admin.getUser({ query: { id: "x".repeat(32) } }));
await tell("has a permission", admin.admin.hasPermission({ permissions: { user: ["ban"] } }));
await tell("has none", ada.client.admin.hasPermission({ permissions: { user: ["ban"] } }));
await tell("has unknown permissions", admin.admin.hasPermission({ permissions: { user: ["fly"] } }));

// Administration: creating and changing.
const email = "created@example.com";
const created = await tell(
  "create a user",
  admin.admin.createUser({ name: "Eve", email, password: PASSWORD, role: ["user", "admin"] }),
);
await tell("create a user twice", admin.admin.createUser({ name: "Eve", email, password: PASSWORD, role: "user" }));
await tell("create as a user", ada.client.admin.createUser({ name: "Eve", email: "e@example.com", password: PASSWORD }));
await tell("create without an address", admin.admin.createUser({ name: "Eve", email: "no address", password: PASSWORD }));
await tell("set a role", admin.admin.setRole({ userId: created.user.id, role: "user" }));
await tell("set a role as a user", ada.client.admin.setRole({ userId: ada.id, role: "admin" }));
await tell("update a user", admin.admin.updateUser({ userId: created.user.id, data: { name: "Eva" } }));
await tell("update nothing", admin.admin.updateUser({ userId: created.user.id, data: {} }));
await tell("update as a user", ada.client.admin.updateUser({ userId: created.user.id, data: { name: "Eva" } }));
const changed = await joined("changed");
const newPassword = "four more words than before";
await tell("set a password", admin.admin.setUserPassword({ userId: changed.id, newPassword }));
await tell("the sessions after it", isSignedIn(changed.client));
await tell("the new password", isSignedIn(await signedIn({ ...changed.credentials, password: newPassword })));
await tell("set a short password", admin.admin.setUserPassword({ userId: changed.id, newPassword: "x" }));

// Administration: bans, sessions, removal.
const banned = await joined("banned");
await tell("ban", admin.admin.banUser({ userId: banned.id, banReason: "Spam", banExpiresIn: 3600 }));
await tell("the session of a banned user", isSignedIn(banned.client));
await tell("sign in while banned", newClient().signIn.email(banned.credentials));
await tell("ban oneself", admin.admin.banUser({ userId: adminId }));
await tell("ban as a user", ada.client.admin.banUser({ userId: banned.id }));
await tell("unban", admin.admin.unbanUser({ userId: banned.id }));
await tell("sign in after it", isSignedIn(await signedIn(banned.credentials)));
const listed = await tell("list the sessions of a user", admin.admin.listUserSessions({ userId: ada.id }));
await tell("list them as a user", ada.client.admin.listUserSessions({ userId: adminId }));
await tell("revoke one", admin.admin.revokeUserSession({ sessionToken: listed.sessions[0].token }));
await tell("the session after it", isSignedIn(ada.client));
await tell("revoke all", admin.admin.revokeUserSessions({ userId: ada.id }), ({ success }) => success);
const removed = await joined("removed");
await tell("remove", admin.admin.removeUser({ userId: removed.id }));
await tell("sign in after the removal", newClient().signIn.email(removed.credentials));
await tell("remove oneself", admin.admin.removeUser({ userId: adminId }));
await tell("remove an unknown user", admin.admin.removeUser({ userId: "x".repeat(32) }));

// Impersonation.
const user = await joined("user");
const other = await joined("root");
await admin.admin.setRole({ userId: other.id, role: "admin" });
await tell("impersonate an administrator", admin.admin.impersonateUser({ userId: other.id }));
await tell("impersonate as a user", user.client.admin.impersonateUser({ userId: other.id }));
await tell("stop what was not begun", admin.admin.stopImpersonating());
const actor = await signedIn({ email: ADMINISTRATOR, password: PASSWORD });
await tell("impersonate", actor.admin.impersonateUser({ userId: user.id }));
await tell("whose session", actor.getSession(), (data) => [data.user.email, Boolean(data.session.impersonatedBy)]);
await tell("stop", actor.admin.stopImpersonating(), (data) => Object.keys(data).sort());

// API keys.
const owner = await joined("owner");
const keys = owner.client.apiKey;
const key = await tell("create a key", keys.create({ name: "ci" }));
await tell("create a plain key", keys.create({}), (data) => [data.name, data.key.length > 60]);
await tell("create a key that expires", keys.create({ expiresIn: 86_400 }), (data) => data.expiresAt);
await tell("too short a life", keys.create({ expiresIn: 60 }));
await tell("too long a life", keys.create({ expiresIn: 400 * 86_400 }));
await tell("too long a name", keys.create({ name: "n".repeat(33) }));
await tell("own prefix", keys.create({ prefix: "own_" }), (data) => [data.prefix, data.key.startsWith("own_")]);
await tell("metadata", keys.create({ metadata: { a: 1 } }));
await tell("remaining by its owner", keys.create({ remaining: 5 }));
await tell("permissions by its owner", keys.create({ permissions: { files: ["read"] } }));
await tell("a rate limit by its owner", keys.create({ rateLimitMax: 5 }));
await tell("a key for another user", keys.create({ userId: adminId }));
await tell("signed out", newClient().apiKey.create({ name: "ci" }));
await tell("get a key", keys.get({ query: { id: key.id } }));
await tell("list keys", keys.list({ query: {} }), (data) => [Object.keys(data).sort(), data.apiKeys.length, data.total]);
await tell("list sorted keys", keys.list({ query: { limit: 1, sortBy: "createdAt", sortDirection: "asc" } }), (data) =>
  data.apiKeys.map(({ name }) => name),
);
await tell("update a key", keys.update({ keyId: key.id, name: "cd", enabled: false }), ({ name, enabled }) => [name, enabled]);
await tell("update nothing of a key", keys.update({ keyId: key.id }));
await tell("update the uses of a key", keys.update({ keyId: key.id, remaining: 5 }));
await tell("get a foreign key", user.client.apiKey.get({ query: { id: key.id } }));
await tell("update a foreign key", user.client.apiKey.update({ keyId: key.id, name: "x" }));
await tell("delete a foreign key", user.client.apiKey.delete({ keyId: key.id }));
await tell("delete a key", keys.delete({ keyId: key.id }));
await tell("delete a key twice", keys.delete({ keyId: key.id }));
await tell("get a deleted key", keys.get({ query: { id: key.id } }));

// Tokens for other services.
const part = (token, index) => JSON.parse(Buffer.from(token.split(".")[index], "base64url"));
const { token } = await tell("a token", owner.client.token(), (data) => Object.keys(data));
told["its header"] = Object.keys(part(token, 0)).sort();
told["its claims"] = Object.keys(part(token, 1)).sort();
told["its issuer and audience"] = [part(token, 1).iss, part(token, 1).aud].map((url) => url.replace(/:\d+/, ""));
told["its life"] = part(token, 1).exp - part(token, 1).iat;
told["its subject is the user"] = part(token, 1).sub === owner.id;
await tell("a token signed out", newClient().token());
const members = (data) => [...new Set(data.keys.map((one) => Object.keys(one).sort().join()))].sort();
await tell("the keys", owner.client.jwks(), members);

console.log(JSON.stringify(told));
