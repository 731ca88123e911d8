"""GENERATED from openapi/ by `make types`: the JSON bodies as they are on the wire. Do not edit."""

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict


BackupCode: TypeAlias = str


class CheckUsernameRequest(TypedDict):
    """The username in question."""

    username: str


class DeleteUserRequest(TypedDict):
    """What shows that the user means it; what is needed depends on the configuration and the age of the session."""

    callbackURL: NotRequired[str]
    password: NotRequired[str]
    token: NotRequired[str]


class DisableTwoFactorRequest(TypedDict):
    """The password of the caller."""

    password: str


Email: TypeAlias = str


class EmailChangeAccepted(TypedDict):
    """The request is accepted; /get-session shows when the address has changed."""

    status: bool
    message: Literal["Email updated"]


class EmptyRequest(TypedDict):
    """No fields; an empty object, or no body at all."""


class EnableTwoFactorRequest(TypedDict):
    """The password, and which second factor it shall be."""

    password: str
    issuer: NotRequired[str]
    method: NotRequired[Literal["totp", "otp"]]


ErrorCode: TypeAlias = Literal[
    "BAD_REQUEST",
    "VALIDATION_ERROR",
    "EMAIL_PASSWORD_SIGN_UP_DISABLED",
    "EMAIL_PASSWORD_DISABLED",
    "INVALID_EMAIL",
    "PASSWORD_TOO_SHORT",
    "PASSWORD_TOO_LONG",
    "PASSWORD_TOO_COMMON",
    "INVALID_PASSWORD",
    "CREDENTIAL_ACCOUNT_NOT_FOUND",
    "RESET_PASSWORD_DISABLED",
    "INVALID_TOKEN",
    "VERIFICATION_EMAIL_NOT_ENABLED",
    "EMAIL_MISMATCH",
    "EMAIL_ALREADY_VERIFIED",
    "CHANGE_EMAIL_DISABLED",
    "EMAIL_CAN_NOT_BE_UPDATED",
    "FIELD_NOT_ALLOWED",
    "SESSION_EXPIRED",
    "USERNAME_TOO_SHORT",
    "USERNAME_TOO_LONG",
    "INVALID_USERNAME",
    "INVALID_DISPLAY_USERNAME",
    "USERNAME_IS_ALREADY_TAKEN",
    "ACCOUNT_NOT_FOUND",
    "FAILED_TO_UNLINK_LAST_ACCOUNT",
    "PROVIDER_NOT_SUPPORTED",
    "FAILED_TO_GET_ACCESS_TOKEN",
    "TOKEN_REFRESH_NOT_SUPPORTED",
    "REFRESH_TOKEN_NOT_FOUND",
    "FAILED_TO_REFRESH_ACCESS_TOKEN",
    "TOTP_NOT_ENABLED",
    "OTP_NOT_CONFIGURED",
    "TWO_FACTOR_NOT_ENABLED",
    "OTP_HAS_EXPIRED",
    "BACKUP_CODES_NOT_ENABLED",
    "TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE",
    "UNAUTHORIZED",
    "INVALID_EMAIL_OR_PASSWORD",
    "INVALID_USERNAME_OR_PASSWORD",
    "TOKEN_EXPIRED",
    "INVALID_USER",
    "FAILED_TO_GET_USER_INFO",
    "USER_EMAIL_NOT_FOUND",
    "OAUTH_LINK_ERROR",
    "LINKING_NOT_ALLOWED",
    "LINKING_DIFFERENT_EMAILS_NOT_ALLOWED",
    "INVALID_TWO_FACTOR_COOKIE",
    "INVALID_CODE",
    "INVALID_BACKUP_CODE",
    "FORBIDDEN",
    "INVALID_ORIGIN",
    "MISSING_OR_NULL_ORIGIN",
    "CROSS_SITE_NAVIGATION_LOGIN_BLOCKED",
    "INVALID_CALLBACK_URL",
    "INVALID_REDIRECT_URL",
    "INVALID_ERROR_CALLBACK_URL",
    "INVALID_NEW_USER_CALLBACK_URL",
    "BANNED_USER",
    "EMAIL_NOT_VERIFIED",
    "NOT_FOUND",
    "PROVIDER_NOT_FOUND",
    "ID_TOKEN_NOT_SUPPORTED",
    "SOCIAL_ACCOUNT_ALREADY_LINKED",
    "USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL",
    "TOO_MANY_REQUESTS",
    "ACCOUNT_TEMPORARILY_LOCKED",
    "METHOD_NOT_ALLOWED",
    "REQUEST_TIMEOUT",
    "PAYLOAD_TOO_LARGE",
    "URI_TOO_LONG",
    "UNSUPPORTED_MEDIA_TYPE",
    "HEADERS_TOO_LARGE",
    "INTERNAL_SERVER_ERROR",
    "SERVICE_UNAVAILABLE",
    "OVERLOADED",
    "PROVIDER_UNAVAILABLE",
]


