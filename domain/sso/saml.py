"""The interface of SAML 2.0 messages: facts go in as values, verified results come out. `server/saml` implements it.

Nothing here is stored: the caller knows which requests are live, and keeps the ids of assertions and logout requests
that were used, each until its `replay_until`.
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
    """Why a message is refused. The words are stored and shown, so they do not depend on its contents."""

    TOO_LARGE = "too_large"
    """More bytes than are allowed, as sent or after decompression."""
    ENCODING = "encoding"
    """The message is not base64, not a DEFLATE stream, or a parameter is missing or repeated."""
    MALFORMED = "malformed"
    """The message is not well-formed XML in UTF-8, or a value does not have the form of its type."""
    FORBIDDEN_XML = "forbidden_xml"
    """The XML has a document type, an entity, a comment or a processing instruction."""
    TOO_COMPLEX = "too_complex"
    """The XML has too many nodes, attributes or namespaces, or is nested too deep."""
    UNEXPECTED = "unexpected"
    """The message is not the expected one, or does not have exactly one assertion in its place."""
    DUPLICATE_ID = "duplicate_id"
    """Two elements have the same id."""
    STATUS = "status"
    """The identity provider reports a failure."""
    DESTINATION = "destination"
    """The message is for another endpoint."""
    ISSUER = "issuer"
    """The message is from another identity provider."""
    IN_RESPONSE_TO = "in_response_to"
    """The message responds to a request that is not live."""
    UNSOLICITED = "unsolicited"
    """The message responds to no request, and the connection does not accept such messages."""
    SIGNATURE_MISSING = "signature_missing"
    SIGNATURE_MISPLACED = "signature_misplaced"
    """There is a signature where none may be."""
    SIGNATURE_FORM = "signature_form"
    """The signature is not over exactly the element that contains it, or uses other transforms."""
    SIGNATURE_ALGORITHM = "signature_algorithm"
    """The signature uses an algorithm that is not accepted, such as one with SHA-1."""
    SIGNATURE_INVALID = "signature_invalid"
    """None of the certificates of the connection has made the signature."""
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
    """No bearer confirmation is for this endpoint and this request, and in time."""
    NAME_ID = "name_id"
    """The name identifier is empty, encrypted, too long, or has invisible characters."""
    AUTHENTICATION_MISSING = "authentication_missing"
    """The assertion does not have exactly one authentication statement."""
    SESSION_EXPIRED = "session_expired"
    """The session at the identity provider has ended."""


class SamlRefused(Exception):
    """A message that is not accepted. Its `code` is safe to show, its `detail` is one of few fixed words, or empty."""

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
    """What a certificate says about itself. Its key is pinned: nothing here decides about a signature."""

    subject: str
    fingerprint: str
    """The SHA-256 of its DER form, in lower-case hexadecimal."""
    not_before: datetime
    not_after: datetime
    pem: str


@dataclass(frozen=True, slots=True)
class SamlServiceProvider:
    """This service, as one connection presents it."""

    entity_id: str
    acs_url: str
    """The assertion consumer service."""
    logout_url: str | None = None
    """The single logout service."""
    keys: Sequence[KeyCertificate] = ()
    """The key that signs and encrypts, then older ones that still decrypt."""


@dataclass(frozen=True, slots=True)
class SamlIdentityProvider:
    """An identity provider, as one connection knows it."""

    entity_id: str
    sign_in_url: str
    certificates: Sequence[str]
    """The pinned certificates in PEM: only these keys sign for the provider, whether or not they have expired."""
    logout_url: str | None = None
    logout_response_url: str | None = None
    """Where logout responses go, if not to `logout_url`."""


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
    """A sign-in that is to be requested. `id` begins with a letter or an underscore."""

    id: str
    relay_state: str = field(repr=False)
    force_authentication: bool = False
    name_id_format: str | None = None
    is_signed: bool = False
    login_hint: str | None = field(default=None, repr=False)


class NameId(NamedTuple):
    """The identifier of a user at an identity provider, as given."""

    value: str
    format: str = UNSPECIFIED


@dataclass(frozen=True, slots=True)
class ExpectedResponse:
    """What a response must match, and its bounds."""

    live_requests: Collection[str]
    """The ids of requests of this browser that have no response yet."""
    allows_unsolicited: bool = False
    skew: timedelta = timedelta(seconds=60)
    most_characters: int = 262_144
    """The largest `SAMLResponse`, in base64."""


@dataclass(frozen=True, slots=True)
class VerifiedAssertion:
    """The contents of an assertion, read from the very element that its signature covers."""

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
    """Until then the caller keeps `id`, and refuses it."""


@dataclass(frozen=True, slots=True)
class SamlLogoutRequest:
    """A request to end sessions: of this service, or a verified one of an identity provider."""

    id: str
    name_id: NameId = field(repr=False)
    session_indexes: Sequence[str] = field(default=(), repr=False)
    """The sessions to end; empty for all sessions of the name identifier."""
    relay_state: str | None = field(default=None, repr=False)
    replay_until: datetime | None = None
    """Of a request of the provider: until then the caller keeps `id`, and refuses it."""


class SamlLogoutResponse(NamedTuple):
    """A response of this service to a logout request of an identity provider."""

    in_response_to: str
    is_success: bool
    relay_state: str | None


class LogoutMessage(NamedTuple):
    """A message at the single logout service, as received: a query (redirect binding) or a form (POST binding)."""

    query: str | None = None
    """The query of a GET request without decoding: its signature is over these characters."""
    form: Mapping[str, str] | None = None


class SamlMessages(Protocol):
    """Writes and reads SAML 2.0 messages, without any state. The URLs are complete, with their signatures."""

    def generate_key(self, common_name: str, now: datetime) -> KeyCertificate:
        """Return a new RSA key of 2048 bits with a self-signed certificate. It takes up to a second."""

    def certificate_facts(self, certificate: str) -> CertificateFacts:
        """Return the facts of a certificate in PEM or base64. Raises MetadataRefused, also for a weak key."""

    def read_metadata(self, document: bytes, now: datetime) -> SamlMetadata:
        """Return the contents of metadata of at most 1 MiB. Raises MetadataRefused.

        Addresses have the form of a URL; the caller checks that they may be used.
        """

    def write_metadata(self, own: SamlServiceProvider, *, signs_requests: bool) -> bytes:
        """Return the metadata document of this service provider."""

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
        """Return the URL that sends a signed logout request. Raises ValueError if the provider has no logout URL."""

    def respond_to_logout(
        self,
        own: SamlServiceProvider,
        provider: SamlIdentityProvider,
        response: SamlLogoutResponse,
        message_id: str,
        now: datetime,
    ) -> str:
        """Return the URL that sends a signed logout response. Raises ValueError if the provider has no logout URL."""

    def read_logout(
        self,
        message: LogoutMessage,
        own: SamlServiceProvider,
        provider: SamlIdentityProvider,
        expected: ExpectedResponse,
        now: datetime,
    ) -> SamlLogoutRequest:
        """Return a verified logout request. Raises SamlRefused, also if unsigned.

        A verified response is refused as IN_RESPONSE_TO, because no request is kept.
        """


class SamlLibrary(Protocol):
    """Loads the libraries for SAML at the first call: most services have no connection that needs them."""

    def __call__(self) -> SamlMessages:
        """Return the adapter, which is always the same."""
