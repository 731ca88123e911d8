"""Directories in a running service: the library behind the SCIM protocol, loaded if directories are on."""

from domain.scim.protocol import ScimProtocol
from domain.scim.totals import TotalsCache
from models.discovery import lazy_import
from server.components.component import Component, Core
from server.config.groups.scim import ScimSettings


class Directories(Component):
    """Registers the engine of the SCIM protocol, and the totals of large directories, if directories are on."""

    def __init__(self, core: Core) -> None:
        if core.settings[ScimSettings].enabled:
            core.port.add(ScimProtocol, lazy_import("server.scim.engine").Engine())
            core.port.add(TotalsCache, TotalsCache())
