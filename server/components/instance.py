"""The process that responds, for administrators of the service."""

import os
import socket

from domain.ports import Instance
from server.components.component import Component, Core


class ThisInstance(Component):
    """The component that knows which process this is, and since when it runs."""

    def __init__(self, core: Core) -> None:
        core.port.add(Instance, Instance(socket.gethostname(), os.getpid(), core.clock()))
