"""The interface that writes and verifies SAML 2.0 messages. `server/saml` implements it.

It stores nothing. The caller passes the ids of the requests that have no response yet, and stores the ids of assertions
and logout requests that were used, each until its `replay_until`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple, Protocol

PERSISTENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"
TRANSIENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"
EMAIL_ADDRESS = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress"
UNSPECIFIED = "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified"


class SamlRefusal(StrEnum):
    """Why a message is refused. The values are stored and shown, so they contain nothing of the message."""

    TOO_LARGE = "too_large"
    """The message has more bytes than are allowed, as sent or after decompression."""
    ENCODING = "encoding"
    """The message is not base64, not a DEFLATE stream, or a parameter is missing or repeated."""
    MALFORMED = "malformed"
    """The message is not well-formed XML in UTF-8, or a value does not have the form of its type."""
    FORBIDDEN_XML = "forbidden_xml"
    """The XML has a document type, an entity, a comment or a processing instruction."""
    TOO_COMPLEX = "too_complex"
    """The XML has too many nodes, attributes or namespaces, or is nested too deep."""
    UNEXPECTED = "unexpected"
    """The message has another type than expected, or not exactly one assertion in its place."""
    DUPLICATE_ID = "duplicate_id"
    """Two elements have the same id."""
    STATUS = "status"
    """The identity provider reports a failure."""
    DESTINATION = "destination"
    """The message is for another endpoint."""
    ISSUER = "issuer"
    """The message is from another identity provider."""
    IN_RESPONSE_TO = "in_response_to"
    """The message responds to a request that is unknown, has expired, or has a response already."""
    UNSOLICITED = "unsolicited"
    """The message responds to no request, and the connection does not accept such messages."""
    SIGNATURE_MISSING = "signature_missing"
    SIGNATURE_MISPLACED = "signature_misplaced"
    """There is a signature where none may be."""
    SIGNATURE_FORM = "signature_form"
    """The signature does not cover exactly the element that contains it, or uses transforms that are not accepted."""
    SIGNATURE_ALGORITHM = "signature_algorithm"
    """The signature uses an algorithm that is not accepted, such as one with SHA-1."""
    SIGNATURE_INVALID = "signature_invalid"
    """The signature was made by none of the keys whose certificates the connection has."""
    ENCRYPTION_ALGORITHM = "encryption_algorithm"
    """The assertion is encrypted with an algorithm that is not accepted, such as RSA 1.5."""
    ENCRYPTION = "encryption"
    """The assertion cannot be decrypted, or what was encrypted is not an assertion with a valid signature."""
    NOT_YET_VALID = "not_yet_valid"
    EXPIRED = "expired"
    CONDITIONS = "conditions"
    """The assertion has no conditions, or one that is not known."""
    AUDIENCE = "audience"
    """The assertion is for another service provider."""
    SUBJECT_CONFIRMATION = "subject_confirmation"
    """The assertion has no valid bearer confirmation for this endpoint and this request."""
    NAME_ID = "name_id"
    """The name identifier is empty, encrypted, too long, or has invisible characters."""
    AUTHENTICATION_MISSING = "authentication_missing"
    """The assertion does not have exactly one authentication statement."""
    SESSION_EXPIRED = "session_expired"
    """The session at the identity provider has ended."""


class SamlRefused(Exception):
    """A message is not accepted. `code` says why and may be shown; `detail` is a fixed word, or empty."""

    def __init__(self, code: SamlRefusal, detail: str = "") -> None:
        super().__init__(f"{code}: {detail}" if detail else code)
        self.code = code
        self.detail = detail


class MetadataRefused(ValueError):
    """The metadata of an identity provider cannot be used. The message names the element, and says what to do."""


@dataclass(frozen=True, slots=True)
class KeyCertificate:
    """A private key of this service provider and its self-signed certificate, both in PEM."""

    private_key: str = field(repr=False)
    certificate: str


class CertificateFacts(NamedTuple):
    """The contents of a certificate, for display. They do not affect the verification of signatures."""

    subject: str
    fingerprint: str
    """The SHA-256 of its DER form, in lower-case hexadecimal."""
    not_before: datetime
    not_after: datetime
    pem: str


@dataclass(frozen=True, slots=True)
class SamlServiceProvider:
    """This service as the service provider of one connection."""

    entity_id: str
    acs_url: str
    """The URL of the assertion consumer service."""
    logout_url: str | None = None
    """The URL of the single logout service; None if there is none."""
    keys: Sequence[KeyCertificate] = ()
    """First the key that signs requests and is announced for encryption, then older keys, which only decrypt."""


@dataclass(frozen=True, slots=True)
class SamlIdentityProvider:
    """The identity provider of one connection."""

    entity_id: str
    sign_in_url: str
    certificates: Sequence[str]
    """The pinned certificates in PEM. Only signatures by their keys are accepted, even if they have expired."""
    logout_url: str | None = None
    logout_response_url: str | None = None
    """The URL for logout responses; None for `logout_url`."""


class SamlMetadata(NamedTuple):
    """What the metadata of an identity provider contains."""

    entity_id: str
    sign_in_url: str
    logout_url: str | None
    logout_response_url: str | None
    certificates: Sequence[CertificateFacts]
    wants_signed_requests: bool


@dataclass(frozen=True, slots=True)
class AuthenticationRequest:
    """A request of a sign-in at the identity provider. `id` begins with a letter or an underscore."""

    id: str
    relay_state: str = field(repr=False)
    force_authentication: bool = False
    name_id_format: str | None = None
    is_signed: bool = False
    login_hint: str | None = field(default=None, repr=False)


class NameId(NamedTuple):
    """The name identifier of a user, unchanged as the identity provider sent it."""

    value: str
    format: str = UNSPECIFIED


@dataclass(frozen=True, slots=True)
class ExpectedResponse:
    """The conditions and limits that a response must meet."""

    live_requests: Collection[str]
    """The ids of requests that have no response yet."""
    allows_unsolicited: bool = False
    skew: timedelta = timedelta(seconds=60)
    most_characters: int = 262_144
    """The most characters of a `SAMLResponse` in base64."""


@dataclass(frozen=True, slots=True)
class VerifiedAssertion:
    """The contents of an assertion, read from the element that a verified signature covers."""

    id: str
    issuer: str
    name_id: NameId | None = field(repr=False)
    attributes: Mapping[str, Sequence[str]] = field(repr=False)
    """The values of each attribute, by its name, in the order of the assertion."""
    authenticated_at: datetime
    session_index: str | None = field(repr=False)
    session_ends_at: datetime | None
    in_response_to: str | None
    replay_until: datetime
    """The caller stores `id` until this time, and refuses another assertion with it."""


@dataclass(frozen=True, slots=True)
class SamlLogoutRequest:
    """A logout request: one that this service sends, or a verified one of an identity provider."""

    id: str
    name_id: NameId = field(repr=False)
    session_indexes: Sequence[str] = field(default=(), repr=False)
    """The sessions to end; empty for all sessions of the name identifier."""
    relay_state: str | None = field(default=None, repr=False)
    replay_until: datetime | None = None
    """The caller stores `id` until this time, and refuses it in another request; None for one of this service."""


class SamlLogoutResponse(NamedTuple):
    """A response of this service to a logout request of an identity provider."""

    in_response_to: str
    is_success: bool
    relay_state: str | None


class LogoutMessage(NamedTuple):
    """A message at the single logout service, as received: a query (redirect binding) or a form (POST binding)."""

    query: str | None = None
    """The query of a GET request, not decoded, because its signature covers these characters; None for a form."""
    form: Mapping[str, str] | None = None


class SamlMessages(Protocol):
    """Writes and verifies SAML 2.0 messages, without any state. URLs that it returns include their signatures."""

    def generate_key(self, common_name: str, now: datetime) -> KeyCertificate:
        """Return a new RSA key of 2048 bits with a self-signed certificate. It takes up to a second."""

    def certificate_facts(self, certificate: str) -> CertificateFacts:
        """Return the contents of a certificate in PEM or base64. Raises MetadataRefused, also for a weak key."""

    def read_metadata(self, document: bytes, now: datetime) -> SamlMetadata:
        """Return the contents of metadata of at most 1 MiB. Raises MetadataRefused.

        Endpoints have the form of a URL. The caller checks whether requests to them are allowed.
        """

    def write_metadata(self, own: SamlServiceProvider, *, signs_requests: bool) -> bytes:
        """Return the metadata document of this service provider; `signs_requests` if it signs its sign-in requests."""

    def request_sign_in(
        self,
        own: SamlServiceProvider,
        provider: SamlIdentityProvider,
        request: AuthenticationRequest,
        now: datetime,
    ) -> str:
        """Return the URL that sends a browser to the provider (redirect binding)."""

    def read_response(
        self,
        message: str,
        own: SamlServiceProvider,
        provider: SamlIdentityProvider,
        expected: ExpectedResponse,
        now: datetime,
    ) -> VerifiedAssertion:
        """Return the verified contents of a `SAMLResponse` field (POST binding). Raises SamlRefused."""

    def request_logout(
        self,
        own: SamlServiceProvider,
        provider: SamlIdentityProvider,
        request: SamlLogoutRequest,
        now: datetime,
    ) -> str:
        """Return the URL that carries a signed logout request. Raises ValueError if the provider has no logout URL."""

    def respond_to_logout(
        self,
        own: SamlServiceProvider,
        provider: SamlIdentityProvider,
        response: SamlLogoutResponse,
        message_id: str,
        now: datetime,
    ) -> str:
        """Return the URL that carries a signed logout response. Raises ValueError if the provider has no logout URL."""

    def read_logout(
        self,
        message: LogoutMessage,
        own: SamlServiceProvider,
        provider: SamlIdentityProvider,
        expected: ExpectedResponse,
        now: datetime,
    ) -> SamlLogoutRequest:
        """Return a verified logout request. Raises SamlRefused, also for an unsigned message.

        A verified response is refused as IN_RESPONSE_TO, because no request is kept.
        """


class SamlLibrary(Protocol):
    """Returns the implementation of `SamlMessages`, which loads its libraries at the first call."""

    def __call__(self) -> SamlMessages:
        """Return the implementation, the same at each call."""
