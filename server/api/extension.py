"""The extension `x-gatewright`: what the contract says of an operation to this service alone, unpublished."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict
from pydantic.alias_generators import to_camel

from codegen.bundle import EXTENSION


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


class OperationExtension(BaseModel):
    """The keys of the extension, in the contract in camelCase; an operation without a key has its default."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", strict=True, frozen=True)

    switch: Annotated[list[str], BeforeValidator(_listed)] = []
    """The settings that decide whether the operation exists: all of them true, or lists that are not empty."""
    rate_limited: bool = True
    """False for what watches the service, which asks as often as it likes."""
    failures_limited: bool = False
    """Whether requests without valid credentials are counted where others are not."""
    signs_in: bool = False
    """Whether a page of another origin may not navigate a browser there."""
    checks_script_origin: bool = False
    """Whether a GET, too, is refused where a script of an untrusted origin sent it."""
    signs_out: bool = False
    """Whether the session cookie is cleared even where the operation fails."""
    answers_head: bool = False
    """Whether HEAD is answered like GET: only where no token can be used up."""
    public_document: bool = False
    """Whether caches may keep the response and pages of every origin may read it: it is the same for all."""
    impersonation: Literal["allowed", "restricted", "never"] = "allowed"
    """Whether administrators may call it in the name of a user: `restricted` while `admin.impersonation.restricted` is
    false, `never` not at all."""
    page: bool = False
    """Whether it answers with hosted pages: refusals are pages, and a POST must come from one of our pages."""
    form: str | None = None
    """The operationId of the page that is shown again, with what was sent, when a form is refused."""
    account: Literal["own"] | None = None
    """`own` for a page of the caller's own account: a form must have been shown for the account that sends it."""
    fresh: bool = False
    """Whether it needs a session that was created a short time ago (`session.fresh_age`)."""
    authentication_by_setting: bool = False
    """Whether `require_authentication = false` opens it to callers without a session."""


def extension_of(operation: dict[str, Any]) -> OperationExtension:
    """Return the extension of an operation object of the contract.

    Raises ValueError for a key that does not exist, or whose value is of another type.
    """
    return OperationExtension.model_validate(operation.get(EXTENSION, {}))
