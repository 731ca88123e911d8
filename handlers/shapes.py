"""GENERATED from openapi/ by `make types`: the JSON bodies as they are on the wire. Do not edit."""

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict


class AccountData(TypedDict):
    """Everything that is stored about a user. Each further key is a list of the rows of one kind, such as `accounts` and `apiKeys`."""

    user: dict[str, Any]
    sessions: list[dict[str, Any]]
    audit: list[dict[str, Any]]


AcrValuesSupportedItem: TypeAlias = str


AmrItem: TypeAlias = str


class AnswerInvitationRequest(TypedDict):
    """The invitation to answer."""

    invitationId: str


class ApiKey(TypedDict):
    """An API key, without its text."""

    id: str
    configId: str
    name: str | None
    start: str | None
    prefix: str | None
    referenceId: str
    enabled: bool
    expiresAt: str | None
    remaining: int | None
    refillAmount: int | None
    refillInterval: int | None
    lastRefillAt: str | None
    rateLimitEnabled: bool
    rateLimitTimeWindow: int
    rateLimitMax: int
    requestCount: int
    lastRequest: str | None
    permissions: dict[str, Any] | None
    metadata: dict[str, Any] | None
    createdBy: str | None
    createdAt: str
    updatedAt: str


class ApiKeyOwner(TypedDict):
    """The user or organization whose key it is."""

    id: str
    name: str
    email: str | None
    slug: str | None


class ApiKeyPage(TypedDict):
    """A page of keys."""

    apiKeys: list[ApiKey]
    total: int
    limit: int
    offset: int


ApiKeyPermission: TypeAlias = str


ApiKeyPermissions: TypeAlias = dict[str, list[ApiKeyPermission]]
"""Actions by resource. Names begin with a letter and have up to 64 letters, digits and `_`, `:`, `.`, `-`."""


class AuditEvent(TypedDict):
    """A record of the audit trail."""

    id: str
    time: str
    event: str
    outcome: str
    code: str | None
    userId: str | None
    actorId: str | None
    sessionId: str | None
    method: str | None
    ipAddress: str | None
    userAgent: str | None
    requestId: str | None
    details: dict[str, Any]


class AuditEventPage(TypedDict):
    """A page of audit events."""

    events: list[AuditEvent]
    nextCursor: str | None


class AuthenticatorAssertion(TypedDict):
    """What the authenticator signs."""

    clientDataJSON: str
    authenticatorData: str
    signature: str
    userHandle: NotRequired[str | None]


BackupCode: TypeAlias = str


class BanUserRequest(TypedDict):
    """The ban of a user."""

    userId: str
    banReason: NotRequired[str]
    banExpiresIn: NotRequired[int]


class CancelInvitationAsAdminRequest(TypedDict):
    """The invitation to cancel."""

    organizationId: str
    invitationId: str


class CancelInvitationRequest(TypedDict):
    """The invitation to cancel."""

    invitationId: str


CertItem: TypeAlias = str


class CheckOrganizationSlugRequest(TypedDict):
    """The slug to look for."""

    slug: str


class CheckUsernameRequest(TypedDict):
    """The username to check."""

    username: str


ClaimsSupportedItem: TypeAlias = str


ClientCredentialsScope: TypeAlias = str


CodeChallengeMethodsSupportedItem: TypeAlias = str


class ConfirmEndSessionRequest(TypedDict):
    """The answer of the user on the logout page."""

    request: str
    accept: bool


class ConfirmMagicLinkRequest(TypedDict):
    """The token of a link whose button was pressed, and the URLs of the link."""

    token: str
    callbackURL: NotRequired[str]
    newUserCallbackURL: NotRequired[str]
    errorCallbackURL: NotRequired[str]
    oauth_query: NotRequired[str]


class ConfirmScimDirectoryRequest(TypedDict):
    """The connection of a stopped directory."""

    providerId: str


class ConfirmedEndSession(TypedDict):
    """Where the page leads to."""

    redirect: Literal[True]
    url: str


class ConsentToOAuthRequest(TypedDict):
    """The decision of a user."""

    accept: bool
    scope: NotRequired[str]
    oauth_query: str


Contact: TypeAlias = str


class ContinueOAuthRequest(TypedDict):
    """The query of the page, and one of the others."""

    oauth_query: str
    selected: NotRequired[bool]
    created: NotRequired[bool]
    postLogin: NotRequired[bool]


class CreateApiKeyRequest(TypedDict):
    """A new key; every field is optional, but keys of organizations need `organizationId`. `userId`, `remaining`, the refill and the rate limit are for callers with the permission `apiKey: manage`, and so are permissions beyond those of `api_keys.grantable`."""

    name: NotRequired[str]
    expiresIn: NotRequired[int | None]
    metadata: NotRequired[dict[str, Any] | str | float | bool | list[Any] | None]
    permissions: NotRequired[dict[str, Any] | None]
    remaining: NotRequired[int | None]
    refillAmount: NotRequired[int | None]
    refillInterval: NotRequired[int | None]
    rateLimitEnabled: NotRequired[bool]
    rateLimitTimeWindow: NotRequired[int]
    rateLimitMax: NotRequired[int]
    configId: NotRequired[str]
    prefix: NotRequired[str]
    organizationId: NotRequired[str]
    userId: NotRequired[str]


class CreateScimTokenRequest(TypedDict):
    """A new token."""

    providerId: str
    name: str
    expiresIn: NotRequired[int | None]


class CreateTeamRequest(TypedDict):
    """The team to create."""

    name: str
    organizationId: NotRequired[str]


class CreatedApiKey(TypedDict):
    """A new API key and its text, which is shown only here."""

    id: str
    configId: str
    name: str | None
    start: str | None
    prefix: str | None
    referenceId: str
    enabled: bool
    expiresAt: str | None
    remaining: int | None
    refillAmount: int | None
    refillInterval: int | None
    lastRefillAt: str | None
    rateLimitEnabled: bool
    rateLimitTimeWindow: int
    rateLimitMax: int
    requestCount: int
    lastRequest: str | None
    permissions: dict[str, Any] | None
    metadata: dict[str, Any] | None
    createdBy: str | None
    createdAt: str
    updatedAt: str
    key: str


class DecideDeviceRequest(TypedDict):
    """The code of the device that the user decides about."""

    userCode: str


class DeleteApiKeyRequest(TypedDict):
    """The key to delete."""

    keyId: str
    configId: NotRequired[str]


class DeleteConsentRequest(TypedDict):
    """The consent to revoke."""

    id: str


class DeleteOAuthClientRequest(TypedDict):
    """The client to delete."""

    client_id: str


class DeleteOrganizationAsAdminRequest(TypedDict):
    """The organization to delete."""

    organizationId: str


class DeleteOrganizationRequest(TypedDict):
    """The organization to delete."""

    organizationId: str


class DeletePasskeyRequest(TypedDict):
    """The passkey to delete."""

    id: str


class DeleteUserRequest(TypedDict):
    """Proof that the user wants to delete the account; the required proof depends on the configuration and the age of the session."""

    callbackURL: NotRequired[str]
    password: NotRequired[str]
    token: NotRequired[str]


class DeleteWebhookEndpointRequest(TypedDict):
    """The endpoint to delete."""

    id: str


class DeletedApiKey(TypedDict):
    """The key is deleted."""

    success: bool


class DeletedOAuthClient(TypedDict):
    """The client is deleted."""

    success: bool


class DeletedSsoProvider(TypedDict):
    """The connection is deleted."""

    success: bool


class DeletedWebhookEndpoint(TypedDict):
    """The endpoint is deleted."""

    success: bool


class Delivery(TypedDict):
    """One event for one endpoint."""

    id: str
    eventId: str
    type: str
    state: Literal["pending", "delivered", "failed", "cancelled"]
    attempts: int
    lastStatus: int | None
    lastError: str | None
    nextAttempt: str | None
    createdAt: str
    deliveredAt: str | None


class DeliveryPage(TypedDict):
    """Deliveries of an endpoint."""

    deliveries: list[Delivery]


class DeliveryWithPayload(TypedDict):
    """A delivery, and the content of its event."""

    delivery: Delivery
    payload: str | None


class Details(TypedDict):
    """When the key can be used again."""

    tryAgainIn: int


class ApiKeyRefusal(TypedDict):
    """Why a key is refused."""

    message: str
    code: Literal[
        "INVALID_API_KEY",
        "USER_BANNED",
        "KEY_DISABLED",
        "KEY_EXPIRED",
        "KEY_PERMISSIONS_INSUFFICIENT",
        "RATE_LIMITED",
        "USAGE_EXCEEDED",
    ]
    details: NotRequired[Details]


class ApiKeyVerdict(TypedDict):
    """Whether a key is valid."""

    valid: bool
    error: ApiKeyRefusal | None
    key: ApiKey | None


class DeviceSession(TypedDict):
    """The session of a device."""

    access_token: str
    token_type: Literal["Bearer"]
    expires_in: int
    scope: str


class DisableTwoFactorRequest(TypedDict):
    """The password of the caller."""

    password: str


class DisownAccountRequest(TypedDict):
    """The token of the link "This was not me" in an email."""

    token: str


Email: TypeAlias = str


class CheckEmailCodeRequest(TypedDict):
    """A code to check without using it up."""

    email: Email
    type: Literal["sign-in", "email-verification", "forget-password"]
    otp: str


class EmailChangeAccepted(TypedDict):
    """The request is accepted; /get-session shows when the email address has changed."""

    status: bool
    message: Literal["Email updated"]
    verificationSent: bool


class EmptyRequest(TypedDict):
    """No fields; an empty object, or no body at all."""


class EnableTwoFactorRequest(TypedDict):
    """The password, and the second factor to enable."""

    password: str
    issuer: NotRequired[str]
    method: NotRequired[Literal["totp", "otp"]]


class EndGrantsRequest(TypedDict):
    """Whose grants end; at least one of client and user is needed."""

    clientId: NotRequired[str]
    userId: NotRequired[str]
    consents: NotRequired[bool]


class EndSessionRequest(TypedDict):
    """A logout that a client asks for; no parameter is required."""

    id_token_hint: NotRequired[str]
    client_id: NotRequired[str]
    post_logout_redirect_uri: NotRequired[str]
    state: NotRequired[str]
    logout_hint: NotRequired[str]
    ui_locales: NotRequired[str]


class EndedGrants(TypedDict):
    """The grants are ended."""

    success: bool
    count: int


