"""The request pipeline, compiled from the OpenAPI contract: routing, authentication, validation, and the handler."""

import warnings

# Connexion 3.3 imports Starlette's test client, which warns that its HTTP library is deprecated, and jsonschema's old
# resolver. Neither is used here.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import connexion

from server.api.build import build
from server.api.interfaces import Challenges, Dependencies, Endpoint, Refusals, Sessions
from server.api.request import Operation, Request

__all__ = [
    "Challenges",
    "Dependencies",
    "Endpoint",
    "Operation",
    "Refusals",
    "Request",
    "Sessions",
    "build",
    "connexion",
]
