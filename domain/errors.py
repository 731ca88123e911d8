"""Every refusal the service can give, once: its status on the family, its code from the name, its message.

A refusal is raised bare (`raise InvalidToken`). `server/errors.py` renders it as `{"message": …, "code": …}`; the
contract lists each of them as an example. Sources: interface section 7, behaviour 1.4 and chapter 5.
"""

import re
from typing import ClassVar

_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Refusal(Exception):
    """What the service says no with. Subclasses are the whole vocabulary.

    `status` is the HTTP status, `code` the stable UPPER_SNAKE name, `message` the English sentence for people.
    A refusal rolls the transaction back, unless `keeps_writes` says that what was written (an attempt) must stay.
    `ends_challenge` says that the caller's pending token is worth nothing any more.
    """

    status: ClassVar[int]
    code: ClassVar[str]
    message: str
    keeps_writes: ClassVar[bool] = False
    ends_challenge: ClassVar[bool] = False
    retry_after: int | None = None

    def __init_subclass__(cls) -> None:
        """Derive the code from the class name: `InvalidToken` becomes `INVALID_TOKEN`."""
        if "code" not in cls.__dict__:
            cls.code = _WORD_START.sub("_", cls.__name__).upper()

    def __init__(self, message: str | None = None, *, retry_after: int | None = None) -> None:
        """Take the class's message unless this one names a field; `retry_after` is in seconds."""
        if message is not None:
            self.message = message
        if retry_after is not None:
            self.retry_after = retry_after
        super().__init__(self.message)


# --- The families -------------------------------------------------------------------------------------------


class BadRequest(Refusal):
    """The request cannot be carried out as it is (400)."""

    status = 400
    message = "Invalid JSON in request body"


class Unauthenticated(Refusal):
    """The caller has not shown who they are (401)."""

    status = 401
    code = "UNAUTHORIZED"
    message = "Unauthorized"


class Forbidden(Refusal):
    """The caller is known, and may not (403)."""

    status = 403
    message = "Forbidden"


class NotFound(Refusal):
    """There is nothing here (404)."""

    status = 404
    message = "Not found"


class Conflict(Refusal):
    """It collides with what exists (409)."""

    status = 409
    message = "Conflict"


class Unprocessable(Refusal):
    """Well-formed, and still not acceptable (422)."""

    status = 422
    message = "Unprocessable"


class Limited(Refusal):
    """Too often (429); `retry_after` says when again."""

    status = 429
    code = "TOO_MANY_REQUESTS"
    message = "Too many requests. Please try again later."
    kind = "failures"
    """What is spent, for who counts refusals: wrong passwords and codes, or `requests`."""


class Unavailable(Refusal):
    """A dependency is down (503); `retry_after` says when again."""

    status = 503
    code = "SERVICE_UNAVAILABLE"
    message = "Service unavailable"
    retry_after = 5


# --- HTTP itself (behaviour 1.3, 1.4) -----------------------------------------------------------------------


class ValidationError(BadRequest):
    """A field is missing or malformed; the message names it."""

    message = "Invalid request"


class MethodNotAllowed(Refusal):
    """The path exists, the method does not."""

    status = 405
    message = "Method not allowed"


class RequestTimeout(Refusal):
    """The request was sent too slowly."""

    status = 408
    message = "Request timeout"


class PayloadTooLarge(Refusal):
    """The body is over `server.max_body` bytes."""

    status = 413
    message = "Payload too large"


class UriTooLong(Refusal):
    """The target is over 8 KiB."""

    status = 414
    message = "URI too long"


class UnsupportedMediaType(Refusal):
    """The body is not JSON, or it is compressed."""

    status = 415
    message = "Unsupported media type"


class HeadersTooLarge(Refusal):
    """The headers are over 16 KiB."""

    status = 431
    message = "Headers too large"


class InternalServerError(Refusal):
    """A defect of ours; logged with the request id."""

    status = 500
    message = "Internal server error"


class Overloaded(Unavailable):
    """The hash pool is full."""

    code = "OVERLOADED"
    message = "Server is busy"
    retry_after = 1


class ProviderUnavailable(Unavailable):
    """The external provider is down, slow or garbled."""

    code = "PROVIDER_UNAVAILABLE"
    message = "Provider unavailable"


class RenewedTokensLost(Unavailable):
    """A provider renewed tokens that could not be stored in time; it may honour neither these nor the old ones."""

    code = "SERVICE_UNAVAILABLE"


# --- Origins and redirect targets (behaviour 1.6, 3.4) ------------------------------------------------------


class InvalidOrigin(Forbidden):
    """The Origin or Referer is not trusted."""

    message = "Invalid origin"


class MissingOrNullOrigin(Forbidden):
    """A browser's cross-site request without a usable Origin."""

    message = "Missing or null Origin"


class CrossSiteNavigationLoginBlocked(Forbidden):
    """A foreign page navigates the browser into a sign-in."""

    message = "Cross-site navigation login blocked"


