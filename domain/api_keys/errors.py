"""Errors of API keys."""

from domain.errors import BadRequest, Conflict, Forbidden, Limited, NotFound, Unauthenticated


class ApiKeyConfigurationNotFound(BadRequest):
    """No kind of keys has this `configId`."""

    message = "API key configuration not found"


class ServerOnlyProperty(BadRequest):
    """Only callers with the permission `apiKey: manage` may set the field."""

    message = "The property you're trying to set can only be set from the server auth instance only."


class UnauthorizedSession(Unauthenticated):
    """Only callers with the permission `apiKey: manage` may send `userId`."""

    message = "Unauthorized or invalid session"


class OrganizationIdRequired(BadRequest):
    """The kind is for keys of organizations, and the request names no organization."""

    message = "Organization ID is required for organization-owned API keys."


class UserNotMemberOfOrganization(Forbidden):
    """The caller is not a member of the organization, or there is no such organization."""

    message = "You are not a member of the organization that owns this API key."


class InsufficientApiKeyPermissions(Forbidden):
    """No role of the caller in the organization grants the action on `apiKey`."""

    message = "You do not have permission to perform this action on organization API keys."


class MetadataDisabled(BadRequest):
    """`api_keys.metadata` is false."""

    message = "Metadata is disabled."


class InvalidMetadataType(BadRequest):
    """`metadata` is not an object."""

    message = "metadata must be an object or undefined"


class RefillAmountAndIntervalRequired(BadRequest):
    """`refillInterval` is given without `refillAmount`."""

    message = "refillAmount is required when refillInterval is provided"


class RefillIntervalAndAmountRequired(BadRequest):
    """`refillAmount` is given without `refillInterval`."""

    message = "refillInterval is required when refillAmount is provided"


class KeyDisabledExpiration(BadRequest):
    """Keys of this kind have a fixed lifetime."""

    message = "Custom key expiration values are disabled."


class ExpiresInIsTooSmall(BadRequest):
    """The lifetime is shorter than `api_keys.minimum_expires_in`."""

    message = "The expiresIn is smaller than the predefined minimum value."


class ExpiresInIsTooLarge(BadRequest):
    """The lifetime exceeds `api_keys.maximum_expires_in`, or is unlimited although every key has to expire."""

    message = "The expiresIn is larger than the predefined maximum value."


class InvalidPrefixLength(BadRequest):
    """The length of the prefix is not allowed."""

    message = "The prefix length is either too large or too small."


class NameRequired(BadRequest):
    """The key has no name, and `api_keys.require_name` is true."""

    message = "API Key name is required."


class InvalidNameLength(BadRequest):
    """The length of the name is not allowed."""

    message = "The name length is either too large or too small."


class NoValuesToUpdate(BadRequest):
    """None of the fields that can be changed is given."""

    message = "No values to update."


class ApiKeyLimitReached(Forbidden):
    """The owner has as many keys as `api_keys.limit_per_owner` allows."""

    message = "API key limit reached"


class ApiKeysChanged(Conflict):
    """A key was created, changed or deleted after the form was shown."""

    message = "The API keys were changed meanwhile"


class YouAreNotAllowedToManageApiKeys(Forbidden):
    """The owner of the key has permissions that the caller lacks."""

    message = "You are not allowed to manage the API keys of this user"


class KeyNotFound(NotFound):
    """There is no such key, or it belongs to another user or organization."""

    message = "API Key not found"


class InvalidApiKey(Unauthenticated):
    """There is no such key."""

    message = "Invalid API key."


class UserBanned(Unauthenticated):
    """The owner of the key is banned."""

    message = "User is banned"


class InvalidReferenceIdFromApiKey(Unauthenticated):
    """The key belongs to an organization, so it opens no session of a user."""

    message = "The reference id from the API key is invalid."


class KeyDisabled(Unauthenticated):
    """The key is disabled."""

    message = "API Key is disabled"


class KeyExpired(Unauthenticated):
    """The key has expired."""

    message = "API Key has expired"


class KeyPermissionsInsufficient(Unauthenticated):
    """The key lacks a permission that the verification asks for."""

    message = "API Key does not have the required permissions"


class RateLimited(Limited):
    """The key was used too often within its window."""

    message = "Rate limit exceeded."
    kind = "api_keys"


class UsageExceeded(Limited):
    """No uses of the key are left."""

    message = "API Key has reached its usage limit"
    kind = "api_keys"
