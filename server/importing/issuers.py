"""The issuer that an identity at a configured provider is stored with (behaviour 7.5)."""

import uuid
from collections.abc import Mapping

from server.providers.configuration import Configuration, configurations
from server.settings import Settings


def issuers(settings: Settings) -> Mapping[str, str | None]:
    """Give it by the provider's id: empty for plain OAuth 2.0, None where the settings leave it open."""
    return {id_: _issuer(one) for id_, one in configurations(settings).items()}


def _issuer(one: Configuration) -> str | None:
    if not one.habits.is_openid:
        return ""
    if one.preset.tenanted and not _is_tenant(one.tenant):
        return None  # Each user's tenant is part of the issuer, and no other program keeps it.
    own = [issuer for issuer in one.issuers if issuer not in one.preset.aliases]
    return own[0] if len(own) == 1 else None


def _is_tenant(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False