Flag: TypeAlias = bool | str


class ChangePasswordRequest(TypedDict):
    """The password as it is and as it shall be."""

    currentPassword: str
    newPassword: str
    revokeOtherSessions: NotRequired[Flag]


class GenerateBackupCodesRequest(TypedDict):
    """The password of the caller."""

    password: str


class GetTotpUriRequest(TypedDict):
    """The password of the caller."""

    password: str


class Health(TypedDict):
    """The service is there."""

    ok: bool


class IdTokenUserName(TypedDict):
    """The name in its parts."""

    firstName: NotRequired[str]
    lastName: NotRequired[str]


class IdTokenUser(TypedDict):
    """What the provider told about the user beside the token; supplies the name only."""

    name: NotRequired[IdTokenUserName]


class IdTokenWithCompanions(TypedDict):
    """The ID token and what came along with it; further keys are ignored."""

    token: str
    nonce: NotRequired[str]
    accessToken: NotRequired[str]
    refreshToken: NotRequired[str]
    user: NotRequired[IdTokenUser]


IdToken: TypeAlias = str | IdTokenWithCompanions


InvalidField = TypedDict(
    "InvalidField",
    {
        "in": Literal["body", "query", "path"],
        "name": str,
        "message": str,
    },
)


class Error(TypedDict):
    """The body of every answer from 400 upwards."""

    message: str
    code: ErrorCode
    fields: NotRequired[list[InvalidField]]


class NewBackupCodes(TypedDict):
    """The new backup codes; shown this once."""

    status: bool
    backupCodes: list[BackupCode]


NewEmail: TypeAlias = str


class ChangeEmailRequest(TypedDict):
    """The new address."""

    newEmail: NewEmail
    callbackURL: NotRequired[str]


class ProviderAccount(TypedDict):
    """Which linked account a profile belongs to."""

    id: str
    providerId: str
    issuer: str
    accountId: str


class ProviderCallbackForm(TypedDict):
    """What a provider sends by form post."""

    code: NotRequired[str]
    state: NotRequired[str]
    error: NotRequired[str]
    error_description: NotRequired[str]
    iss: NotRequired[str]
    user: NotRequired[str]


class ProviderTokenRequest(TypedDict):
    """The account whose tokens are wanted, by `providerId`, `accountId` or both; one of them is needed."""

    providerId: NotRequired[str]
    accountId: NotRequired[str]
    userId: NotRequired[str]


class ProviderUser(TypedDict):
    """A provider's profile in the service's terms."""

    id: str
    name: str | None
    email: str | None
    image: str | None
    emailVerified: bool


class AccountProfile(TypedDict):
    """What a provider says about the user now."""

    user: ProviderUser
    data: dict[str, Any]
    account: ProviderAccount


class Readiness(TypedDict):
    """The service can work."""

    ready: bool


class ReducedSession(TypedDict):
    """The part of a session that the answer to a backup code carries."""

    token: str
    userId: str
    createdAt: str
    expiresAt: str


class ReducedUser(TypedDict):
    """The part of a user that answers of sign-up, sign-in and the like carry."""

    id: str
    email: str
    name: str
    image: str | None
    emailVerified: bool
    createdAt: str
    updatedAt: str


class EmailVerified(TypedDict):
    """The address is verified."""

    user: ReducedUser
    status: bool


class OtpVerified(TypedDict):
    """The code is right."""

    token: str
    user: ReducedUser