ErrorCode: TypeAlias = Literal[
    "ACCOUNT_NOT_FOUND",
    "ACCOUNT_TEMPORARILY_LOCKED",
    "API_KEY_CONFIGURATION_NOT_FOUND",
    "API_KEY_LIMIT_REACHED",
    "AUDIENCE_NOT_ALLOWED",
    "AUDIT_EVENT_NOT_FOUND",
    "AUTHENTICATION_FAILED",
    "BACKUP_CODES_NOT_ENABLED",
    "BAD_REQUEST",
    "BANNED_USER",
    "BROKEN_MAIL_TEMPLATE",
    "CHALLENGE_NOT_FOUND",
    "CHANGE_EMAIL_DISABLED",
    "CLIENT_NOT_FOUND",
    "CLIENT_OR_USER_REQUIRED",
    "CLIENT_READ_ONLY",
    "CONSENT_NOT_FOUND",
    "CREDENTIAL_ACCOUNT_NOT_FOUND",
    "CROSS_SITE_NAVIGATION_LOGIN_BLOCKED",
    "DELIVERY_NOT_FOUND",
    "DEVICE_CODE_ALREADY_PROCESSED",
    "DIRECTORY_NOT_STOPPED",
    "DISCOVERY_FAILED",
    "DOMAIN_TAKEN",
    "DOMAIN_VERIFICATION_FAILED",
    "DOMAIN_VERIFIED",
    "EMAIL_ALREADY_VERIFIED",
    "EMAIL_CAN_NOT_BE_UPDATED",
    "EMAIL_MISMATCH",
    "EMAIL_NOT_VERIFIED",
    "EMAIL_PASSWORD_DISABLED",
    "EMAIL_PASSWORD_SIGN_UP_DISABLED",
    "EMAIL_VERIFICATION_REQUIRED_BEFORE_ACCEPTING_OR_REJECTING_INVITATION",
    "EMAIL_VERIFICATION_REQUIRED_FOR_INVITATION",
    "ENDPOINT_NOT_ACTIVE",
    "ENDPOINT_NOT_FOUND",
    "ENDPOINT_READ_ONLY",
    "EXPIRED_USER_CODE",
    "EXPIRES_IN_IS_TOO_LARGE",
    "EXPIRES_IN_IS_TOO_SMALL",
    "EXPORT_IN_PROGRESS",
    "FAILED_TO_DELETE_LAST_PASSKEY",
    "FAILED_TO_GET_ACCESS_TOKEN",
    "FAILED_TO_GET_USER_INFO",
    "FAILED_TO_REFRESH_ACCESS_TOKEN",
    "FAILED_TO_UNLINK_LAST_ACCOUNT",
    "FAILED_TO_VERIFY_REGISTRATION",
    "FIELD_NOT_ALLOWED",
    "FORBIDDEN",
    "HEADERS_TOO_LARGE",
    "ID_TOKEN_NOT_SUPPORTED",
    "INSUFFICIENT_API_KEY_PERMISSIONS",
    "INTERNAL_SERVER_ERROR",
    "INVALID_API_KEY",
    "INVALID_BACKUP_CODE",
    "INVALID_CALLBACK_URL",
    "INVALID_CLIENT_METADATA",
    "INVALID_CODE",
    "INVALID_DISPLAY_USERNAME",
    "INVALID_EMAIL",
    "INVALID_EMAIL_OR_PASSWORD",
    "INVALID_ERROR_CALLBACK_URL",
    "INVALID_LOGOUT_TOKEN",
    "INVALID_METADATA_TYPE",
    "INVALID_NAME_LENGTH",
    "INVALID_NEW_USER_CALLBACK_URL",
    "INVALID_ORIGIN",
    "INVALID_OTP",
    "INVALID_PASSWORD",
    "INVALID_PREFIX_LENGTH",
    "INVALID_PROVIDER_URL",
    "INVALID_REDIRECT_URI",
    "INVALID_REDIRECT_URL",
    "INVALID_REFERENCE_ID_FROM_API_KEY",
    "INVALID_ROLE_TYPE",
    "INVALID_SCOPE",
    "INVALID_SSO_DOMAIN",
    "INVALID_TOKEN",
    "INVALID_TWO_FACTOR_COOKIE",
    "INVALID_USER",
    "INVALID_USERNAME",
    "INVALID_USERNAME_OR_PASSWORD",
    "INVALID_USER_CODE",
    "INVALID_WEBHOOK_URL",
    "INVITATION_LIMIT_REACHED",
    "INVITATION_NOT_FOUND",
    "KEY_DISABLED",
    "KEY_DISABLED_EXPIRATION",
    "KEY_EXPIRED",
    "KEY_NOT_FOUND",
    "LAST_ADMIN",
    "LINKING_DIFFERENT_EMAILS_NOT_ALLOWED",
    "LINKING_NOT_ALLOWED",
    "MAIL_BEING_SENT",
    "MAIL_EXPIRED",
    "MAIL_NOT_FAILED",
    "MAIL_NOT_FOUND",
    "MAIL_NOT_WAITING",
    "MAIL_SENDER_NOT_CONFIGURED",
    "MAIL_TEMPLATE_NOT_FOUND",
    "MEMBER_NOT_FOUND",
    "METADATA_DISABLED",
    "METHOD_NOT_ALLOWED",
    "MISSING_OR_NULL_ORIGIN",
    "NAME_REQUIRED",
    "NEW_USER_SIGNUP_DISABLED",
    "NOT_ALLOWED_WHILE_IMPERSONATING",
    "NOT_FOUND",
    "NOT_IMPERSONATING",
    "NO_ACTIVE_ORGANIZATION",
    "NO_DATA_TO_UPDATE",
    "NO_VALUES_TO_UPDATE",
    "OAUTH_LINK_ERROR",
    "ORGANIZATION_ALREADY_EXISTS",
    "ORGANIZATION_DELETION_DISABLED",
    "ORGANIZATION_ID_REQUIRED",
    "ORGANIZATION_MEMBERSHIP_LIMIT_REACHED",
    "ORGANIZATION_NOT_FOUND",
    "ORGANIZATION_SLUG_ALREADY_TAKEN",
    "OTP_EXPIRED",
    "OTP_HAS_EXPIRED",
    "OTP_NOT_CONFIGURED",
    "OVERLOADED",
    "PASSKEY_NOT_FOUND",
    "PASSWORD_CANNOT_BE_UPDATED_VIA_UPDATE_USER",
    "PASSWORD_TOO_COMMON",
    "PASSWORD_TOO_LONG",
    "PASSWORD_TOO_SHORT",
    "PAYLOAD_EXPIRED",
    "PAYLOAD_TOO_LARGE",
    "PREVIOUSLY_REGISTERED",
    "PROVIDER_NOT_FOUND",
    "PROVIDER_NOT_SUPPORTED",
    "PROVIDER_UNAVAILABLE",
    "RATE_LIMITED",
    "REFILL_AMOUNT_AND_INTERVAL_REQUIRED",
    "REFILL_INTERVAL_AND_AMOUNT_REQUIRED",
    "REFRESH_TOKEN_NOT_FOUND",
    "REQUEST_NOT_FOUND",
    "REQUEST_TIMEOUT",
    "RESET_PASSWORD_DISABLED",
    "ROLE_NOT_FOUND",
    "SCIM_TOKEN_NOT_FOUND",
    "SEARCH_TOO_BROAD",
    "SERVER_ONLY_PROPERTY",
    "SERVICE_UNAVAILABLE",
    "SESSION_EXPIRED",
    "SESSION_NOT_FRESH",
    "SIGNING_KEY_ALREADY_ANNOUNCED",
    "SIGNING_KEY_ALREADY_REVOKED",
    "SIGNING_KEY_NOT_FOUND",
    "SOCIAL_ACCOUNT_ALREADY_LINKED",
    "SSO_PROVIDER_EXISTS",
    "SSO_PROVIDER_NOT_FOUND",
    "SSO_PROVIDER_READ_ONLY",
    "SSO_REQUIRED",
    "SSO_TEST_NOT_FOUND",
    "TEAM_IS_MANAGED_BY_A_DIRECTORY",
    "TEAM_MEMBER_LIMIT_REACHED",
    "TEAM_NOT_FOUND",
    "TOKEN_EXPIRED",
    "TOKEN_REFRESH_NOT_SUPPORTED",
    "TOO_MANY_ATTEMPTS",
    "TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE",
    "TOO_MANY_ENDPOINTS",
    "TOO_MANY_PASSKEYS",
    "TOO_MANY_REQUESTS",
    "TOO_MANY_SCIM_TOKENS",
    "TOO_MANY_SSO_PROVIDERS",
    "TOTP_NOT_ENABLED",
    "TWO_FACTOR_NOT_ENABLED",
    "TWO_FACTOR_REQUIRED",
    "UNABLE_TO_REMOVE_LAST_TEAM",
    "UNAUTHORIZED",
    "UNAUTHORIZED_SESSION",
    "UNKNOWN_EVENT",
    "UNSUPPORTED_MEDIA_TYPE",
    "URI_TOO_LONG",
    "USAGE_EXCEEDED",
    "USERNAME_IS_ALREADY_TAKEN",
    "USERNAME_TOO_LONG",
    "USERNAME_TOO_SHORT",
    "USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL",
    "USER_BANNED",
    "USER_EMAIL_NOT_FOUND",
    "USER_ID_CANNOT_BE_UPDATED",
    "USER_IS_ALREADY_A_MEMBER_OF_THIS_ORGANIZATION",
    "USER_IS_ALREADY_INVITED_TO_THIS_ORGANIZATION",
    "USER_IS_DISABLED_BY_THE_DIRECTORY",
    "USER_IS_NOT_A_MEMBER_OF_THE_ORGANIZATION",
    "USER_IS_NOT_A_MEMBER_OF_THE_TEAM",
    "USER_NOT_FOUND",
    "USER_NOT_MEMBER_OF_ORGANIZATION",
    "VALIDATION_ERROR",
    "VERIFICATION_EMAIL_NOT_ENABLED",
    "YOU_ARE_NOT_ALLOWED_TO_ACCESS_THIS_ORGANIZATION",
    "YOU_ARE_NOT_ALLOWED_TO_BAN_USERS",
    "YOU_ARE_NOT_ALLOWED_TO_CANCEL_THIS_INVITATION",
    "YOU_ARE_NOT_ALLOWED_TO_CHANGE_USERS_ROLE",
    "YOU_ARE_NOT_ALLOWED_TO_CREATE_A_NEW_ORGANIZATION",
    "YOU_ARE_NOT_ALLOWED_TO_CREATE_A_NEW_TEAM_MEMBER",
    "YOU_ARE_NOT_ALLOWED_TO_CREATE_TEAMS_IN_THIS_ORGANIZATION",
    "YOU_ARE_NOT_ALLOWED_TO_CREATE_USERS",
    "YOU_ARE_NOT_ALLOWED_TO_DELETE_TEAMS_IN_THIS_ORGANIZATION",
    "YOU_ARE_NOT_ALLOWED_TO_DELETE_THIS_MEMBER",
    "YOU_ARE_NOT_ALLOWED_TO_DELETE_THIS_ORGANIZATION",
    "YOU_ARE_NOT_ALLOWED_TO_DELETE_USERS",
    "YOU_ARE_NOT_ALLOWED_TO_GET_USER",
    "YOU_ARE_NOT_ALLOWED_TO_IMPERSONATE_USERS",
    "YOU_ARE_NOT_ALLOWED_TO_INVITE_USERS_TO_THIS_ORGANIZATION",
    "YOU_ARE_NOT_ALLOWED_TO_INVITE_USER_WITH_THIS_ROLE",
    "YOU_ARE_NOT_ALLOWED_TO_LIST_API_KEYS",
    "YOU_ARE_NOT_ALLOWED_TO_LIST_INVITATIONS",
    "YOU_ARE_NOT_ALLOWED_TO_LIST_USERS",
    "YOU_ARE_NOT_ALLOWED_TO_LIST_USERS_SESSIONS",
    "YOU_ARE_NOT_ALLOWED_TO_MANAGE_API_KEYS",
    "YOU_ARE_NOT_ALLOWED_TO_MANAGE_ORGANIZATIONS",
    "YOU_ARE_NOT_ALLOWED_TO_MANAGE_SERVICE",
    "YOU_ARE_NOT_ALLOWED_TO_REMOVE_A_TEAM_MEMBER",
    "YOU_ARE_NOT_ALLOWED_TO_REMOVE_USERS_ACCESS",
    "YOU_ARE_NOT_ALLOWED_TO_RESET_TWO_FACTOR",
    "YOU_ARE_NOT_ALLOWED_TO_REVOKE_USERS_SESSIONS",
    "YOU_ARE_NOT_ALLOWED_TO_SET_NON_EXISTENT_VALUE",
    "YOU_ARE_NOT_ALLOWED_TO_SET_USERS_EMAIL",
    "YOU_ARE_NOT_ALLOWED_TO_SET_USERS_PASSWORD",
    "YOU_ARE_NOT_ALLOWED_TO_UPDATE_THIS_MEMBER",
    "YOU_ARE_NOT_ALLOWED_TO_UPDATE_THIS_ORGANIZATION",
    "YOU_ARE_NOT_ALLOWED_TO_UPDATE_THIS_TEAM",
    "YOU_ARE_NOT_ALLOWED_TO_UPDATE_USERS",
    "YOU_ARE_NOT_A_MEMBER_OF_THIS_ORGANIZATION",
    "YOU_ARE_NOT_THE_RECIPIENT_OF_THE_INVITATION",
    "YOU_CANNOT_BAN_YOURSELF",
    "YOU_CANNOT_IMPERSONATE_ADMINS",
    "YOU_CANNOT_LEAVE_THE_ORGANIZATION_AS_THE_ONLY_OWNER",
    "YOU_CANNOT_LEAVE_THE_ORGANIZATION_WITHOUT_AN_OWNER",
    "YOU_CANNOT_REMOVE_YOURSELF",
    "YOU_DO_NOT_HAVE_AN_ACTIVE_TEAM",
    "YOU_HAVE_REACHED_THE_MAXIMUM_NUMBER_OF_ORGANIZATIONS",
    "YOU_HAVE_REACHED_THE_MAXIMUM_NUMBER_OF_TEAMS",
]


Event: TypeAlias = str


class CreateWebhookEndpointRequest(TypedDict):
    """A new endpoint."""

    name: str
    url: str
    events: list[Event]
    description: NotRequired[str | None]
    secret: NotRequired[str]


class FailuresOfCode(TypedDict):
    """Failures with one error code."""

    code: str
    count: int


class Finding(TypedDict):
    """The result of one check."""

    check: str
    verdict: str
    found: str
    fix: str


class DoctorReport(TypedDict):
    """What the checks found."""

    checkedAt: str
    findings: list[Finding]


Flag: TypeAlias = bool | str


class ChangePasswordRequest(TypedDict):
    """The current password and the new one."""

    currentPassword: str
    newPassword: str
    revokeOtherSessions: NotRequired[Flag]


class CreateOrganizationRequest(TypedDict):
    """The organization to create."""

    name: str
    slug: str
    logo: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]
    keepCurrentActiveOrganization: NotRequired[Flag]


class GenerateBackupCodesRequest(TypedDict):
    """The password of the caller."""

    password: str


class GetTotpUriRequest(TypedDict):
    """The password of the caller."""

    password: str


GrantType: TypeAlias = str


GrantTypesSupportedItem: TypeAlias = str


class Health(TypedDict):
    """The service is running."""

    ok: bool


Hint: TypeAlias = str


IdTokenSigningAlgValuesSupportedItem: TypeAlias = str


class IdTokenUserName(TypedDict):
    """The name in its parts."""

    firstName: NotRequired[str]
    lastName: NotRequired[str]


class IdTokenUser(TypedDict):
    """User data that the provider sent next to the token; only the name is used."""

    name: NotRequired[IdTokenUserName]


class IdTokenWithCompanions(TypedDict):
    """The ID token and related data; further keys are ignored."""

    token: str
    nonce: NotRequired[str]
    accessToken: NotRequired[str]
    refreshToken: NotRequired[str]
    user: NotRequired[IdTokenUser]


IdToken: TypeAlias = str | IdTokenWithCompanions


class Instance(TypedDict):
    """A process of the service."""

    id: str
    host: str
    process: int
    version: str
    startedAt: str
    lastSeenAt: str


InstanceId: TypeAlias = str


class IntrospectOAuthTokenRequest(TypedDict):
    """The token to introspect, and the client that asks."""

    token: str
    token_type_hint: NotRequired[str]
    client_id: NotRequired[str]
    client_secret: NotRequired[str]
    client_assertion_type: NotRequired[str]
    client_assertion: NotRequired[str]


IntrospectionEndpointAuthMethodsSupportedItem: TypeAlias = str


