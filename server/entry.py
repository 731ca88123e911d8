"""How the command `gatewright` begins: with everything loaded, and none of that ever looked through for garbage."""

import gc
import os
import sys
from importlib import import_module


def run() -> None:
    """Load the command and run it."""
    # Loading makes half a million objects and hardly any garbage, but looking for it takes an eighth of the time.
    gc.disable()
    # Pydantic would look through every package of the installation for plugins of its own: this program has none.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # Before anything that would import them whole.
    import_module("server.libraries")
    cli = import_module("server.cli")
    for name in sys.argv[1:2]:
        if name in cli.PLACES:
            cli.code(name)
    gc.freeze()
    gc.enable()
    cli.app()
