"""SAML in a running service: the library that writes and verifies its messages."""

from functools import cache

from domain.sso.saml import SamlLibrary, SamlMessages
from models.discovery import lazy_import
from server.components.component import Component, Core


class Saml(Component):
    """The component that registers the library for SAML messages, which is loaded at its first use."""

    def __init__(self, core: Core) -> None:
        core.port.add(SamlLibrary, _load)


@cache
def _load() -> SamlMessages:
    # lxml and signxml cost memory and time that services without SAML do not pay.
    messages: SamlMessages = lazy_import("server.saml.service_provider").ServiceProvider()
    return messages