IntrospectionEndpointAuthSigningAlgValuesSupportedItem: TypeAlias = str


InvalidField = TypedDict(
    "InvalidField",
    {
        "in": Literal["body", "query", "path"],
        "name": str,
        "message": str,
    },
)


class Error(TypedDict):
    """The body of every response from 400 upwards."""

    message: str
    code: ErrorCode
    fields: NotRequired[list[InvalidField]]
    reason: NotRequired[str]
    minimumLength: NotRequired[int]
    maximumLength: NotRequired[int]
    url: NotRequired[str]
    providerId: NotRequired[str]
    tryAgainIn: NotRequired[int]
    error: NotRequired[str]
    error_description: NotRequired[str]


class Invitation(TypedDict):
    """An invitation to an organization."""

    id: str
    organizationId: str
    email: str
    role: str
    status: Literal["pending", "accepted", "rejected", "canceled"]
    inviterId: str
    expiresAt: str
    createdAt: str
    teamId: NotRequired[str | None]


class InvitationDetails(TypedDict):
    """An invitation, with its organization and inviter."""

    id: str
    organizationId: str
    email: str
    role: str
    status: Literal["pending", "accepted", "rejected", "canceled"]
    inviterId: str
    expiresAt: str
    createdAt: str
    teamId: NotRequired[str | None]
    organizationName: str
    organizationSlug: str
    inviterEmail: str


InvitationList: TypeAlias = list[Invitation]
"""Invitations, newest first."""


class LeaveOrganizationRequest(TypedDict):
    """The organization to leave."""

    organizationId: str


class LogoutTokenForm(TypedDict):
    """A logout token."""

    logout_token: str


class MagicLinkPreview(TypedDict):
    """Whose account a link opens."""

    email: str
    newUser: bool


class Mail(TypedDict):
    """An email, without its text."""

    id: str
    state: str
    template: str
    recipient: str | None
    userId: str | None
    createdAt: str
    updatedAt: str
    attempts: int
    nextAttempt: str | None
    error: str | None
    canSendAgain: bool


class MailPage(TypedDict):
    """A page of emails."""

    mails: list[Mail]
    nextCursor: str | None


class MailPreview(TypedDict):
    """An email with example values."""

    template: str
    language: str
    subject: str
    text: str
    html: str


class MailRequest(TypedDict):
    """An email."""

    mailId: str


class MailTemplateSummary(TypedDict):
    """A template of emails."""

    name: str
    sentWhen: str


class MailTemplates(TypedDict):
    """The templates of emails."""

    templates: list[MailTemplateSummary]


class Member(TypedDict):
    """A user as a member of an organization."""

    id: str
    organizationId: str
    userId: str
    role: str
    createdAt: str


class AcceptedInvitation(TypedDict):
    """An accepted invitation, and the new member."""

    invitation: Invitation
    member: Member


class MemberRole(TypedDict):
    """The roles of a member."""

    role: str


class MemberUser(TypedDict):
    """The user of a member."""

    id: str
    name: str
    email: str
    image: str | None


class MemberWithUser(TypedDict):
    """A member, with its user."""

    id: str
    organizationId: str
    userId: str
    role: str
    createdAt: str
    user: MemberUser


class MemberPage(TypedDict):
    """A page of members."""

    members: list[MemberWithUser]
    total: int


class NewBackupCodes(TypedDict):
    """The new backup codes; returned only once."""

    status: bool
    backupCodes: list[BackupCode]


NewEmail: TypeAlias = str


class ChangeEmailByCodeRequest(TypedDict):
    """The new address and the code sent there."""

    newEmail: NewEmail
    otp: str


class ChangeEmailRequest(TypedDict):
    """The new email address."""

    newEmail: NewEmail
    callbackURL: NotRequired[str]


class OAuthContinuation(TypedDict):
    """Where to go."""

    redirect: Literal[True]
    url: str


class OAuthEmpty(TypedDict):
    """An empty object."""


class OAuthError(TypedDict):
    """An error of the OAuth protocol (RFC 6749, 5.2)."""

    error: str
    error_description: str


class OAuthIntrospection(TypedDict):
    """What a token is for (RFC 7662). One that cannot be used has only `active`."""

    active: bool
    client_id: NotRequired[str]
    scope: NotRequired[str]
    token_type: NotRequired[Literal["Bearer"]]
    iss: NotRequired[str]
    sub: NotRequired[str]
    aud: NotRequired[str]
    iat: NotRequired[int]
    exp: NotRequired[int]
    auth_time: NotRequired[int]
    acr: NotRequired[Literal["1", "2"]]
    amr: NotRequired[list[AmrItem]]
    jti: NotRequired[str]


class OAuthResourceDescription(TypedDict):
    """An API that the client asks for."""

    uri: str
    name: str


class OAuthScopeDescription(TypedDict):
    """A scope, and what it means for users."""

    name: str
    description: str


class OAuthTokens(TypedDict):
    """The tokens of a client (RFC 6749, 5.1)."""

    access_token: str
    token_type: Literal["Bearer"]
    expires_in: int
    scope: str
    id_token: NotRequired[str]
    refresh_token: NotRequired[str]
    expires_at: int


class OAuthUserInfo(TypedDict):
    """Claims about a user (OpenID Connect Core, 5.1)."""

    sub: str
    name: NotRequired[str]
    picture: NotRequired[str]
    preferred_username: NotRequired[str]
    updated_at: NotRequired[int]
    email: NotRequired[str]
    email_verified: NotRequired[bool]


class OAuthUserInfoRequest(TypedDict):
    """Nothing."""


class Operation(TypedDict):
    op: str
    path: NotRequired[str]


class OrganizationChanges(TypedDict):
    """The new fields of an organization."""

    name: NotRequired[str]
    slug: NotRequired[str]
    logo: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]


class OrganizationMemberPage(TypedDict):
    """A page of members."""

    members: list[MemberWithUser]
    previous: str | None
    next: str | None


class OrganizationMetadata(TypedDict):
    """Data of the application."""


class CreatedOrganization(TypedDict):
    """A new organization, with its owner."""

    id: str
    name: str
    slug: str
    logo: str | None
    createdAt: str
    metadata: OrganizationMetadata | None
    members: list[Member]


class ListedOrganization(TypedDict):
    """An organization, and the number of its members."""

    id: str
    name: str
    slug: str
    logo: str | None
    createdAt: str
    metadata: OrganizationMetadata | None
    memberCount: int


class ListedOrganizations(TypedDict):
    """A page of organizations."""

    organizations: list[ListedOrganization]
    total: int
    totalCapped: bool
    previous: str | None
    next: str | None


class Organization(TypedDict):
    """An organization."""

    id: str
    name: str
    slug: str
    logo: str | None
    createdAt: str
    metadata: OrganizationMetadata | None


OrganizationList: TypeAlias = list[Organization]
"""The organizations of the caller."""


class OrganizationPermissionCheck(TypedDict):
    """Whether the caller has permissions."""

    error: str | None
    success: bool


class OrganizationSlugStatus(TypedDict):
    """Whether a slug is free."""

    status: Literal[True]


class OwnedApiKey(TypedDict):
    """An API key, without its text, and its owner."""

    id: str
    configId: str
    name: str | None
    start: str | None
    prefix: str | None
    referenceId: str
    enabled: bool
    expiresAt: str | None
    remaining: int | None
    refillAmount: int | None
    refillInterval: int | None
    lastRefillAt: str | None
    rateLimitEnabled: bool
    rateLimitTimeWindow: int
    rateLimitMax: int
    requestCount: int
    lastRequest: str | None
    permissions: dict[str, Any] | None
    metadata: dict[str, Any] | None
    createdBy: str | None
    createdAt: str
    updatedAt: str
    owner: ApiKeyOwner


class OwnedApiKeyPage(TypedDict):
    """A page of the keys of all users and organizations."""

    apiKeys: list[OwnedApiKey]
    nextCursor: str | None


PageTarget: TypeAlias = str


PageText: TypeAlias = str


class AccountCodeForm(TypedDict):
    """A code of the authenticator."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    code: str


class AccountDeletionForm(TypedDict):
    """Proof that the user wants to delete the account."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    typedEmail: NotRequired[str]
    password: NotRequired[str]


class AccountForm(TypedDict):
    """A form of a button alone, of a user who is signed in."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]


class AccountPasswordForm(TypedDict):
    """The password of the user who is signed in."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    step: NotRequired[str]
    password: str


class ActiveOrganizationForm(TypedDict):
    """The organization that becomes the active one."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    organization: NotRequired[str]


class ApiKeyDeletionForm(TypedDict):
    """An API key."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    key: str


class ApiKeyForm(TypedDict):
    """The key that is to be created."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    seen: NotRequired[str]
    name: NotRequired[str]
    kind: NotRequired[str]
    expiresIn: NotRequired[str]
    permissions: NotRequired[str]


class ConfirmForm(TypedDict):
    """The password of the user who is signed in."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    password: str


class ConfirmWithProviderForm(TypedDict):
    """The provider with which the signed-in user proves who they are."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    provider: str


class ConnectForm(TypedDict):
    """The provider of the account that is to be connected."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    provider: str


class ConsentDecisionForm(TypedDict):
    """What the user has decided about an authorization request."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    request: str
    decision: Literal["allow", "cancel"]


class ConsentForm(TypedDict):
    """A connected application."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    consent: str


class ConsoleAdditionForm(TypedDict):
    """A new member: a user, and every field `role-<name>`."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    member: str


class ConsoleApiKeyForm(TypedDict):
    """A key as it should be."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    version: NotRequired[str]
    name: NotRequired[str]
    expiresIn: NotRequired[str]
    permissions: NotRequired[str]
    remaining: NotRequired[str]
    refillAmount: NotRequired[str]
    refillInterval: NotRequired[str]
    rateLimitMax: NotRequired[str]
    rateLimitTimeWindow: NotRequired[str]


class ConsoleApplicationButtonForm(TypedDict):
    """A form of a button alone."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]


class ConsoleApplicationDeletionForm(TypedDict):
    """Proof that this application is meant."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    typedApplication: str


class ConsoleApplicationForm(TypedDict):
    """An application as it should be; what it may ask for are the names of the fields `scope-<name>`, `own-<name>` and `resource-<URI>`."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    version: NotRequired[str]
    name: str
    redirectUris: NotRequired[str]
    postLogoutRedirectUris: NotRequired[str]
    backchannelLogoutUri: NotRequired[str]
    clientUri: NotRequired[str]
    logoUri: NotRequired[str]
    tosUri: NotRequired[str]
    policyUri: NotRequired[str]
    contacts: NotRequired[str]


class ConsoleApplicationGrantsForm(TypedDict):
    """The end of the access of an application."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    consents: NotRequired[str]


class ConsoleApplicationRotationForm(TypedDict):
    """The application whose secret is replaced, as it was shown."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    version: NotRequired[str]


class ConsoleBanForm(TypedDict):
    """The ban."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    reason: NotRequired[str]
    lasts: Literal["1", "7", "30", "until", "ever"]
    until: NotRequired[str]


class ConsoleConnectionButtonForm(TypedDict):
    """A form of a button alone."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]


class ConsoleConnectionDeletionForm(TypedDict):
    """Proof that this connection is meant."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    typedConnection: str


class ConsoleConnectionProviderForm(TypedDict):
    """The identity provider of a connection as it should be."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    metadata: NotRequired[str]
    metadataUrl: NotRequired[str]
    issuer: NotRequired[str]
    clientId: NotRequired[str]
    clientSecret: NotRequired[str]


class ConsoleConnectionSettingsForm(TypedDict):
    """The settings of a connection as they should be; without `defaultRole` roles stay as they are."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    name: str
    version: NotRequired[str]
    signUp: NotRequired[str]
    secondFactor: Literal["provider", "local"]
    defaultRole: NotRequired[str]
    groupRoles: NotRequired[str]
    idpInitiated: NotRequired[str]
    overrideUserInfo: NotRequired[str]
    emailAttribute: NotRequired[str]
    nameAttribute: NotRequired[str]
    groupsAttribute: NotRequired[str]


class ConsoleDeletionForm(TypedDict):
    """Proof that this user is meant."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    typed: str


class ConsoleDisconnectForm(TypedDict):
    """The account to disconnect."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    connection: str


class ConsoleDomainForm(TypedDict):
    """A domain."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    domain: str


class ConsoleDomainsForm(TypedDict):
    """Domains that the connection gets."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    domains: str


class ConsoleEmailForm(TypedDict):
    """The new email address."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    newEmail: str
    verified: NotRequired[str]


class ConsoleInvitationForm(TypedDict):
    """The invitation that is meant."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    invitation: str


class ConsoleKeyButtonForm(TypedDict):
    """A form of a button alone."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]


class ConsoleKeyForm(TypedDict):
    """A signing key."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    key: str


class ConsoleKeyRotationForm(TypedDict):
    """The algorithm of the next key, and when it begins to sign."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    algorithm: Literal["ES256", "RS256", "EdDSA"]
    now: NotRequired[Literal["", "true"]]


class ConsoleMailForm(TypedDict):
    """An email, and the filter of the list that shows it."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    mail: str
    state: NotRequired[Literal["", "waiting", "failed", "sent"]]


class ConsoleMailPreviewForm(TypedDict):
    """A template, and a language."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    template: str
    language: NotRequired[Literal["", "ar", "de", "en", "es", "fr", "pt-BR"]]
    scheme: NotRequired[Literal["", "light", "dark"]]


class ConsoleMemberForm(TypedDict):
    """The member that is meant."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    member: str


