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
    """The settings that decide whether the operation exists: all of them true, or lists that are not empty, or of a
    value that follows the key (`webhooks.management=admin`, `oauth.registration=token|open`)."""
    rate_limited: bool = True
    """False for health checks and monitoring, which have no request limit."""
    rate_factor: Annotated[int, Field(ge=1)] = 1
    """How many times the requests of other operations pass in a window: for operations that servers call."""
    failures_limited: bool = False
    """Whether requests without valid credentials are counted although other requests are not."""
    max_body: Annotated[int, Field(ge=1)] | None = None
    """The largest body in bytes, if it may be larger than `server.max_body`."""
    signs_in: bool = False
    """Whether it signs a browser in: a page of another origin may not navigate the browser there, and a form needs a
    browser that keeps cookies."""
    checks_script_origin: bool = False
    """Whether a GET that a script of an untrusted origin sent is refused as well."""
    signs_out: bool = False
    """Whether the session cookie is cleared even if the operation fails."""
    answers_head: bool = False
    """Whether HEAD is answered like GET; only for operations that consume no token."""
    public_document: bool = False
    """Whether the response is the same for all clients: caches may store it, and pages of every origin may read it."""
    protocol: Literal["oauth", "scim"] | None = None
    """The protocol whose form requests and errors have: the handler gets `parameters` (`oauth`) or a `request` (`scim`)
    as they were sent, no origin is checked, and errors have the names of the protocol."""
    navigation: bool = False
    """Whether clients of a protocol send browsers there: what is wrong with the service itself is shown as a page."""
    any_origin: bool = False
    """Whether pages of every origin may call it, without credentials."""
    at_origin: bool = False
    """Whether its path is also at the root of the origin, with `base_path` at its end, where RFC 8414 puts it."""
    impersonation: Literal["allowed", "restricted", "never"] = "allowed"
    """Whether administrators may call it while impersonating a user: `restricted` only if
    `admin.impersonation.restricted` is false, `never` not at all."""
    page: bool = False
    """Whether it responds with hosted pages: errors are pages, and a POST must come from a page of this service."""
    form: str | None = None
    """The operationId of the page that is shown again, with the submitted values, if a form is refused."""
    account: Literal["own"] | None = None
    """`own` for a page of the caller's account: a form must have been rendered for the account that submits it."""
    fresh: bool = False
    """Whether it requires a recently created session (`session.fresh_age`)."""
    administrative: bool = False
    """Whether it is a page for administrators only: for everybody else it does not exist."""
    continues_authorization: bool = False
    """Whether `oauth_query` names an authorization request that its response with a session continues."""
    authentication_by_setting: bool = False
    """Whether `require_authentication = false` opens it to callers without a session."""


def extension_of(operation: dict[str, Any]) -> OperationExtension:
    """Return the extension of an operation object of the contract.

    Raises ValueError for an unknown key, or a value of the wrong type.
    """
    return OperationExtension.model_validate(operation.get(EXTENSION, {}))