class PasswordChanged(TypedDict):
    """The password has been changed."""

    user: ReducedUser
    token: str


class RequestPasswordResetRequest(TypedDict):
    """Somebody who has forgotten their password."""

    email: Email
    redirectTo: NotRequired[str]


class ResetPasswordRequest(TypedDict):
    """The new password, and the mailed token as the right to set it."""

    newPassword: str
    token: NotRequired[str]


class ResetTokenValid(TypedDict):
    """The token is valid."""

    token: str


class RevokeSessionRequest(TypedDict):
    """The session to end."""

    token: str


class RevokedSession(TypedDict):
    """The session, if it was one of the caller's, has ended."""

    success: bool
    status: bool


class RevokedSessions(TypedDict):
    """The sessions have ended."""

    status: bool
    count: int


Scope: TypeAlias = str


class LinkedAccount(TypedDict):
    """One way in which a user can sign in."""

    id: str
    provider: str
    providerId: str
    issuer: str
    accountId: str
    userId: str
    scopes: list[Scope]
    createdAt: str
    updatedAt: str


LinkedAccountList: TypeAlias = list[LinkedAccount]
"""The linked accounts of the caller, oldest first."""


class ProviderTokens(TypedDict):
    """The tokens a provider has given; what is not known is null."""

    tokenType: str
    accessToken: str
    refreshToken: str | None
    idToken: str | None
    accessTokenExpiresAt: str | None
    refreshTokenExpiresAt: str | None
    scope: str | None
    scopes: list[Scope]
    providerId: str
    accountId: str


Scopes: TypeAlias = list[Scope] | str


class LinkSocialRequest(TypedDict):
    """A provider to link; with an ID token at once, otherwise by a visit to the provider."""

    provider: str
    callbackURL: NotRequired[str]
    scopes: NotRequired[Scopes]
    errorCallbackURL: NotRequired[str]
    disableRedirect: NotRequired[Flag]
    idToken: NotRequired[IdToken]
    requestSignUp: NotRequired[Flag]
    loginHint: NotRequired[str]


class SendVerificationEmailRequest(TypedDict):
    """The address that wants to be verified."""

    email: Email
    callbackURL: NotRequired[str]


class Session(TypedDict):
    """One sign-in on one device."""

    id: str
    token: str
    userId: str
    expiresAt: str
    createdAt: str
    updatedAt: str
    ipAddress: str | None
    userAgent: str | None
    impersonatedBy: NotRequired[str]
    activeOrganizationId: NotRequired[str]


SessionList: TypeAlias = list[Session]
"""The live sessions of the caller, newest first, the current one included."""


class SignInEmailRequest(TypedDict):
    """Somebody who knows their address and password."""

    email: str
    password: str
    callbackURL: NotRequired[str]
    rememberMe: NotRequired[Flag]


class SignInSocialRequest(TypedDict):
    """A provider to sign in through; with an ID token at once, otherwise by a visit to the provider."""

    provider: str
    callbackURL: NotRequired[str]
    newUserCallbackURL: NotRequired[str]
    errorCallbackURL: NotRequired[str]
    disableRedirect: NotRequired[Flag]
    idToken: NotRequired[IdToken]
    scopes: NotRequired[Scopes]
    requestSignUp: NotRequired[Flag]
    loginHint: NotRequired[str]


class SignInUsernameRequest(TypedDict):
    """Somebody who knows their username and password."""

    username: str
    password: str
    rememberMe: NotRequired[Flag]
    callbackURL: NotRequired[str]


class SignUpRequest(TypedDict):
    """A new user. Fields the service owns (`role`, `emailVerified`, `banned` and the like) are ignored like any other unknown key. `username` and `displayUsername` have refusals of their own."""

    name: str
    email: Email
    password: str
    image: NotRequired[str]
    username: NotRequired[str]
    displayUsername: NotRequired[str]
    rememberMe: NotRequired[Flag]
    callbackURL: NotRequired[str]


class SignedUp(TypedDict):
    """The new user, signed in unless the service wants something first."""

    token: str | None
    user: ReducedUser


class SocialLink(TypedDict):
    """Where the linking goes on; or, with an ID token, that it is done."""

    url: str
    status: NotRequired[bool]
    redirect: bool