class ConsoleMemberRolesForm(TypedDict):
    """The roles: every field `role-<name>`."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    version: NotRequired[str]
    member: str


class ConsoleNewApplicationForm(TypedDict):
    """A new application; what it may ask for are the names of the fields `scope-<name>`, `own-<name>` and `resource-<URI>`."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    once: str
    kind: Literal["web", "browser", "native", "machine", "device"]
    name: str
    redirectUris: NotRequired[str]


class ConsoleNewConnectionForm(TypedDict):
    """A new connection: with `metadataUrl` or `metadata` for `saml`, or with `issuer`, `clientId` and `clientSecret` for `oidc`."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    type: Literal["saml", "oidc"]
    providerId: str
    name: str
    organization: NotRequired[str]
    domains: str
    metadataUrl: NotRequired[str]
    metadata: NotRequired[str]
    issuer: NotRequired[str]
    clientId: NotRequired[str]
    clientSecret: NotRequired[str]


class ConsoleNewKeyForm(TypedDict):
    """A new key of a user or an organization."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    owner: str
    seen: NotRequired[str]
    kind: NotRequired[str]
    name: NotRequired[str]
    expiresIn: NotRequired[str]
    permissions: NotRequired[str]
    remaining: NotRequired[str]
    refillAmount: NotRequired[str]
    refillInterval: NotRequired[str]
    rateLimitMax: NotRequired[str]
    rateLimitTimeWindow: NotRequired[str]


class ConsoleNewUserForm(TypedDict):
    """A new user; the roles are the fields `role-<name>`."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    name: str
    email: str
    access: Literal["link", "password", "none"]
    newPassword: NotRequired[str]
    verified: NotRequired[str]


class ConsoleNewWebhookForm(TypedDict):
    """A new endpoint; the subscriptions are the names of the fields `event-<name>`."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    seen: NotRequired[str]
    name: str
    url: str
    description: NotRequired[str]


class ConsoleOrganizationDeletionForm(TypedDict):
    """Proof that this organization is meant."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    typedSlug: str


class ConsoleOrganizationForm(TypedDict):
    """An organization as it should be."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    version: NotRequired[str]
    name: str
    slug: str
    logo: NotRequired[str]


class ConsolePasskeyForm(TypedDict):
    """The passkey to remove."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    passkey: str


class ConsolePasswordForm(TypedDict):
    """The new password."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    newPassword: str


class ConsoleProfileForm(TypedDict):
    """The profile as it should be."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    version: NotRequired[str]
    name: str
    image: NotRequired[str]
    username: NotRequired[str]
    locale: NotRequired[str]


class ConsoleRequiredDomainForm(TypedDict):
    """A domain whose users must sign in through the connection."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    domain: str
    revokeOtherSessions: NotRequired[str]


class ConsoleRolesForm(TypedDict):
    """The roles: every field `role-<name>`."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    version: NotRequired[str]


class ConsoleScimRevocationForm(TypedDict):
    """The token to revoke."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    token: str


class ConsoleScimTokenForm(TypedDict):
    """A new token."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    tokenName: str
    days: NotRequired[Literal["", "30", "90", "365"]]


class ConsoleSelectedUsersForm(TypedDict):
    """What to do, and to whom."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    act: Literal["ban", "unban", "end-sessions"]
    users: str
    reason: NotRequired[str]
    lasts: NotRequired[Literal["1", "7", "30", "until", "ever"]]
    until: NotRequired[str]


class ConsoleSendForm(TypedDict):
    """A request to send something once."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    once: str


class ConsoleSessionForm(TypedDict):
    """The session to end."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    session: str


class ConsoleUserApplicationForm(TypedDict):
    """The application whose access to a user ends."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    application: str


class ConsoleUserForm(TypedDict):
    """A form of a button alone."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]


class ConsoleVerificationForm(TypedDict):
    """Whether the email address counts as verified."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    verified: Literal["true", "false"]


class ConsoleWebhookButtonForm(TypedDict):
    """A form of a button alone."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]


class ConsoleWebhookDeletionForm(TypedDict):
    """Proof that this endpoint is meant."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    typedName: str


class ConsoleWebhookForm(TypedDict):
    """An endpoint as it should be; the subscriptions are the names of the fields `event-<name>`."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    version: NotRequired[str]
    name: str
    url: str
    description: NotRequired[str]


class ConsoleWebhookRotationForm(TypedDict):
    """The endpoint whose secret is replaced, as it was shown."""

    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    version: NotRequired[str]


class DeviceForm(TypedDict):
    """The code of the device that the user decides about."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    user_code: str


class DisconnectForm(TypedDict):
    """A connected account."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    connection: str


class EmailChangeForm(TypedDict):
    """The new email address."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    newEmail: str


class EmailCodeForm(TypedDict):
    """A code that was sent by email."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    email: str
    code: str


class EmailSignInForm(TypedDict):
    """The address that a link or a code is sent to."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    email: str
    method: NotRequired[str]


class ForgotPasswordForm(TypedDict):
    """The address that the link is sent to."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    email: str


class LogoutForm(TypedDict):
    """The press of a button of the logout page."""

    ui_locales: NotRequired[PageText]
    request: str
    accept: str


class MagicLinkForm(TypedDict):
    """The token of a sign-in link, which is used up now."""

    callbackURL: NotRequired[PageTarget]
    newUserCallbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    replaces: NotRequired[str]
    token: str


class MailedDeletionForm(TypedDict):
    """The token of the mailed link that deletes the account."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    token: str


class MailedTokenForm(TypedDict):
    """The token of a mailed link, which is used up now."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    reason: NotRequired[str]
    token: str


class MemberRoleForm(TypedDict):
    """A member, and the new role."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    member: str
    former: NotRequired[str]
    role: str


class OrganizationDeletionForm(TypedDict):
    """Proof that this organization is meant."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    typedSlug: str


class OrganizationForm(TypedDict):
    """The organization as it should be."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    version: NotRequired[str]
    name: str
    slug: str
    logo: NotRequired[str]


class OrganizationInvitationForm(TypedDict):
    """The invitation that is to be sent."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    email: str
    role: str
    team: NotRequired[str]


class OrganizationMemberForm(TypedDict):
    """A member."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    member: str


class OrganizationTeamForm(TypedDict):
    """The team that is to be created."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    newest: NotRequired[str]
    teamName: str


class PageForm(TypedDict):
    """A form of a button alone."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    prompt: NotRequired[str]


class Passkey(TypedDict):
    """A passkey. Nothing in it is secret."""

    id: str
    name: str | None
    userId: str
    credentialID: str
    publicKey: str
    counter: int
    deviceType: Literal["singleDevice", "multiDevice"]
    backedUp: bool
    transports: str | None
    aaguid: str | None
    createdAt: str
    lastUsedAt: str | None


class PasskeyAdditionForm(TypedDict):
    """The response of an authenticator that has created a passkey, as a script of the page fills it in."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    name: NotRequired[str]
    credential: str
    clientDataJSON: str
    attestationObject: str
    transports: NotRequired[str]


class PasskeyAlgorithm(TypedDict):
    """An algorithm that is accepted."""

    type: Literal["public-key"]
    alg: int


class PasskeyAuthentication(TypedDict):
    """The result of `navigator.credentials.get` as JSON."""

    id: str
    rawId: str
    type: Literal["public-key"]
    response: AuthenticatorAssertion


class PasskeyAuthenticatorSelection(TypedDict):
    """What the authenticator must be able to do."""

    authenticatorAttachment: NotRequired[Literal["platform", "cross-platform"]]
    residentKey: Literal["required"]
    requireResidentKey: Literal[True]
    userVerification: Literal["required", "preferred"]


class PasskeyForm(TypedDict):
    """A passkey."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    passkey: str


class PasskeyNameForm(TypedDict):
    """A passkey, and its new name."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    step: str
    newName: str


class PasskeyRelyingParty(TypedDict):
    """What the passkey is for."""

    id: str
    name: str


class PasskeySignInForm(TypedDict):
    """The response of an authenticator that proves a passkey, as a script of the page fills it in."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    rememberMe: NotRequired[str]
    credential: str
    clientDataJSON: str
    authenticatorData: str
    signature: str
    userHandle: NotRequired[str]


class PasskeyUser(TypedDict):
    """Whom the passkey is for."""

    id: str
    name: str
    displayName: str


class PasskeysOfUser(TypedDict):
    """The passkeys of a user."""

    passkeys: list[Passkey]


class PasswordChangeForm(TypedDict):
    """The current password, and the new one."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    currentPassword: str
    newPassword: str
    revokeOtherSessions: NotRequired[str]


class PendingInvitationForm(TypedDict):
    """A pending invitation."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    invitation: str
    version: NotRequired[str]


Permission: TypeAlias = str


class HasOrganizationPermissionRequest(TypedDict):
    """The permissions to check."""

    permissions: dict[str, list[Permission]]
    organizationId: NotRequired[str]


class HasPermissionRequest(TypedDict):
    """The permissions to check."""

    permissions: dict[str, list[Permission]]


class PermissionVerdict(TypedDict):
    """Whether the caller has the permissions."""

    error: str | None
    success: bool


class PollDeviceRequest(TypedDict):
    """The device code, and the client that it was issued to."""

    grant_type: NotRequired[str]
    device_code: NotRequired[str]
    client_id: NotRequired[str]
    client_secret: NotRequired[str]
    client_assertion_type: NotRequired[str]
    client_assertion: NotRequired[str]


PostLogoutRedirectUri: TypeAlias = str


class ProfileForm(TypedDict):
    """The profile as it should be."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    version: NotRequired[str]
    name: str
    image: NotRequired[str]
    username: NotRequired[str]
    locale: NotRequired[str]


PromptValuesSupportedItem: TypeAlias = str


class ProviderAccount(TypedDict):
    """The linked account of the profile."""

    id: str
    providerId: str
    issuer: str
    accountId: str


class ProviderCallbackForm(TypedDict):
    """The form that a provider posts."""

    code: NotRequired[str]
    state: NotRequired[str]
    error: NotRequired[str]
    error_description: NotRequired[str]
    iss: NotRequired[str]
    user: NotRequired[str]


class ProviderForm(TypedDict):
    """The provider to sign in with."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    provider: str


class ProviderTokenRequest(TypedDict):
    """The account whose tokens are requested, by `providerId`, `accountId` or both; one of them is required."""

    providerId: NotRequired[str]
    accountId: NotRequired[str]
    userId: NotRequired[str]


class ProviderUser(TypedDict):
    """A provider's profile in this service's format."""

    id: str
    name: str | None
    email: str | None
    image: str | None
    emailVerified: bool


class AccountProfile(TypedDict):
    """The user's current profile at a provider."""

    user: ProviderUser
    data: dict[str, Any]
    account: ProviderAccount


class PushedRequest(TypedDict):
    """A stored authorization request."""

    request_uri: str
    expires_in: int


class QueuedDelivery(TypedDict):
    """A delivery that is sent at once."""

    deliveryId: str


class ReadPublicOAuthClientRequest(TypedDict):
    """A client, and the query of a page that it has sent a user to."""

    client_id: str
    oauth_query: str


class Readiness(TypedDict):
    """The service is ready."""

    ready: bool


class RedeliverRequest(TypedDict):
    """The delivery to repeat."""

    deliveryId: str


RedirectUri: TypeAlias = str


class OAuthRequestClient(TypedDict):
    """The client of a request."""

    client_id: str
    client_name: str
    client_uri: NotRequired[str]
    logo_uri: NotRequired[str]
    tos_uri: NotRequired[str]
    policy_uri: NotRequired[str]
    contacts: NotRequired[list[Contact]]
    redirect_uris: list[RedirectUri]
    verified: bool


class PublicOAuthClient(TypedDict):
    """What anyone who signs in through a client may know of it. Members that it has not set are absent."""

    client_id: str
    client_name: str
    client_uri: NotRequired[str]
    logo_uri: NotRequired[str]
    tos_uri: NotRequired[str]
    policy_uri: NotRequired[str]
    contacts: NotRequired[list[Contact]]
    redirect_uris: list[RedirectUri]


class ReducedSession(TypedDict):
    """The part of a session in the response to a backup code."""

    token: str
    userId: str
    createdAt: str
    expiresAt: str


class ReducedUser(TypedDict):
    """The part of a user that responses of sign-up and sign-in contain."""

    id: str
    email: str
    name: str
    image: str | None
    emailVerified: bool
    createdAt: str
    updatedAt: str


class EmailVerified(TypedDict):
    """The email address is verified."""

    user: ReducedUser
    status: bool


class MagicLinkConfirmed(TypedDict):
    """Signed in, and where to go."""

    redirect: bool
    url: str
    token: str
    user: ReducedUser


class OAuthRequestDetails(TypedDict):
    """A live authorization or logout request."""

    kind: Literal["authorize", "logout"]
    client: OAuthRequestClient | None
    documentHost: str | None
    redirectHost: str | None
    scopes: list[OAuthScopeDescription]
    resources: list[OAuthResourceDescription]
    offline: bool
    prompt: list[Literal["none", "login", "consent", "select_account", "create"]]
    loginHint: str | None
    uiLocales: str | None
    reason: Literal["login", "max_age", "hint"] | None
    createdAt: str
    user: ReducedUser | None


class OtpVerified(TypedDict):
    """The code is valid."""

    token: str
    user: ReducedUser
    redirect: NotRequired[Literal[True]]
    url: NotRequired[str]


class PasswordChanged(TypedDict):
    """The password has been changed."""

    user: ReducedUser
    token: str


class RejectedInvitation(TypedDict):
    """A rejected invitation."""

    invitation: Invitation
    member: dict[str, Any] | None


class RemoveMemberAsAdminRequest(TypedDict):
    """The member to remove."""

    organizationId: str
    memberId: str


