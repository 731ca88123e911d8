"""Directories in a running service: the library for the SCIM protocol, loaded if `scim.enabled` is true."""

from domain.scim.protocol import ScimProtocol
from domain.scim.totals import TotalsCache
from models.discovery import lazy_import
from server.components.component import Component, Core
from server.config.groups.scim import ScimSettings


class Directories(Component):
    """The component that registers the engine of the SCIM protocol and the cache of totals, if SCIM is enabled."""

    def __init__(self, core: Core) -> None:
        if core.settings[ScimSettings].enabled:
            core.port.add(ScimProtocol, lazy_import("server.scim.engine").Engine())
            core.port.add(TotalsCache, TotalsCache())
