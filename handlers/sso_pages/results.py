"""Convert the result of a test sign-in to the template values of pages."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from domain.context import Context
from domain.localization import N_
from domain.social.flows import CallbackError
from domain.sso.saml import SamlRefusal
from domain.sso_connections import testing
from domain.sso_connections.errors import SsoTestNotFound
from domain.sso_sign_in.testing import TestResult
from handlers.organization_pages.layout import role_name
from handlers.pages.view import View
from models.sso_connection import ConnectionRow

_OUTCOMES = {
    "sign_in": N_("The user is known, and would be signed in."),
    "link": N_(
        "There is a user with this email address. The account at the identity provider would be connected to them, and "
        "they would be signed in."
    ),
    "create": N_("A new user would be created, and signed in."),
    "refused": N_("The sign-in would be refused."),
}
_REASONS: Mapping[str, str] = {
    "BANNED_USER": N_("This user is blocked. Contact the operator of this service."),
    "access_denied": N_("The identity provider did not allow the sign-in, or you stopped it there."),
    "domain_not_allowed": N_(
        "The email address is in none of the verified domains of the connection. Verify its domain, or use another "
        "account at the identity provider."
    ),
    "email_not_found": N_(
        "The identity provider sent no email address. Let it send one, or enter the name of its attribute in the "
        "settings of the connection."
    ),
    "invalid_code": N_(
        "The identity provider did not accept this service. Check the client id and the client secret."
    ),
    "issuer_mismatch": N_("The response is from another issuer. Check the issuer of the connection."),
    "membership_limit_reached": N_("The organization has as many members as are allowed."),
    "organization_limit_reached": N_("This user is in as many organizations as are allowed."),
    "provider_unavailable": N_("The identity provider cannot be reached at the moment. Try again later."),
    "saml_audience": N_(
        "The response is for another service. Copy the entity ID of this service to the identity provider again."
    ),
    "saml_destination": N_(
        "The response is for another address. Copy the URL of the assertion consumer service to the identity provider "
        "again."
    ),
    "saml_issuer": N_(
        "The response is from another identity provider than the one in the metadata. Load its metadata again."
    ),
    "saml_signature_algorithm": N_(
        "The identity provider signs with an algorithm that is not accepted. Choose RSA or ECDSA with SHA-256 there."
    ),
    "saml_signature_invalid": N_(
        "The response is not signed with a certificate of the connection. Load the metadata of the identity provider "
        "again."
    ),
    "saml_signature_missing": N_("The identity provider does not sign assertions. Switch that on there."),
    "signup_disabled": N_(
        "There is no user with this email address, and the settings of the connection create none."
    ),
    "unable_to_get_user_info": N_(
        "The identity provider sent an ID token that is not valid, or does not say who the user is."
    ),
    "user_disabled": N_("The directory of the connection has disabled this user."),
}
"""Why a response or a sign-in is refused, and what helps: texts by error code."""
_ROLE_SOURCES = {
    "group": N_("from the rule for the group “%(group)s”"),
    "default": N_("the role of new members, because no rule for groups applies"),
    "kept": N_("as before, because the user is an owner, or there are no rules for groups"),
}
_OTHER_REASON = N_("The response of the identity provider was refused.")
_CODES = {*_REASONS, *CallbackError, *(f"saml_{code}" for code in SamlRefusal)}
_GONE = N_("This result was shown already, or has expired. Test again.")


async def values(
    ctx: Context, view: View, row: ConnectionRow, result: str | None, error: str | None
) -> Mapping[str, Any]:
    """Return the template values for a test sign-in: for its `result`, or for the `error` of a refused response.

    `result` is the token of the stored result, which is deleted.
    """
    found = None
    if result:
        with suppress(SsoTestNotFound):
            found = await testing.take(ctx, row.provider_id, result)
    gone = _GONE if result and found is None else None
    return {
        "result": found,
        "problem": _problem(view, error if found is None else found.code, gone),
        "code": _known(error) if found is None else found.code,
        **({} if found is None else _shown(view, found)),
    }


def _shown(view: View, found: TestResult) -> Mapping[str, str | None]:
    """Return the template values that say what a sign-in would do."""
    localization = view.localization
    source = None if found.role_source is None else localization.gettext(_ROLE_SOURCES[found.role_source])
    return {
        "outcome": localization.gettext(_OUTCOMES[found.outcome]),
        "roles": ", ".join(role_name(localization, name) for name in found.roles),
        "role_source": source and source % {"group": found.group},
    }


def _problem(view: View, code: str | None, otherwise: str | None = None) -> str | None:
    text = otherwise if code is None else _REASONS.get(code, _OTHER_REASON)
    return None if text is None else view.localization.gettext(text)


def _known(error: str | None) -> str | None:
    # Anyone can link to this page with any `error`.
    return error if error in _CODES else None