class RemoveMemberRequest(TypedDict):
    """The member to remove."""

    memberIdOrEmail: str
    organizationId: NotRequired[str]


class RemoveTeamRequest(TypedDict):
    """The team to remove."""

    teamId: str
    organizationId: NotRequired[str]


class RemoveUserPasskeyRequest(TypedDict):
    """The passkey to remove."""

    userId: str
    passkeyId: str


class RemovedMember(TypedDict):
    """A removed member."""

    member: MemberWithUser


class RequestEmailChangeRequest(TypedDict):
    """The new address."""

    newEmail: NewEmail
    otp: NotRequired[str]


class RequestMagicLinkRequest(TypedDict):
    """The address of a sign-in link, and where it leads."""

    email: Email
    name: NotRequired[str]
    callbackURL: NotRequired[str]
    newUserCallbackURL: NotRequired[str]
    errorCallbackURL: NotRequired[str]
    rememberMe: NotRequired[Flag]
    metadata: NotRequired[dict[str, Any]]


class RequestPasswordResetRequest(TypedDict):
    """A user who forgot the password."""

    email: Email
    redirectTo: NotRequired[str]


class RequestResetCodeRequest(TypedDict):
    """A user who forgot the password."""

    email: Email


RequiredDomain: TypeAlias = str


class ResetPasswordByCodeRequest(TypedDict):
    """The new password, and the mailed code that authorizes it."""

    email: Email
    otp: str
    password: str


class ResetPasswordForm(TypedDict):
    """The token of the mailed link, and the new password."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    token: str
    newPassword: str


class ResetPasswordRequest(TypedDict):
    """The new password, and the emailed token that authorizes it."""

    newPassword: str
    token: NotRequired[str]


class ResetTokenValid(TypedDict):
    """The token is valid."""

    token: str


Resource: TypeAlias = str


ResourceItem: TypeAlias = str


class AuthorizationRequest(TypedDict):
    """An authorization request."""

    response_type: NotRequired[str]
    client_id: str
    redirect_uri: NotRequired[str]
    scope: NotRequired[str]
    code_challenge: NotRequired[str]
    code_challenge_method: NotRequired[str]
    state: NotRequired[str]
    nonce: NotRequired[str]
    prompt: NotRequired[str]
    max_age: NotRequired[str]
    login_hint: NotRequired[str]
    id_token_hint: NotRequired[str]
    ui_locales: NotRequired[str]
    resource: NotRequired[list[ResourceItem]]
    response_mode: NotRequired[str]
    request_uri: NotRequired[str]


class DeviceRequest(TypedDict):
    """The request of a device. Only a caller with a session gets more than the code and the status."""

    user_code: str
    status: Literal["pending", "approved", "denied", "redeemed"]
    client_id: NotRequired[str]
    client_name: NotRequired[str]
    scope: NotRequired[str]
    resource: NotRequired[list[ResourceItem]]
    network: NotRequired[str | None]
    userAgent: NotRequired[str | None]
    createdAt: NotRequired[str]


class OAuthTokenRequest(TypedDict):
    """A request for tokens. Which properties are needed depends on the grant type."""

    grant_type: str
    code: NotRequired[str]
    code_verifier: NotRequired[str]
    redirect_uri: NotRequired[str]
    device_code: NotRequired[str]
    refresh_token: NotRequired[str]
    scope: NotRequired[str]
    resource: NotRequired[list[ResourceItem]]
    client_id: NotRequired[str]
    client_secret: NotRequired[str]
    client_assertion_type: NotRequired[str]
    client_assertion: NotRequired[str]


class PushAuthorizationRequest(TypedDict):
    """An authorization request, and the credentials of its client."""

    response_type: str
    client_id: NotRequired[str]
    redirect_uri: str
    scope: str
    code_challenge: str
    code_challenge_method: str
    state: NotRequired[str]
    nonce: NotRequired[str]
    prompt: NotRequired[str]
    max_age: NotRequired[str]
    login_hint: NotRequired[str]
    id_token_hint: NotRequired[str]
    ui_locales: NotRequired[str]
    resource: NotRequired[list[ResourceItem]]
    response_mode: NotRequired[str]
    client_secret: NotRequired[str]
    client_assertion_type: NotRequired[str]
    client_assertion: NotRequired[str]


ResourceServerItem: TypeAlias = str


ResponseModesSupportedItem: TypeAlias = str


ResponseType: TypeAlias = str


class OAuthClient(TypedDict):
    """A client, as in RFC 7591 (3.2.1). Members without a value are left out."""

    client_id: str
    client_id_issued_at: int
    client_name: str
    application_type: Literal["web", "native"]
    redirect_uris: list[RedirectUri]
    post_logout_redirect_uris: list[PostLogoutRedirectUri]
    token_endpoint_auth_method: Literal[
        "client_secret_basic", "client_secret_post", "none", "private_key_jwt"
    ]
    jwks: NotRequired[dict[str, Any]]
    grant_types: list[GrantType]
    response_types: list[ResponseType]
    scope: str
    resources: list[Resource]
    client_credentials_scopes: list[ClientCredentialsScope]
    id_token_signed_response_alg: str
    backchannel_logout_uri: NotRequired[str]
    client_uri: NotRequired[str]
    logo_uri: NotRequired[str]
    tos_uri: NotRequired[str]
    policy_uri: NotRequired[str]
    contacts: NotRequired[list[Contact]]
    skip_consent: bool
    session_sign_in: bool
    resource_server: list[ResourceServerItem]
    disabled: bool
    source: Literal["cli", "config", "admin", "user", "dynamic", "document"]
    user_id: NotRequired[str]


class ListedOAuthClient(TypedDict):
    """A client, and how much it is used."""

    client: OAuthClient
    verified: bool
    lastUsedOn: str | None
    grantCount: int | None


class ListedOAuthClients(TypedDict):
    """A page of clients."""

    clients: list[ListedOAuthClient]
    total: int
    totalCapped: bool
    nextCursor: str | None


class OAuthClientChanges(TypedDict):
    """The new members; null removes one, so that it has its default."""

    client_name: NotRequired[str | None]
    application_type: NotRequired[str | None]
    redirect_uris: NotRequired[list[RedirectUri] | None]
    post_logout_redirect_uris: NotRequired[list[PostLogoutRedirectUri] | None]
    token_endpoint_auth_method: NotRequired[str | None]
    jwks: NotRequired[dict[str, Any] | None]
    grant_types: NotRequired[list[GrantType] | None]
    response_types: NotRequired[list[ResponseType] | None]
    scope: NotRequired[str | None]
    resources: NotRequired[list[Resource] | None]
    client_credentials_scopes: NotRequired[list[ClientCredentialsScope] | None]
    id_token_signed_response_alg: NotRequired[str | None]
    backchannel_logout_uri: NotRequired[str | None]
    client_uri: NotRequired[str | None]
    logo_uri: NotRequired[str | None]
    tos_uri: NotRequired[str | None]
    policy_uri: NotRequired[str | None]
    contacts: NotRequired[list[Contact] | None]
    skip_consent: NotRequired[bool | None]
    session_sign_in: NotRequired[bool | None]
    resource_server: NotRequired[list[ResourceServerItem] | None]
    disabled: NotRequired[bool | None]


class OAuthClientMetadata(TypedDict):
    """Client metadata (RFC 7591, section 2). Members that the service does not know are ignored."""

    client_name: NotRequired[str | None]
    application_type: NotRequired[str | None]
    redirect_uris: NotRequired[list[RedirectUri] | None]
    post_logout_redirect_uris: NotRequired[list[PostLogoutRedirectUri] | None]
    token_endpoint_auth_method: NotRequired[str | None]
    jwks: NotRequired[dict[str, Any] | None]
    grant_types: NotRequired[list[GrantType] | None]
    response_types: NotRequired[list[ResponseType] | None]
    scope: NotRequired[str | None]
    resources: NotRequired[list[Resource] | None]
    client_credentials_scopes: NotRequired[list[ClientCredentialsScope] | None]
    id_token_signed_response_alg: NotRequired[str | None]
    backchannel_logout_uri: NotRequired[str | None]
    client_uri: NotRequired[str | None]
    logo_uri: NotRequired[str | None]
    tos_uri: NotRequired[str | None]
    policy_uri: NotRequired[str | None]
    contacts: NotRequired[list[Contact] | None]
    skip_consent: NotRequired[bool | None]
    session_sign_in: NotRequired[bool | None]
    resource_server: NotRequired[list[ResourceServerItem] | None]


class OAuthClientWithSecret(TypedDict):
    """A client with its secret, which is shown only here; a client that authenticates otherwise has none."""

    client_id: str
    client_id_issued_at: int
    client_name: str
    application_type: Literal["web", "native"]
    redirect_uris: list[RedirectUri]
    post_logout_redirect_uris: list[PostLogoutRedirectUri]
    token_endpoint_auth_method: Literal[
        "client_secret_basic", "client_secret_post", "none", "private_key_jwt"
    ]
    jwks: NotRequired[dict[str, Any]]
    grant_types: list[GrantType]
    response_types: list[ResponseType]
    scope: str
    resources: list[Resource]
    client_credentials_scopes: list[ClientCredentialsScope]
    id_token_signed_response_alg: str
    backchannel_logout_uri: NotRequired[str]
    client_uri: NotRequired[str]
    logo_uri: NotRequired[str]
    tos_uri: NotRequired[str]
    policy_uri: NotRequired[str]
    contacts: NotRequired[list[Contact]]
    skip_consent: bool
    session_sign_in: bool
    resource_server: list[ResourceServerItem]
    disabled: bool
    source: Literal["cli", "config", "admin", "user", "dynamic", "document"]
    user_id: NotRequired[str]
    client_secret: NotRequired[str]
    client_secret_expires_at: NotRequired[int]


ResponseTypesSupportedItem: TypeAlias = str


RevocationEndpointAuthMethodsSupportedItem: TypeAlias = str


RevocationEndpointAuthSigningAlgValuesSupportedItem: TypeAlias = str


class RevokeOAuthTokenRequest(TypedDict):
    """The token to revoke, and the client that it was issued to."""

    token: str
    token_type_hint: NotRequired[str]
    client_id: NotRequired[str]
    client_secret: NotRequired[str]
    client_assertion_type: NotRequired[str]
    client_assertion: NotRequired[str]


class RevokeScimTokenRequest(TypedDict):
    """A token to revoke."""

    providerId: str
    tokenId: str


class RevokeSessionRequest(TypedDict):
    """The session to end."""

    token: str


class RevokeSigningKeyRequest(TypedDict):
    """A key that signs tokens."""

    keyId: str


class RevokeUserSessionRequest(TypedDict):
    """The session to end."""

    sessionToken: str


class RevokedConsent(TypedDict):
    """The consent is revoked."""

    success: Literal[True]


class RevokedSession(TypedDict):
    """The session is ended, if it was one of the caller's."""

    success: bool
    status: bool


class RevokedSessions(TypedDict):
    """The sessions are ended."""

    status: bool
    count: int


class RevokedUserSessions(TypedDict):
    """The sessions are ended."""

    success: bool
    count: int


RoleItem: TypeAlias = str


class AddMemberRequest(TypedDict):
    """The user to add."""

    userId: str
    role: str | list[RoleItem]
    organizationId: NotRequired[str]
    teamId: NotRequired[str]


class RotateOAuthClientSecretRequest(TypedDict):
    """The client that gets another secret."""

    client_id: str


class RotateSigningKeyRequest(TypedDict):
    """The next key of an algorithm."""

    algorithm: Literal["ES256", "RS256", "EdDSA"]
    now: NotRequired[bool]


class RotateWebhookSecretRequest(TypedDict):
    """The endpoint whose secret is replaced."""

    id: str
    secret: NotRequired[str]


class RotatedWebhookSecret(TypedDict):
    """The new secret of an endpoint, which is shown only here."""

    secret: str
    previousUntil: str | None


class SamlLogoutForm(TypedDict):
    """A logout request or a logout response."""

    SAMLRequest: NotRequired[str]
    SAMLResponse: NotRequired[str]
    RelayState: NotRequired[str]


class SamlResponseForm(TypedDict):
    """The form that an identity provider has the browser post."""

    SAMLResponse: NotRequired[str]
    RelayState: NotRequired[str]


Schema: TypeAlias = str


class ScimDocument(TypedDict):
    """What the service says about its protocol (RFC 7644, 4)."""

    schemas: NotRequired[list[Schema]]


class ScimError(TypedDict):
    """An error of the protocol (RFC 7644, 3.12)."""

    schemas: list[Schema]
    status: str
    scimType: NotRequired[str]
    detail: NotRequired[str]


class ScimFailure(TypedDict):
    """A request of a directory that was refused. It has no identifier, filter or value that the directory has sent."""

    time: str
    method: str
    resource: str
    status: int
    scimType: str | None
    message: str


class ScimDirectory(TypedDict):
    """The directory of a connection."""

    url: str
    activeUsers: int
    stoppedAt: str | None
    lastErrors: list[ScimFailure]


class ScimGroup(TypedDict):
    """A group (RFC 7643, 4.2): a team of the organization."""

    schemas: NotRequired[list[Schema]]
    id: NotRequired[str]
    externalId: NotRequired[str | None]
    meta: NotRequired[dict[str, Any]]
    displayName: str
    members: NotRequired[list[dict[str, Any]]]


class ScimGroupPage(TypedDict):
    """Groups of a directory."""

    schemas: list[Schema]
    totalResults: NotRequired[int]
    startIndex: NotRequired[int]
    itemsPerPage: int
    nextCursor: NotRequired[str]
    Resources: list[dict[str, Any]]


