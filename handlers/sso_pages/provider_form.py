"""Convert forms about the identity provider of a connection to the fields of API operations."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from domain.errors import Field, ValidationError
from domain.localization import N_
from handlers.sso_pages.providers import OIDC

FIELD_TEXTS: Mapping[str, str] = {
    "metadata": N_(
        "This is not the metadata of a SAML identity provider. Copy the whole document, which begins with a tag such "
        "as <EntityDescriptor>."
    ),
    "metadataUrl": N_(
        "Enter either a URL that leads to the metadata of a SAML identity provider, or the metadata itself."
    ),
    "issuer": N_("Enter the issuer: a URL that begins with https://."),
    "clientId": N_("Enter the client id."),
    "clientSecret": N_("Enter the client secret."),
}

FIELD_LABELS: Mapping[str, str] = {
    "clientId": N_("Client id"),
    "clientSecret": N_("Client secret"),
    "domains": N_("Domains"),
    "issuer": N_("Issuer"),
    "metadata": N_("Metadata"),
    "metadataUrl": N_("URL of the metadata"),
}

_NAMES = {
    "samlConfig.idpMetadata.metadata": "metadata",
    "samlConfig.idpMetadata.metadataUrl": "metadataUrl",
    "samlConfig.entryPoint": "metadata",
    "samlConfig.cert": "metadata",
    "domain": "domains",
    "oidcConfig.clientId": "clientId",
    "oidcConfig.clientSecret": "clientSecret",
}
"""The names of form fields, by the fields of API operations that they stand for."""


def sent_fields(body: Mapping[str, Any], protocol: str, *, is_new: bool = True) -> Mapping[str, Any]:
    """Return the fields of an API operation from a form. Raises ValidationError if a required field is missing.

    The client secret is required only if the connection `is_new`; an existing one keeps its secret.
    """
    if protocol == OIDC:
        needed = ("issuer", "clientId", "clientSecret") if is_new else ("issuer", "clientId")
        for name in needed:
            if not _text(body, name):
                _refuse(name, "is required")
        values = {name: _text(body, name) for name in ("clientId", "clientSecret")}
        return {"issuer": _text(body, "issuer"), "oidcConfig": {k: v for k, v in values.items() if v}}
    given = {name: value for name in ("metadataUrl", "metadata") if (value := _text(body, name))}
    if len(given) != 1:
        _refuse("metadataUrl", "is required, or metadata")
    return {"samlConfig": {"idpMetadata": given}}


@contextmanager
def named_fields() -> Iterator[None]:
    """Replace, in a ValidationError of the block, the fields of an API operation by the fields of the form."""
    try:
        yield
    except ValidationError as error:
        renamed = (Field(one.place, _NAMES.get(one.name, one.name), one.message) for one in error.fields)
        raise ValidationError(error.message, *renamed) from error


def _text(body: Mapping[str, Any], name: str) -> str:
    return str(body.get(name, "")).strip()


def _refuse(name: str, problem: str) -> None:
    raise ValidationError(f"[body.{name}] {problem}", Field("body", name, problem))