class InvalidCallbackUrl(Forbidden):
    """callbackURL leads to an untrusted place."""

    message = "Invalid callbackURL"


class InvalidRedirectUrl(Forbidden):
    """redirectTo leads to an untrusted place."""

    message = "Invalid redirectURL"


class InvalidErrorCallbackUrl(Forbidden):
    """errorCallbackURL leads to an untrusted place."""

    message = "Invalid errorCallbackURL"


class InvalidNewUserCallbackUrl(Forbidden):
    """newUserCallbackURL leads to an untrusted place."""

    message = "Invalid newUserCallbackURL"


# --- Sign-up and sign-in (behaviour 5.1) --------------------------------------------------------------------


class EmailPasswordSignUpDisabled(BadRequest):
    """Sign-up is switched off."""

    message = "Email and password sign up is not enabled"


class EmailPasswordDisabled(BadRequest):
    """Sign-in with a password is switched off."""

    message = "Email and password is not enabled"


class InvalidEmail(BadRequest):
    """The address is no address."""

    message = "Invalid email"


class UserAlreadyExistsUseAnotherEmail(Unprocessable):
    """The address is taken."""

    message = "User already exists. Use another email."


class InvalidEmailOrPassword(Unauthenticated):
    """Unknown address, wrong password, or no password: one answer for all three; it counts as a failure."""

    message = "Invalid email or password"
    keeps_writes = True


class InvalidUsernameOrPassword(Unauthenticated):
    """Unknown username, wrong password, or no password: one answer for all three; it counts as a failure."""

    message = "Invalid username or password"
    keeps_writes = True


class BannedUser(Forbidden):
    """The password is right, the user is banned."""

    message = "You have been banned from this application"


class EmailNotVerified(Forbidden):
    """The password is right, the address unverified; a fresh link may be on its way."""

    message = "Email not verified"
    keeps_writes = True


# --- Passwords (behaviour 4.1, 5.3) -------------------------------------------------------------------------


class PasswordTooShort(BadRequest):
    """Fewer code points than `password.min_length` after NFKC."""

    message = "Password too short"


class PasswordTooLong(BadRequest):
    """More code points than `password.max_length` after NFKC, or than 1 024 as sent."""

    message = "Password too long"


class PasswordTooCommon(BadRequest):
    """On the blocklist, or equal to something an attacker tries first."""

    message = "Password is too common"


class InvalidPassword(BadRequest):
    """Wrong current password, or the user has none; it counts as a failure."""

    message = "Invalid password"
    keeps_writes = True


class CredentialAccountNotFound(BadRequest):
    """The user has no password to change."""

    message = "Credential account not found"


class ResetPasswordDisabled(BadRequest):
    """No sender for reset mails is configured."""

    message = "Reset password isn't enabled"


class InvalidResetToken(BadRequest):
    """The reset token is missing, unknown, expired or used."""

    code = "INVALID_TOKEN"
    message = "Invalid token"


# --- Email and user (behaviour 5.4, 5.7) --------------------------------------------------------------------


class VerificationEmailNotEnabled(BadRequest):
    """Verification mails are switched off."""

    message = "Verification email isn't enabled"


class EmailMismatch(BadRequest):
    """A signed-in caller asks for another address."""

    message = "Email mismatch"


class EmailAlreadyVerified(BadRequest):
    """There is nothing left to verify."""

    message = "Email is already verified"


class InvalidToken(Unauthenticated):
    """The token is unknown, used, or made for something else."""

    message = "Invalid token"


class TokenExpired(Unauthenticated):
    """The token was right once."""

    message = "Token expired"


class InvalidUser(Unauthenticated):
    """The link belongs to another user than the one signed in."""

    message = "Invalid user"


class ChangeEmailDisabled(BadRequest):
    """Changing the address is switched off."""

    message = "Change email is disabled"


class EmailCanNotBeUpdated(BadRequest):
    """The address changes by /change-email only."""

    message = "Email can not be updated"


class FieldNotAllowed(BadRequest):
    """The service owns this field."""

    message = "The field is not allowed to be set"


class SessionExpired(BadRequest):
    """The session is too old for this without a password."""

    message = "Session expired. Re-authenticate to perform this action."


class InvalidDeletionToken(NotFound):
    """The deletion token is missing, unknown, expired, used, or another user's."""

    code = "INVALID_TOKEN"
    message = "Invalid token"


class UsernameTooShort(BadRequest):
    """Fewer than 3 characters."""

    message = "Username is too short"


class UsernameTooLong(BadRequest):
    """More than 30 characters."""

    message = "Username is too long"


class InvalidUsername(BadRequest):
    """Other characters than ASCII letters, digits, `_` and `.`."""

    message = "Username is invalid"


class InvalidDisplayUsername(BadRequest):
    """Control characters, or not 1 to 64 characters."""

    message = "Display username is invalid"