class ScimGroupRequest(TypedDict):
    """A group as a directory sends it."""

    schemas: NotRequired[list[Schema]]
    id: NotRequired[str]
    externalId: NotRequired[str | None]
    meta: NotRequired[dict[str, Any]]
    displayName: str
    members: NotRequired[list[dict[str, Any]]]


class ScimPatchRequest(TypedDict):
    """Changes of a resource (RFC 7644, 3.5.2)."""

    schemas: NotRequired[list[Schema]]
    Operations: list[Operation]


class ScimSuccess(TypedDict):
    """The change is made."""

    success: bool


class ScimToken(TypedDict):
    """A token of a directory, without its text."""

    id: str
    name: str
    createdAt: str
    lastUsedAt: str | None
    expiresAt: str | None


class CreatedScimToken(TypedDict):
    """A new token and its text, which is shown only here."""

    token: ScimToken
    secret: str


class ScimUser(TypedDict):
    """A user (RFC 7643, 4.1, with the enterprise extension, 4.3). `userName` is the email address, which must be in a verified domain of the connection. Further attributes are kept up to 8 KiB, and returned."""

    schemas: NotRequired[list[Schema]]
    id: NotRequired[str]
    externalId: NotRequired[str | None]
    meta: NotRequired[dict[str, Any]]
    userName: str
    active: NotRequired[bool]
    displayName: NotRequired[str | None]
    name: NotRequired[dict[str, Any] | None]
    emails: NotRequired[list[dict[str, Any]]]
    groups: NotRequired[list[dict[str, Any]]]


class ScimUserPage(TypedDict):
    """Users of a directory."""

    schemas: list[Schema]
    totalResults: NotRequired[int]
    startIndex: NotRequired[int]
    itemsPerPage: int
    nextCursor: NotRequired[str]
    Resources: list[dict[str, Any]]


class ScimUserRequest(TypedDict):
    """A user as a directory sends it."""

    schemas: NotRequired[list[Schema]]
    id: NotRequired[str]
    externalId: NotRequired[str | None]
    meta: NotRequired[dict[str, Any]]
    userName: str
    active: NotRequired[bool]
    displayName: NotRequired[str | None]
    name: NotRequired[dict[str, Any] | None]
    emails: NotRequired[list[dict[str, Any]]]
    groups: NotRequired[list[dict[str, Any]]]


Scope: TypeAlias = str


class ConsentUpdate(TypedDict):
    """The scopes that are to remain."""

    scopes: list[Scope]


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


class AccountsOfUser(TypedDict):
    """The accounts with which a user can sign in."""

    accounts: list[LinkedAccount]


LinkedAccountList: TypeAlias = list[LinkedAccount]
"""The linked accounts of the caller, oldest first."""


class OAuthConnection(TypedDict):
    """A client that a user has allowed something, or that holds a grant of theirs."""

    clientId: str
    clientName: str
    verified: bool
    scopes: list[Scope]
    resources: list[Resource]
    consentedAt: str | None
    grantedAt: str | None
    grantCount: int


class OAuthConnections(TypedDict):
    """The connected applications of a user."""

    connections: list[OAuthConnection]


class OAuthConsent(TypedDict):
    """What a user has allowed a client."""

    id: str
    clientId: str
    clientName: str
    userId: str
    scopes: list[Scope]
    resources: list[Resource]
    createdAt: str
    updatedAt: str


class OAuthGrant(TypedDict):
    """What a user has granted a client in one authorization."""

    id: str
    clientId: str
    clientName: str
    userId: str
    scopes: list[Scope]
    resources: list[Resource]
    offline: bool
    createdAt: str
    expiresAt: str


class OAuthGrantPage(TypedDict):
    """A page of grants."""

    grants: list[OAuthGrant]
    nextCursor: str | None


class ProviderTokens(TypedDict):
    """The tokens issued by a provider; unknown values are null."""

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
    """A provider to link; immediately with an ID token, otherwise by redirect to the provider."""

    provider: str
    callbackURL: NotRequired[str]
    scopes: NotRequired[Scopes]
    errorCallbackURL: NotRequired[str]
    disableRedirect: NotRequired[Flag]
    idToken: NotRequired[IdToken]
    requestSignUp: NotRequired[Flag]
    loginHint: NotRequired[str]


ScopesSupportedItem: TypeAlias = str


class SecondFactorForm(TypedDict):
    """A code of the second factor."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    method: NotRequired[str]
    code: str
    trustDevice: NotRequired[str]


class SecondFactorSetupForm(TypedDict):
    """The second factor that is to be set up."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    step: NotRequired[str]
    password: str


class SelectedAccountForm(TypedDict):
    """The authorization request that the user goes on with, as who they are."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    request: str


class SendEmailCodeRequest(TypedDict):
    """The address to send a code to, and what the code is for."""

    email: Email
    type: Literal["sign-in", "email-verification", "forget-password"]


class SendMailPreviewRequest(TypedDict):
    """A template, and a language."""

    template: str
    language: NotRequired[Literal["ar", "de", "en", "es", "fr", "pt-BR"]]


class SendPasswordResetRequest(TypedDict):
    """The user who gets the link."""

    userId: str
    redirectTo: NotRequired[str]


class SendTestWebhookRequest(TypedDict):
    """The endpoint to test."""

    id: str


class SendVerificationEmailRequest(TypedDict):
    """The email address to verify."""

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
    activeTeamId: NotRequired[str]


class SessionForm(TypedDict):
    """A session."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    session: str


SessionList: TypeAlias = list[Session]
"""The active sessions of the caller, newest first, including the current one."""


class SessionToken(TypedDict):
    """A signed token for another service."""

    token: str


class SessionsOfUser(TypedDict):
    """The active sessions of a user."""

    sessions: list[Session]


class SetActiveOrganizationRequest(TypedDict):
    """The organization, by identifier or slug; the identifier decides."""

    organizationId: NotRequired[str | None]
    organizationSlug: NotRequired[str]


class SetActiveTeamRequest(TypedDict):
    """The team."""

    teamId: NotRequired[str | None]


class SetMemberRoleAsAdminRequest(TypedDict):
    """The member, and the new roles."""

    organizationId: str
    memberId: str
    role: str | list[RoleItem]


class SetUserPasswordRequest(TypedDict):
    """The new password of a user."""

    userId: str
    newPassword: str


class Setting(TypedDict):
    """A setting in force."""

    name: str
    value: str
    isSecret: bool
    source: str
    origin: str
    description: str


class SettingList(TypedDict):
    """The settings in force."""

    settings: list[Setting]


class SettingValue(TypedDict):
    """A value of a setting."""

    value: str | None
    instanceIds: list[InstanceId]


class SettingDifference(TypedDict):
    """A setting that has several values."""

    name: str
    values: list[SettingValue]


class InstanceList(TypedDict):
    """The running instances."""

    instances: list[Instance]
    differences: list[SettingDifference]


class SignInEmailCodeRequest(TypedDict):
    """An address and its code; and the profile of a user created by it."""

    email: Email
    otp: str
    name: NotRequired[str]
    image: NotRequired[str]
    rememberMe: NotRequired[Flag]
    oauth_query: NotRequired[str]


class SignInEmailRequest(TypedDict):
    """Credentials with an email address."""

    email: str
    password: str
    callbackURL: NotRequired[str]
    rememberMe: NotRequired[Flag]
    oauth_query: NotRequired[str]


class SignInForm(TypedDict):
    """Who signs in, and how to go on."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    identifier: str
    password: str
    rememberMe: NotRequired[str]


class SignInSocialRequest(TypedDict):
    """A provider to sign in through; immediately with an ID token, otherwise by redirect to the provider."""

    provider: str
    callbackURL: NotRequired[str]
    newUserCallbackURL: NotRequired[str]
    errorCallbackURL: NotRequired[str]
    disableRedirect: NotRequired[Flag]
    idToken: NotRequired[IdToken]
    scopes: NotRequired[Scopes]
    requestSignUp: NotRequired[Flag]
    loginHint: NotRequired[str]
    oauth_query: NotRequired[str]


class SignInSsoRequest(TypedDict):
    """The connection to sign in through, and the redirect URLs. One of the first four fields is required."""

    providerId: NotRequired[str]
    organizationSlug: NotRequired[str]
    domain: NotRequired[str]
    email: NotRequired[str]
    callbackURL: NotRequired[str]
    errorCallbackURL: NotRequired[str]
    newUserCallbackURL: NotRequired[str]
    loginHint: NotRequired[str]
    requestSignUp: NotRequired[Flag]
    providerType: NotRequired[Literal["oidc", "saml"]]
    oauth_query: NotRequired[str]


class SignInUsernameRequest(TypedDict):
    """Credentials with a username."""

    username: str
    password: str
    rememberMe: NotRequired[Flag]
    callbackURL: NotRequired[str]
    oauth_query: NotRequired[str]


class SignInsOfMethod(TypedDict):
    """Sign-ins with one last proof."""

    method: str
    count: int


class SignOutSsoRequest(TypedDict):
    """Where to go after the sign-out."""

    callbackURL: NotRequired[str]


class SignUpForm(TypedDict):
    """The new user."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    name: str
    email: str
    username: NotRequired[str]
    password: str


class SignUpRequest(TypedDict):
    """A new user. Fields that only the service sets (`role`, `emailVerified`, `banned` and so on) are ignored like any other unknown key. Invalid `username` and `displayUsername` have their own error codes."""

    name: str
    email: Email
    password: str
    image: NotRequired[str]
    username: NotRequired[str]
    displayUsername: NotRequired[str]
    locale: NotRequired[str | None]
    rememberMe: NotRequired[Flag]
    callbackURL: NotRequired[str]
    oauth_query: NotRequired[str]


class SignedInByEmailCode(TypedDict):
    """Signed in."""

    token: str
    user: ReducedUser
    redirect: NotRequired[Literal[True]]
    url: NotRequired[str]


class SignedUp(TypedDict):
    """The new user, signed in unless another step is required first."""

    token: str | None
    user: ReducedUser
    redirect: NotRequired[Literal[True]]
    url: NotRequired[str]


class SigningKey(TypedDict):
    """A key that signs tokens, without its private part."""

    id: str
    algorithm: str
    state: str
    createdAt: str
    signsFrom: str
    signsUntil: str | None
    publishedUntil: str | None
    revokedAt: str | None


class SigningKeys(TypedDict):
    """The keys that sign tokens."""

    keys: list[SigningKey]


class SocialLink(TypedDict):
    """The URL to continue at; or, with an ID token, the account is linked."""

    url: str
    status: NotRequired[bool]
    redirect: bool


class SsoCertificate(TypedDict):
    """What a certificate says about itself. One that has expired is still used, because its key is what counts."""

    subject: str
    fingerprintSha256: str
    notBefore: str
    notAfter: str


class SsoConnectionForm(TypedDict):
    """A connection."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    connection: str


class SsoCreationForm(TypedDict):
    """A new connection."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    provider: NotRequired[str]
    protocol: Literal["saml", "oidc"]
    providerId: str
    name: str
    metadata: NotRequired[str]
    metadataUrl: NotRequired[str]
    issuer: NotRequired[str]
    clientId: NotRequired[str]
    clientSecret: NotRequired[str]


class SsoDeletionForm(TypedDict):
    """Proof that this connection is meant."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    connection: str
    typedConnection: str


class SsoDomain(TypedDict):
    """An email domain of a connection."""

    domain: str
    verified: bool
    required: bool
    recordName: str
    verifiedAt: str | None
    missedAt: str | None


class SsoDomainForm(TypedDict):
    """A domain of a connection."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    connection: str
    domain: str


class SsoDomainToken(TypedDict):
    """The value of the TXT records."""

    domainVerificationToken: str


class SsoDomainsForm(TypedDict):
    """Domains that are to be added."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    connection: str
    domains: str


class SsoMapping(TypedDict):
    """The names of claims or attributes at the provider; those that are missing have the usual names."""

    id: NotRequired[str]
    email: NotRequired[str]
    name: NotRequired[str]
    firstName: NotRequired[str]
    lastName: NotRequired[str]
    image: NotRequired[str]
    groups: NotRequired[str]


class SsoMappingSettings(TypedDict):
    """The names of claims or attributes at the provider, if they are not the usual ones."""

    id: NotRequired[str]
    email: NotRequired[str]
    name: NotRequired[str]
    firstName: NotRequired[str]
    lastName: NotRequired[str]
    image: NotRequired[str]
    groups: NotRequired[str]


class SsoOidcConfig(TypedDict):
    """An OpenID provider, without the client secret; null for SAML, and if the stored configuration cannot be read."""

    clientIdLastFour: str
    pkce: bool
    discoveryEndpoint: NotRequired[str]
    authorizationEndpoint: NotRequired[str]
    tokenEndpoint: NotRequired[str]
    userInfoEndpoint: NotRequired[str]
    jwksEndpoint: NotRequired[str]
    endSessionEndpoint: NotRequired[str]
    scopes: list[Scope]
    tokenEndpointAuthentication: Literal["client_secret_basic", "client_secret_post"]
    overrideUserInfo: bool
    mapping: SsoMapping


class SsoOidcSettings(TypedDict):
    """An OpenID provider. A new one needs `clientId` and `clientSecret`. Endpoints that are missing are those of its discovery document, which is fetched now to check it."""

    clientId: NotRequired[str]
    clientSecret: NotRequired[str]
    discoveryEndpoint: NotRequired[str]
    skipDiscovery: NotRequired[bool]
    authorizationEndpoint: NotRequired[str]
    tokenEndpoint: NotRequired[str]
    userInfoEndpoint: NotRequired[str]
    jwksEndpoint: NotRequired[str]
    endSessionEndpoint: NotRequired[str]
    tokenEndpointAuthentication: NotRequired[Literal["client_secret_basic", "client_secret_post"]]
    scopes: NotRequired[list[Scope]]
    pkce: NotRequired[bool]
    overrideUserInfo: NotRequired[bool]
    mapping: NotRequired[SsoMappingSettings]


class SsoProviderForm(TypedDict):
    """The identity provider of a connection as it should be."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    connection: str
    metadata: NotRequired[str]
    metadataUrl: NotRequired[str]
    issuer: NotRequired[str]
    clientId: NotRequired[str]
    clientSecret: NotRequired[str]


