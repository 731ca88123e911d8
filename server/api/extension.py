"""The extension `x-gatewright` of operations in the contract. It is for this service only and is not published."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from codegen.bundle import EXTENSION


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


class OperationExtension(BaseModel):
    """The keys of the extension, which are camelCase in the contract; a missing key has its default."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", strict=True, frozen=True)

    switch: Annotated[list[str], BeforeValidator(_listed)] = []
    """The settings that must be met for the operation to exist: a boolean must be true, a list must not be empty, and a
    text must have a value that follows the key (`webhooks.management=admin`, `oauth.registration=token|open`)."""
    rate_limited: bool = True
    """False for health checks and monitoring, which have no request limit."""
    rate_factor: Annotated[int, Field(ge=1)] = 1
    """Factor of the request limit: for operations that servers call, which need a multiple of the usual limit."""
    failures_limited: bool = False
    """Whether requests without valid credentials have a request limit even if `rate_limited` is false."""
    max_body: Annotated[int, Field(ge=1)] | None = None
    """The largest body in bytes, if larger than `server.max_body`; None for no more than that setting."""
    signs_in: bool = False
    """Whether the operation signs a browser in. A page of another origin may not navigate the browser to it, and a form
    is refused if the browser sends no cookie."""
    checks_script_origin: bool = False
    """Whether a GET is refused, too, if a script of an untrusted origin sent it."""
    signs_out: bool = False
    """Whether the session cookie is cleared even if the operation fails."""
    answers_head: bool = False
    """Whether HEAD is answered like GET; only for operations that consume no token."""
    public_document: bool = False
    """Whether the response is the same for all clients: caches may store it, and pages of every origin may read it."""
    protocol: Literal["oauth", "scim"] | None = None
    """The protocol that defines the form of requests and errors. The handler gets `parameters` (`oauth`) or `request`
    (`scim`) as they were sent, no origin is checked, and errors have the names of the protocol."""
    navigation: bool = False
    """Whether clients of the OAuth protocol redirect browsers to this operation: errors of the service itself are then
    shown as a page."""
    any_origin: bool = False
    """Whether pages of every origin may call the operation, without credentials."""
    at_origin: bool = False
    """Whether the operation also has a path at the root of the origin that ends with `base_path` (RFC 8414, 3)."""
    impersonation: Literal["allowed", "restricted", "never"] = "allowed"
    """Whether administrators may call the operation while impersonating a user: `restricted` only if
    `admin.impersonation.restricted` is false, `never` not at all."""
    page: bool = False
    """Whether the operation responds with hosted pages: errors are pages, and a POST must come from such a page."""
    form: str | None = None
    """The operationId of the page that is shown again, with the submitted values, if a form is refused."""
    account: Literal["own"] | None = None
    """`own` for a page about the caller's account: a form is refused if it was rendered for another account."""
    fresh: bool = False
    """Whether the page requires a recently created session (`session.fresh_age`)."""
    administrative: bool = False
    """Whether the page is for administrators only: all other callers get 404."""
    continues_authorization: bool = False
    """Whether the operation may get an authorization request in `oauth_query`, and continues it after signing in."""
    authentication_by_setting: bool = False
    """Whether callers without a session may call the operation if `require_authentication` is false."""


def extension_of(operation: dict[str, Any]) -> OperationExtension:
    """Return the extension of an operation object of the contract.

    Raises ValueError for an unknown key, or a value of the wrong type.
    """
    return OperationExtension.model_validate(operation.get(EXTENSION, {}))
