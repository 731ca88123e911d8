"""Connexion's middlewares, compiled once per operation at start: routing, security, validation, calling."""

from server.imports import without

# Connexion brings applications on Flask, a client for tests, ways to fetch a contract or check a token elsewhere,
# contracts and pages made of templates, and through jsonschema the names of domains in all scripts. Of Werkzeug, which
# would bring a server, it needs a proxy of variables.
UNUSED = {
    "httpx": (),
    "jinja2": (),
    "requests": (),
    "starlette.templating": ("Jinja2Templates",),
    "starlette.testclient": ("TestClient",),
    "urllib.request": (),
    "werkzeug.serving": ("run_simple",),
    "werkzeug.test": ("Client",),
    "werkzeug.wrappers": ("Request", "Response"),
    "werkzeug.wsgi": ("ClosingIterator",),
}

with without("flask", "idna", hollow=UNUSED):
    from server.pipeline.building import build
    from server.pipeline.ports import Challenges, Endpoint, Refusals, Sessions
    from server.pipeline.request import Operation, Request

__all__ = ["Challenges", "Endpoint", "Operation", "Refusals", "Request", "Sessions", "build"]