class SsoProviderRequest(TypedDict):
    """A connection."""

    providerId: str


class SsoRequiredDomainForm(TypedDict):
    """A domain, and whether its users must sign in through the connection."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    connection: str
    domain: str
    required: NotRequired[str]
    revokeOtherSessions: NotRequired[str]


class SsoSamlConfig(TypedDict):
    """A SAML identity provider, and the certificate of this service; null for OpenID Connect, and if the stored configuration cannot be read."""

    entryPoint: str
    logoutUrl: NotRequired[str]
    callbackUrl: str
    audience: str
    identifierFormat: NotRequired[str]
    wantAssertionsSigned: bool
    authnRequestsSigned: bool
    overrideUserInfo: bool
    certificate: list[SsoCertificate]
    spCertificate: NotRequired[str]
    mapping: SsoMapping


class RegisteredSsoProvider(TypedDict):
    """A new connection, and the value of the TXT record that verifies its domains."""

    providerId: str
    type: Literal["oidc", "saml"]
    issuer: str
    name: str
    state: Literal["draft", "active", "paused"]
    source: Literal["config", "operation", "cli"]
    organizationId: str | None
    domain: str
    domainVerified: bool
    domains: list[SsoDomain]
    signUp: bool
    secondFactor: Literal["provider", "local"]
    defaultRole: str
    groupRoles: dict[str, str]
    idpInitiated: bool
    oidcConfig: SsoOidcConfig | None
    samlConfig: NotRequired[SsoSamlConfig | None]
    redirectURI: str
    spMetadataUrl: str
    lastUsedAt: str | None
    createdAt: str
    updatedAt: str
    domainVerificationToken: str


class SsoProvider(TypedDict):
    """A connection to an identity provider, without its secrets."""

    providerId: str
    type: Literal["oidc", "saml"]
    issuer: str
    name: str
    state: Literal["draft", "active", "paused"]
    source: Literal["config", "operation", "cli"]
    organizationId: str | None
    domain: str
    domainVerified: bool
    domains: list[SsoDomain]
    signUp: bool
    secondFactor: Literal["provider", "local"]
    defaultRole: str
    groupRoles: dict[str, str]
    idpInitiated: bool
    oidcConfig: SsoOidcConfig | None
    samlConfig: NotRequired[SsoSamlConfig | None]
    redirectURI: str
    spMetadataUrl: str
    lastUsedAt: str | None
    createdAt: str
    updatedAt: str


class SsoProviderList(TypedDict):
    """Connections."""

    providers: list[SsoProvider]


class SsoSamlService(TypedDict):
    """A service of an identity provider. Only those of the redirect binding are used."""

    Binding: str
    Location: str


class IdpMetadata(TypedDict):
    """The identity provider as its metadata describes it."""

    metadata: NotRequired[str]
    metadataUrl: NotRequired[str]
    entityID: NotRequired[str]
    cert: NotRequired[str | list[CertItem]]
    singleSignOnService: NotRequired[list[SsoSamlService]]
    singleLogoutService: NotRequired[list[SsoSamlService]]


class SsoSamlSettings(TypedDict):
    """A SAML identity provider. A new one needs `idpMetadata.metadata`, `idpMetadata.metadataUrl`, or `entryPoint` and `cert`. This service creates its own key for each connection; no private key is sent."""

    entryPoint: NotRequired[str]
    cert: NotRequired[str | list[CertItem]]
    idpMetadata: NotRequired[IdpMetadata]
    audience: NotRequired[str]
    identifierFormat: NotRequired[str]
    authnRequestsSigned: NotRequired[bool]
    wantAssertionsSigned: NotRequired[bool]
    overrideUserInfo: NotRequired[bool]
    mapping: NotRequired[SsoMappingSettings]


class RegisterSsoProviderRequest(TypedDict):
    """A new connection, with either `oidcConfig` or `samlConfig`."""

    issuer: str
    domain: str
    requiredDomains: NotRequired[list[RequiredDomain]]
    name: NotRequired[str]
    state: NotRequired[Literal["draft", "active", "paused"]]
    signUp: NotRequired[bool]
    secondFactor: NotRequired[Literal["provider", "local"]]
    defaultRole: NotRequired[str]
    groupRoles: NotRequired[dict[str, str]]
    idpInitiated: NotRequired[bool]
    overrideUserInfo: NotRequired[bool]
    providerId: str
    organizationId: NotRequired[str | None]
    oidcConfig: NotRequired[SsoOidcSettings]
    samlConfig: NotRequired[SsoSamlSettings]


class SsoSettingsForm(TypedDict):
    """The settings of a connection as they should be."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    connection: str
    name: str
    version: NotRequired[str]
    signUp: NotRequired[str]
    secondFactor: Literal["provider", "local"]
    defaultRole: str
    groupRoles: NotRequired[str]
    idpInitiated: NotRequired[str]
    overrideUserInfo: NotRequired[str]
    emailAttribute: NotRequired[str]
    nameAttribute: NotRequired[str]
    groupsAttribute: NotRequired[str]


class SsoSignIn(TypedDict):
    """The URL at which the sign-in continues."""

    url: str
    redirect: bool


class SsoSignInForm(TypedDict):
    """The address whose organization signs in."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    email: str


class SsoSignOut(TypedDict):
    """Signed out here."""

    success: bool
    redirect: bool
    url: str | None


class SsoStateForm(TypedDict):
    """A connection, and its new state."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    connection: str
    state: Literal["active", "paused"]


class SsoTestResultRequest(TypedDict):
    """The connection, and the result of a test."""

    providerId: str
    result: str


class SsoTokenForm(TypedDict):
    """A new token of a directory."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    connection: str
    tokenName: str
    days: NotRequired[Literal["", "30", "90", "365"]]


class SsoTokenRevocationForm(TypedDict):
    """The token to revoke."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    connection: str
    token: str


class StartDeviceRequest(TypedDict):
    """The client of a device, and what it asks for."""

    client_id: NotRequired[str]
    client_secret: NotRequired[str]
    client_assertion_type: NotRequired[str]
    client_assertion: NotRequired[str]
    scope: NotRequired[str]
    resource: NotRequired[list[ResourceItem]]


class StartedDevice(TypedDict):
    """The codes of a device (RFC 8628, 3.2)."""

    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: NotRequired[str]
    expires_in: int
    interval: int


class StatisticsOfDay(TypedDict):
    """What happened on one day (UTC)."""

    day: str
    signUps: int
    signIns: list[SignInsOfMethod]
    failures: list[FailuresOfCode]


class Statistics(TypedDict):
    """The figures of the service; null could not be counted in time."""

    countedAt: str
    users: int | None
    usersOfDay: int | None
    usersOfMonth: int | None
    activeSessions: int | None
    signInsOfDay: int | None
    failuresOfDay: int | None
    mailsWaiting: int | None
    mailsFailed: int | None
    days: list[StatisticsOfDay] | None


class Status(TypedDict):
    """Success."""

    status: bool


SubjectTypesSupportedItem: TypeAlias = str


class Success(TypedDict):
    """Success."""

    success: bool


class SignOut(Success):
    """Signed out, or was already."""


class Team(TypedDict):
    """A team of an organization."""

    id: str
    name: str
    organizationId: str
    createdAt: str
    updatedAt: str | None


class FullOrganization(TypedDict):
    """An organization with its members, invitations and teams."""

    id: str
    name: str
    slug: str
    logo: str | None
    createdAt: str
    metadata: OrganizationMetadata | None
    members: list[MemberWithUser]
    invitations: list[Invitation]
    teams: NotRequired[list[Team]]


class TeamChanges(TypedDict):
    """The new fields of a team."""

    name: NotRequired[str]
    organizationId: NotRequired[str]


class TeamForm(TypedDict):
    """A team."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    team: str


TeamIdItem: TypeAlias = str


class InviteMemberRequest(TypedDict):
    """The invitation."""

    email: str
    role: str | list[RoleItem]
    organizationId: NotRequired[str]
    resend: NotRequired[Flag]
    teamId: NotRequired[str | list[TeamIdItem]]


TeamList: TypeAlias = list[Team]
"""Teams, oldest first."""


class TeamMember(TypedDict):
    """A user as a member of a team."""

    id: str
    teamId: str
    userId: str
    createdAt: str


class TeamMemberForm(TypedDict):
    """A team, and its new member."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    team: str
    email: str


TeamMemberList: TypeAlias = list[TeamMember]
"""Members of a team, oldest first."""


class TeamMemberRemovalForm(TypedDict):
    """A team, and one of its members."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    team: str
    member: str


class TeamMemberRequest(TypedDict):
    """A team and a user."""

    teamId: str
    userId: str
    organizationId: NotRequired[str]


class TeamMessage(TypedDict):
    """What was done."""

    message: str


class TeamNameForm(TypedDict):
    """A team, and its new name."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    team: str
    former: NotRequired[str]
    teamName: str


class TestSsoProviderRequest(TypedDict):
    """The connection to test, and where the browser returns to."""

    providerId: str
    callbackURL: str


TokenEndpointAuthMethodsSupportedItem: TypeAlias = str


TokenEndpointAuthSigningAlgValuesSupportedItem: TypeAlias = str


