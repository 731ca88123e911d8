// What servers need of Gatewright, for every framework.

export {
  Authenticator,
  type AccessTokenRequirements,
  type ApiKeyRequirements,
  type AuthenticatorOptions,
  type CallerRequest,
  type LookupOptions,
  type Requirements,
  type SessionCaller,
} from "./authenticator.js";
export { connect, type ConnectOptions } from "./connection.js";
export { ApiError, unwrap, type ApiErrorCode } from "./errors.js";
export { iterate, type Position } from "./lists.js";
export { SignIn, type SignedIn, type SignInOptions, type SignInPaths, type SignInRequirements } from "./sign-in.js";
export type { AccessToken, AccessTokenClaims, TokenClaims } from "./tokens.js";
export { receiveWebhook, verifyWebhook, type WebhookDelivery, type WebhookOptions } from "./webhooks.js";
