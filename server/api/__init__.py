"""Connexion's middlewares, compiled once per operation at start: routing, security, validation, calling."""

from http import HTTPStatus

from server.imports import StandIns, without

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

# Applications that are not asynchronous, pages that show a fault, forms that Connexion takes apart itself, and what
# jsonschema checks where a contract asks for it. Of an HTTP client Starlette needs the names of status codes.
SELDOM: StandIns = {
    "asgiref.sync": ("async_to_sync",),
    "attr.validators": (),
    "attrs.validators": (),
    "html": (),
    "http.client": {"responses": {status: status.phrase for status in HTTPStatus}},
    "python_multipart": (),
    "python_multipart.multipart": ("parse_options_header",),
    "rfc3339_validator": ("validate_rfc3339",),
    "starlette.formparsers": ("FormParser", "MultiPartException", "MultiPartParser"),
    "zipfile": (),
}

with without("flask", "idna", "importlib_resources", hollow=UNUSED, late=SELDOM):
    from server.api.build import build
    from server.api.interfaces import Challenges, Endpoint, Refusals, Sessions
    from server.api.request import Operation, Request

__all__ = ["Challenges", "Endpoint", "Operation", "Refusals", "Request", "Sessions", "build"]
