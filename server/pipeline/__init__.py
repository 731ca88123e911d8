"""Connexion's middlewares, compiled once per operation at start: routing, security, validation, calling."""

import warnings

# Importing Connexion imports Starlette's test client, which warns of its own httpx. Users can do nothing about it.
warnings.filterwarnings("ignore", message="Using `httpx`", module="connexion")

from server.pipeline.building import build  # noqa: E402
from server.pipeline.ports import Call, Challenges, Endpoint, Refusals, Sessions  # noqa: E402

__all__ = ["Call", "Challenges", "Endpoint", "Refusals", "Sessions", "build"]
