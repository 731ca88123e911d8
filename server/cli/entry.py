"""How the command `gatewright` begins: with everything loaded, and none of that ever looked through for garbage."""

import gc
import os
import sys


def run() -> None:
    """Load the command and run it."""
    # Loading makes half a million objects and hardly any garbage, but looking for it takes an eighth of the time.
    gc.disable()
    # Pydantic would look through every package of the installation for plugins of its own: this program has none.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # The libraries come before anything that would import them whole.
    from server.cli.main import COMMANDS, app, load_command  # noqa: PLC0415
    from server.imports import libraries  # noqa: F401, PLC0415

    for name in sys.argv[1:2]:
        if name in COMMANDS:
            load_command(name)
    gc.freeze()
    gc.enable()
    app()
