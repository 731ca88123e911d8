"""Connexion's middlewares, compiled once per operation at start: routing, security, validation, calling."""

from server.imports import without

# Connexion brings applications on Flask, a client for tests, and ways to fetch a contract or check a token elsewhere.
with without("flask", hollow={"httpx": (), "requests": (), "starlette.testclient": ("TestClient",)}):
    from server.pipeline.building import build
    from server.pipeline.ports import Call, Challenges, Endpoint, Refusals, Sessions

__all__ = ["Call", "Challenges", "Endpoint", "Refusals", "Sessions", "build"]