class ProviderMetadata(TypedDict):
    """The endpoints of the provider, and what it supports (OpenID Connect Discovery 1.0, RFC 8414)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    pushed_authorization_request_endpoint: str
    introspection_endpoint: str
    revocation_endpoint: str
    userinfo_endpoint: str
    end_session_endpoint: str
    registration_endpoint: NotRequired[str]
    device_authorization_endpoint: NotRequired[str]
    jwks_uri: str
    scopes_supported: list[ScopesSupportedItem]
    response_types_supported: list[ResponseTypesSupportedItem]
    response_modes_supported: list[ResponseModesSupportedItem]
    grant_types_supported: list[GrantTypesSupportedItem]
    subject_types_supported: list[SubjectTypesSupportedItem]
    id_token_signing_alg_values_supported: list[IdTokenSigningAlgValuesSupportedItem]
    token_endpoint_auth_methods_supported: list[TokenEndpointAuthMethodsSupportedItem]
    token_endpoint_auth_signing_alg_values_supported: list[TokenEndpointAuthSigningAlgValuesSupportedItem]
    revocation_endpoint_auth_methods_supported: list[RevocationEndpointAuthMethodsSupportedItem]
    revocation_endpoint_auth_signing_alg_values_supported: list[
        RevocationEndpointAuthSigningAlgValuesSupportedItem
    ]
    introspection_endpoint_auth_methods_supported: list[IntrospectionEndpointAuthMethodsSupportedItem]
    introspection_endpoint_auth_signing_alg_values_supported: list[
        IntrospectionEndpointAuthSigningAlgValuesSupportedItem
    ]
    code_challenge_methods_supported: list[CodeChallengeMethodsSupportedItem]
    claims_supported: list[ClaimsSupportedItem]
    acr_values_supported: list[AcrValuesSupportedItem]
    prompt_values_supported: list[PromptValuesSupportedItem]
    authorization_response_iss_parameter_supported: bool
    backchannel_logout_supported: bool
    backchannel_logout_session_supported: bool
    claims_parameter_supported: bool
    request_parameter_supported: bool
    request_uri_parameter_supported: bool
    client_id_metadata_document_supported: bool


class TotpUri(TypedDict):
    """The enrolment URI for an authenticator."""

    totpURI: str


class TotpVerified(TypedDict):
    """The code is valid."""

    status: bool
    token: str
    user: ReducedUser
    redirect: NotRequired[Literal[True]]
    url: NotRequired[str]


Transport: TypeAlias = str


class AuthenticatorAttestation(TypedDict):
    """What the authenticator says of the new credential."""

    clientDataJSON: str
    attestationObject: str
    transports: NotRequired[list[Transport]]


class PasskeyDescriptor(TypedDict):
    """A passkey of the user, as browsers look for it."""

    type: Literal["public-key"]
    id: str
    transports: NotRequired[list[Transport]]


class PasskeyRegistration(TypedDict):
    """The result of `navigator.credentials.create` as JSON."""

    id: str
    rawId: str
    type: Literal["public-key"]
    response: AuthenticatorAttestation


class PasskeyRegistrationOptions(TypedDict):
    """The argument of `navigator.credentials.create`, as `parseCreationOptionsFromJSON` reads it."""

    challenge: str
    rp: PasskeyRelyingParty
    user: PasskeyUser
    pubKeyCredParams: list[PasskeyAlgorithm]
    timeout: int
    attestation: Literal["none"]
    excludeCredentials: list[PasskeyDescriptor]
    authenticatorSelection: PasskeyAuthenticatorSelection
    extensions: dict[str, Any]
    hints: list[Hint]


class PasskeySignInOptions(TypedDict):
    """The argument of `navigator.credentials.get`, as `parseRequestOptionsFromJSON` reads it."""

    challenge: str
    rpId: str
    timeout: int
    userVerification: Literal["required", "preferred"]
    allowCredentials: NotRequired[list[PasskeyDescriptor]]


class TrustedDeviceForm(TypedDict):
    """A trusted device."""

    callbackURL: NotRequired[PageTarget]
    ui_locales: NotRequired[PageText]
    account: NotRequired[PageText]
    user: NotRequired[str]
    device: str


class TwoFactorEnabled(TypedDict):
    """The data the user needs for the second factor; returned only once."""

    method: Literal["totp", "otp"]
    totpURI: str | None
    backupCodes: list[BackupCode]


TwoFactorMethod: TypeAlias = Literal["totp", "otp"]


class SignInAnswer(TypedDict):
    """Signed in, with a session; or, with `twoFactorRedirect`, `twoFactorMethods` and `pending`, the password or provider was accepted, a second factor is required, and no session exists yet."""

    redirect: bool
    token: str
    url: str | None
    user: ReducedUser | None
    twoFactorRedirect: NotRequired[Literal[True]]
    twoFactorMethods: NotRequired[list[TwoFactorMethod]]
    pending: NotRequired[Literal[True]]


ConfirmMagicLinkAnswer: TypeAlias = MagicLinkConfirmed | SignInAnswer


EmailCodeAnswer: TypeAlias = SignedInByEmailCode | SignInAnswer


class SocialSignIn(TypedDict):
    """The URL to continue at; or, with an ID token, the same as a sign-in with a password: a session, or a pending second factor."""

    redirect: bool
    token: str
    url: str | None
    user: NotRequired[ReducedUser | None]
    twoFactorRedirect: NotRequired[Literal[True]]
    twoFactorMethods: NotRequired[list[TwoFactorMethod]]
    pending: NotRequired[Literal[True]]


class TwoFactorUser(TypedDict):
    """The reduced user, and whether two-factor is enabled."""

    id: str
    email: str
    name: str
    image: str | None
    emailVerified: bool
    createdAt: str
    updatedAt: str
    twoFactorEnabled: bool


class BackupCodeVerified(TypedDict):
    """The code was valid, and is used up."""

    token: str
    user: TwoFactorUser
    session: ReducedSession
    redirect: NotRequired[Literal[True]]
    url: NotRequired[str]


class UnlinkAccountRequest(TypedDict):
    """The account to unlink, by `providerId`, `accountId` or both; one of them is required."""

    providerId: NotRequired[str]
    accountId: NotRequired[str]


class UnlinkUserAccountRequest(TypedDict):
    """The account to remove."""

    userId: str
    accountId: str


class UpdateApiKeyRequest(TypedDict):
    """The changes of a key; at least one."""

    name: NotRequired[str]
    expiresIn: NotRequired[int | None]
    metadata: NotRequired[dict[str, Any] | str | float | bool | list[Any] | None]
    permissions: NotRequired[dict[str, Any] | None]
    remaining: NotRequired[int | None]
    refillAmount: NotRequired[int | None]
    refillInterval: NotRequired[int | None]
    rateLimitEnabled: NotRequired[bool]
    rateLimitTimeWindow: NotRequired[int]
    rateLimitMax: NotRequired[int]
    keyId: str
    configId: NotRequired[str]
    enabled: NotRequired[bool]


class UpdateConsentRequest(TypedDict):
    """What is to remain of a consent."""

    id: str
    update: ConsentUpdate


class UpdateMemberRoleRequest(TypedDict):
    """The member and the new roles."""

    memberId: str
    role: str | list[RoleItem]
    organizationId: NotRequired[str]


class UpdateOAuthClientRequest(TypedDict):
    """The client, and its new members."""

    client_id: str
    update: OAuthClientChanges


class UpdateOrganizationAsAdminRequest(TypedDict):
    """The organization, and its new fields."""

    organizationId: str
    data: OrganizationChanges


class UpdateOrganizationRequest(TypedDict):
    """The organization and its new fields."""

    organizationId: NotRequired[str]
    data: OrganizationChanges


class UpdatePasskeyRequest(TypedDict):
    """The new name of a passkey."""

    id: str
    name: str


class UpdateSsoProviderRequest(TypedDict):
    """The connection, and its new fields. Parts of `oidcConfig` and `samlConfig` that are missing stay as they are."""

    issuer: NotRequired[str]
    domain: NotRequired[str]
    requiredDomains: NotRequired[list[RequiredDomain]]
    name: NotRequired[str]
    state: NotRequired[Literal["draft", "active", "paused"]]
    signUp: NotRequired[bool]
    secondFactor: NotRequired[Literal["provider", "local"]]
    defaultRole: NotRequired[str]
    groupRoles: NotRequired[dict[str, str]]
    idpInitiated: NotRequired[bool]
    overrideUserInfo: NotRequired[bool]
    providerId: str
    revokeOtherSessions: NotRequired[bool]
    oidcConfig: NotRequired[SsoOidcSettings]
    samlConfig: NotRequired[SsoSamlSettings]


class UpdateTeamRequest(TypedDict):
    """The team and its new fields."""

    teamId: str
    data: TeamChanges
    organizationId: NotRequired[str]


class UpdateUserRequest(TypedDict):
    """The fields to change; at least one of them. `email` is refused with EMAIL_CAN_NOT_BE_UPDATED; `emailVerified`, `role`, `banned`, `banReason`, `banExpires`, `twoFactorEnabled`, `password`, `id`, `createdAt` and `updatedAt` with FIELD_NOT_ALLOWED. Other keys are ignored."""

    name: NotRequired[str]
    image: NotRequired[str | None]
    username: NotRequired[str]
    displayUsername: NotRequired[str]
    locale: NotRequired[str | None]


class UpdateWebhookEndpointRequest(TypedDict):
    """The endpoint, and its new fields."""

    name: NotRequired[str]
    url: NotRequired[str]
    events: NotRequired[list[Event]]
    description: NotRequired[str | None]
    id: str
    state: NotRequired[Literal["active", "paused"]]


class UpdatedPasskey(TypedDict):
    """The renamed passkey."""

    passkey: Passkey


class User(TypedDict):
    """A user. Every key is always present; values that are not set are null."""

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
    locale: str | None


class CurrentSession(TypedDict):
    """The session of the request, and its user; or null, if sessions are not required."""

    session: Session
    user: User


class EmailCodeVerified(TypedDict):
    """The address is verified. No session is created."""

    status: bool
    token: None
    user: User


class FoundUsers(TypedDict):
    """A page of users."""

    users: list[User]
    total: int
    totalCapped: bool
    match: Literal["id", "starts_with", "contains"] | None
    previous: str | None
    next: str | None


class Impersonation(TypedDict):
    """A session in the name of a user, and the user."""

    session: Session
    user: User


class MagicLinkVerified(TypedDict):
    """Signed in."""

    token: str
    user: User
    session: Session
    redirect: NotRequired[Literal[True]]
    url: NotRequired[str]


MagicLinkAnswer: TypeAlias = MagicLinkVerified | SignInAnswer


class PasskeySignedIn(TypedDict):
    """Signed in."""

    session: Session
    user: User
    redirect: NotRequired[Literal[True]]
    url: NotRequired[str]


PasskeyAnswer: TypeAlias = PasskeySignedIn | SignInAnswer


class PasswordReset(TypedDict):
    """The password has been replaced."""

    status: bool
    user: User


class StoppedImpersonation(TypedDict):
    """The administrator's own session and user; null without their cookie."""

    session: Session | None
    user: User | None


class UserAnswer(TypedDict):
    """The user."""

    user: User


class UserDeleted(TypedDict):
    """The user is deleted; or a confirmation email was sent, and nothing is deleted yet."""

    success: bool
    message: Literal["User deleted", "Verification email sent"]


class UserExport(TypedDict):
    """Everything that is stored about a user. Each further key is a list of the rows of one kind, such as `accounts` and `apiKeys`."""

    user: dict[str, Any]
    sessions: list[dict[str, Any]]
    audit: list[dict[str, Any]]


class UserIdRequest(TypedDict):
    """The user it is about."""

    userId: str


class UserInvitation(TypedDict):
    """An invitation, with the name of its organization."""

    id: str
    organizationId: str
    email: str
    role: str
    status: Literal["pending", "accepted", "rejected", "canceled"]
    inviterId: str
    expiresAt: str
    createdAt: str
    teamId: NotRequired[str | None]
    organizationName: str


UserInvitationList: TypeAlias = list[UserInvitation]
"""Invitations, newest first."""


class UserPage(TypedDict):
    """A page of users."""

    users: list[User]
    total: int
    totalCapped: bool
    limit: int
    offset: int


UserRole: TypeAlias = str


UserRoles: TypeAlias = str | list[UserRole]


InitialRoles: TypeAlias = UserRoles | dict[str, Any] | float | bool | list[Any] | None


class CreateUserData(TypedDict):
    """Further fields. `id`, `password`, `twoFactorEnabled`, `createdAt` and `updatedAt` are refused with FIELD_NOT_ALLOWED; other keys are ignored."""

    image: NotRequired[str | None]
    username: NotRequired[str]
    displayUsername: NotRequired[str]
    locale: NotRequired[str | None]
    role: NotRequired[InitialRoles]
    emailVerified: NotRequired[bool]
    banned: NotRequired[bool]
    banReason: NotRequired[str | None]
    banExpires: NotRequired[str | None]


class CreateUserRequest(TypedDict):
    """A new user."""

    email: str
    name: str
    password: NotRequired[str]
    role: NotRequired[InitialRoles]
    data: NotRequired[CreateUserData]


class SetRoleRequest(TypedDict):
    """The new roles of a user."""

    userId: str
    role: UserRoles


class UpdateUserData(TypedDict):
    """The fields to change; at least one. `password` and `id` have error codes of their own; `twoFactorEnabled`, `createdAt` and `updatedAt` are refused with FIELD_NOT_ALLOWED; other keys are ignored."""

    image: NotRequired[str | None]
    username: NotRequired[str]
    displayUsername: NotRequired[str]
    locale: NotRequired[str | None]
    role: NotRequired[UserRoles]
    emailVerified: NotRequired[bool]
    banned: NotRequired[bool]
    banReason: NotRequired[str | None]
    banExpires: NotRequired[str | None]
    name: NotRequired[str]
    email: NotRequired[str]


class UpdateUserAsAdminRequest(TypedDict):
    """The changes of a user; all or none are made."""

    userId: str
    data: UpdateUserData


class UsernameAvailability(TypedDict):
    """Whether the username is available."""

    available: bool


Value: TypeAlias = str


class Attribute(TypedDict):
    name: str
    values: list[Value]


class SsoTestResult(TypedDict):
    """What came from the identity provider, and what a sign-in would do."""

    outcome: Literal["sign_in", "link", "create", "refused"]
    code: str | None
    subject: str
    email: str | None
    name: str | None
    groups: list[str]
    attributes: list[Attribute]
    roles: list[str]
    roleSource: Literal["group", "default", "kept"] | None
    group: str | None


class VerificationKey(TypedDict):
    """The public part of a signing key (RFC 7517, RFC 7518)."""

    kty: Literal["EC", "RSA", "OKP"]
    crv: NotRequired[Literal["P-256", "Ed25519"]]
    x: NotRequired[str]
    y: NotRequired[str]
    n: NotRequired[str]
    e: NotRequired[str]
    kid: str
    alg: Literal["ES256", "RS256", "EdDSA"]
    use: Literal["sig"]


class KeySet(TypedDict):
    """A JSON Web Key Set (RFC 7517)."""

    keys: list[VerificationKey]


class VerifyApiKeyRequest(TypedDict):
    """The key to verify, and what it has to permit."""

    key: str
    configId: NotRequired[str]
    permissions: NotRequired[ApiKeyPermissions]


class VerifyBackupCodeRequest(TypedDict):
    """The backup code and the options."""

    code: str
    disableSession: NotRequired[Flag]
    trustDevice: NotRequired[Flag]
    oauth_query: NotRequired[str]


class VerifyEmailCodeRequest(TypedDict):
    """An address and its code."""

    email: Email
    otp: str


class VerifyOtpRequest(TypedDict):
    """The code, and whether to trust this device."""

    code: str
    trustDevice: NotRequired[Flag]
    oauth_query: NotRequired[str]


class VerifyPasskeyRegistrationRequest(TypedDict):
    """The new passkey; `createSession` and other keys have no effect."""

    response: PasskeyRegistration
    name: NotRequired[str]


class VerifyPasskeySignInRequest(TypedDict):
    """The response of the authenticator."""

    response: PasskeyAuthentication
    rememberMe: NotRequired[Flag]
    oauth_query: NotRequired[str]


class VerifyPasswordRequest(TypedDict):
    """The password of the caller."""

    password: str


class VerifyTotpRequest(TypedDict):
    """The code, and whether to trust this device."""

    code: str
    trustDevice: NotRequired[Flag]
    oauth_query: NotRequired[str]


class WebhookEndpoint(TypedDict):
    """A URL that receives events, without its secret."""

    id: str
    name: str
    url: str
    description: str | None
    events: list[Event]
    state: Literal["active", "paused", "disabled"]
    source: Literal["config", "operation", "cli"]
    failingSince: str | None
    lastSuccessAt: str | None
    pending: int
    createdAt: str
    updatedAt: str


class CreatedWebhookEndpoint(TypedDict):
    """A new endpoint and its secret, which is shown only here."""

    endpoint: WebhookEndpoint
    secret: str


class OneWebhookEndpoint(TypedDict):
    """An endpoint."""

    endpoint: WebhookEndpoint


class WholeOrganization(TypedDict):
    """An organization with its pending invitations and its teams."""

    id: str
    name: str
    slug: str
    logo: str | None
    createdAt: str
    metadata: OrganizationMetadata | None
    memberCount: int
    invitations: list[Invitation]
    teams: NotRequired[list[Team]]