class Status(TypedDict):
    """It is done."""

    status: bool


class Success(TypedDict):
    """It is done."""

    success: bool


class SignOut(Success):
    """Signed out, or was so already."""


class TotpUri(TypedDict):
    """What an authenticator needs."""

    totpURI: str


class TotpVerified(TypedDict):
    """The code is right."""

    status: bool
    token: str
    user: ReducedUser


class TwoFactorEnabled(TypedDict):
    """What the user keeps for the second factor; shown this once."""

    method: Literal["totp", "otp"]
    totpURI: str | None
    backupCodes: list[BackupCode]


TwoFactorMethod: TypeAlias = Literal["totp", "otp"]


class SignInAnswer(TypedDict):
    """Signed in, with a session; or, with `twoFactorRedirect`, `twoFactorMethods` and `pending`, the password or provider was right, a second factor is wanted, and no session exists yet."""

    redirect: bool
    token: str
    url: str | None
    user: ReducedUser | None
    twoFactorRedirect: NotRequired[Literal[True]]
    twoFactorMethods: NotRequired[list[TwoFactorMethod]]
    pending: NotRequired[Literal[True]]


class SocialSignIn(TypedDict):
    """Where the sign-in goes on; or, by an ID token, what signing in with a password answers: a session, or that a second factor is wanted."""

    redirect: bool
    token: str
    url: str | None
    user: NotRequired[ReducedUser | None]
    twoFactorRedirect: NotRequired[Literal[True]]
    twoFactorMethods: NotRequired[list[TwoFactorMethod]]
    pending: NotRequired[Literal[True]]


class TwoFactorUser(TypedDict):
    """The reduced user, and whether a second factor is on."""

    id: str
    email: str
    name: str
    image: str | None
    emailVerified: bool
    createdAt: str
    updatedAt: str
    twoFactorEnabled: bool


class BackupCodeVerified(TypedDict):
    """The code was right, and is used up."""

    token: str
    user: TwoFactorUser
    session: ReducedSession


class UnlinkAccountRequest(TypedDict):
    """The account to unlink, by `providerId`, `accountId` or both; one of them is needed."""

    providerId: NotRequired[str]
    accountId: NotRequired[str]


class UpdateUserRequest(TypedDict):
    """What shall change; at least one of these fields. `email` is refused with EMAIL_CAN_NOT_BE_UPDATED; `emailVerified`, `role`, `banned`, `banReason`, `banExpires`, `twoFactorEnabled`, `password`, `id`, `createdAt` and `updatedAt` with FIELD_NOT_ALLOWED. Other keys are ignored."""

    name: NotRequired[str]
    image: NotRequired[str | None]
    username: NotRequired[str]
    displayUsername: NotRequired[str]


class User(TypedDict):
    """Who somebody is. Every key is always there; what is not set is null."""

    id: str
    name: str
    email: str
    emailVerified: bool
    image: str | None
    createdAt: str
    updatedAt: str
    username: str | None
    displayUsername: str | None
    twoFactorEnabled: bool
    role: str
    banned: bool
    banReason: str | None
    banExpires: str | None


class CurrentSession(TypedDict):
    """The session the request came with, and its user; or null, where sessions are not required."""

    session: Session
    user: User


class PasswordReset(TypedDict):
    """The password has been replaced."""

    status: bool
    user: User


class UserDeleted(TypedDict):
    """The user is deleted; or a mail has been sent that asks for confirmation, and nothing is deleted yet."""

    success: bool
    message: Literal["User deleted", "Verification email sent"]


class UsernameAvailability(TypedDict):
    """Whether the username can be had."""

    available: bool


class VerifyBackupCodeRequest(TypedDict):
    """The backup code, and what shall happen beside."""

    code: str
    disableSession: NotRequired[Flag]
    trustDevice: NotRequired[Flag]


class VerifyOtpRequest(TypedDict):
    """The code, and whether this device shall be trusted."""

    code: str
    trustDevice: NotRequired[Flag]


class VerifyPasswordRequest(TypedDict):
    """The password of the caller."""

    password: str


class VerifyTotpRequest(TypedDict):
    """The code, and whether this device shall be trusted."""

    code: str
    trustDevice: NotRequired[Flag]