class UsernameIsAlreadyTaken(BadRequest):
    """Somebody else has it."""

    message = "Username is already taken. Please try another."


class UnprocessableUsernameTooShort(Unprocessable):
    """As UsernameTooShort, where the username is looked up rather than set."""

    code = "USERNAME_TOO_SHORT"
    message = "Username is too short"


class UnprocessableUsernameTooLong(Unprocessable):
    """As UsernameTooLong, where the username is looked up rather than set."""

    code = "USERNAME_TOO_LONG"
    message = "Username is too long"


class UnprocessableUsername(Unprocessable):
    """As InvalidUsername, where the username is looked up rather than set."""

    code = "INVALID_USERNAME"
    message = "Username is invalid"


# --- Providers and linked accounts (behaviour 5.1, 5.5) -----------------------------------------------------


class ProviderNotFound(NotFound):
    """No such provider is configured."""

    message = "Provider not found"


class IdTokenNotSupported(NotFound):
    """The provider does not sign in by ID token."""

    message = "id_token not supported"


class FailedToGetUserInfo(Unauthenticated):
    """The provider named no subject."""

    message = "Failed to get user info"


class UserEmailNotFound(Unauthenticated):
    """The provider named no address."""

    message = "User email not found"


class OauthLinkError(Unauthenticated):
    """The identity must not become this account, or any."""

    message = "account not linked"


class SignUpDisabled(OauthLinkError):
    """There is no such user, and this sign-in may not make one."""

    code = "OAUTH_LINK_ERROR"
    message = "signup disabled"


class AccountNotFound(BadRequest):
    """The caller has no such account."""

    message = "Account not found"


class SocialAccountAlreadyLinked(Conflict):
    """The identity belongs to another user."""

    message = "Social account already linked"


class LinkingNotAllowed(Unauthenticated):
    """Linking is off, or the provider is neither trusted nor sure of the address."""

    message = "Account not linked - linking not allowed"


class LinkingDifferentEmailsNotAllowed(Unauthenticated):
    """The provider names another address than the user's."""

    message = "Account not linked - different emails not allowed"


class FailedToUnlinkLastAccount(BadRequest):
    """Without it the user could not sign in any more."""

    message = "You can't unlink your last account"


class ProviderNotSupported(BadRequest):
    """The account's provider has no tokens, or is not configured any more."""

    message = "Provider is not supported."


class FailedToGetAccessToken(BadRequest):
    """None stored, or expired and not renewable."""

    message = "Failed to get a valid access token"


class TokenRefreshNotSupported(BadRequest):
    """The provider cannot refresh tokens."""

    message = "Provider does not support token refreshing."


class RefreshTokenNotFound(BadRequest):
    """The provider gave no refresh token."""

    message = "Refresh token not found"


class FailedToRefreshAccessToken(BadRequest):
    """The provider refused to refresh."""

    message = "Failed to refresh access token"


# --- Two-factor (behaviour 5.6, 6.3) ------------------------------------------------------------------------


class InvalidTwoFactorCookie(Unauthenticated):
    """Neither a session nor a live challenge."""

    message = "Invalid two factor cookie"
    ends_challenge = True


class TotpNotEnabled(BadRequest):
    """There is no TOTP secret."""

    message = "TOTP not enabled"


class InvalidCode(Unauthenticated):
    """The code is wrong; it counts as an attempt."""

    message = "Invalid code"
    keeps_writes = True


class OtpNotConfigured(BadRequest):
    """Mail codes are off, or nothing sends them."""

    message = "OTP is not available"


class TwoFactorNotEnabled(BadRequest):
    """Nothing is switched on and nothing is being enrolled."""

    message = "Two factor isn't enabled"


class OtpHasExpired(BadRequest):
    """There is no live mail code."""

    message = "OTP has expired"


class BackupCodesNotEnabled(BadRequest):
    """There are no backup codes."""

    message = "Backup codes aren't enabled"


class InvalidBackupCode(Unauthenticated):
    """The backup code is wrong; it counts as an attempt."""

    message = "Invalid backup code"
    keeps_writes = True


class TooManyAttemptsRequestNewCode(BadRequest):
    """The challenge or code has no attempts left."""

    message = "Too many attempts. Please request a new code."
    keeps_writes = True


class ChallengeSpent(TooManyAttemptsRequestNewCode):
    """As its family, where no attempts are left for the whole sign-in: it begins again with the password."""

    code = "TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE"
    ends_challenge = True


class UndecipherableSecret(Unavailable):
    """The authenticator's secret is encrypted under a key that is gone; no code can be told right or wrong."""

    code = "SERVICE_UNAVAILABLE"


class AccountTemporarilyLocked(Limited):
    """The second factor is locked for a while."""

    code = "ACCOUNT_TEMPORARILY_LOCKED"
    message = "Too many failed verification attempts. Please try again later."
