// What servers need of Gatewright, for every framework.

export {
  Authenticator,
  type ApiKeyRequirements,
  type AuthenticatorOptions,
  type CallerRequest,
  type LookupOptions,
  type MemberCaller,
  type MemberRequirements,
  type Requirements,
  type SessionCaller,
  type TokenRequirements,
} from "./authenticator.js";
export { connect, type ConnectOptions } from "./connection.js";
export { GatewrightError, unwrap, type GatewrightErrorCode } from "./errors.js";
export { paginate, type Position } from "./paging.js";
export { SignIn, type SignedIn, type SignInOptions, type SignInPaths, type SignInRequirements } from "./sign-in.js";
export type { TokenClaims } from "./tokens.js";
export { receiveWebhook, verifyWebhook, type WebhookDelivery, type WebhookOptions } from "./webhooks.js";
