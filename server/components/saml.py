"""The messages of SAML in a running service."""

from functools import cache

from domain.sso.saml import SamlLibrary, SamlMessages
from models.discovery import lazy_import
from server.components.component import Component, Core


class Saml(Component):
    """Registers the messages of SAML, which are loaded at the first use."""

    def __init__(self, core: Core) -> None:
        core.port.add(SamlLibrary, _load)


@cache
def _load() -> SamlMessages:
    # lxml and signxml cost memory and time that services without SAML do not pay.
    messages: SamlMessages = lazy_import("server.saml.service_provider").ServiceProvider()
    return messages
