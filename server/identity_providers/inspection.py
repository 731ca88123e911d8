"""Differences between a provider's settings and what it publishes, for the operator to fix."""

from collections.abc import Iterator, Mapping
from typing import Any

from server.identity_providers.configuration import Configuration
from server.identity_providers.discovery import ForeignIssuer, metadata_of
from server.identity_providers.http_client import Calls, ProviderError
from server.identity_providers.jwks import fetch_keys

_TYPE = "code"
"""The response type that the service requests."""
_METHODS = {"post": "client_secret_post", "basic": "client_secret_basic"}


async def problems(calls: Calls, configuration: Configuration) -> list[str]:
    """Compare the settings of an OpenID provider with its discovery document; return one line per problem.

    A line begins with the setting to change, if there is one. Providers of plain OAuth 2.0 publish nothing to compare.
    """
    if not configuration.traits.is_openid:
        return []
    key = f"providers.{configuration.traits.id}"
    try:
        reply = await calls.get(configuration.discovery_url)
        announced = reply.members if reply.is_success else {}
    except ProviderError as fault:
        return [
            f"{configuration.discovery_url}: {fault}; check the address, and that this machine reaches it"
        ]
    if not reply.is_success:
        return [
            f"{configuration.discovery_url}: responds with {reply.status}; check {key}.discovery_url or its issuer"
        ]
    return [
        *(f"{key}{problem}" for problem in _disagreements(announced, configuration)),
        *await _unusable(calls, announced, configuration),
    ]


async def _unusable(calls: Calls, announced: Mapping[str, Any], configuration: Configuration) -> list[str]:
    """Return the problems that make every sign-in fail: an invalid discovery document, or unavailable keys."""
    try:
        metadata = metadata_of(announced, configuration)
    except ForeignIssuer as foreign:
        return [f"{configuration.discovery_url}: {foreign}{_said(announced, configuration)}"]
    except ProviderError as fault:
        return [f"{configuration.discovery_url}: {fault}; no user could sign in"]
    try:
        await fetch_keys(calls, metadata.jwks_uri)
    except ProviderError as fault:
        return [f"{metadata.jwks_uri}: {fault}; no user could sign in"]
    return []


def _said(announced: Mapping[str, Any], configuration: Configuration) -> str:
    """Return the expected and the published issuer, and the setting to change, as the end of a message."""
    issuer, key = announced.get("issuer"), f"providers.{configuration.traits.id}.issuer"
    if not _is_plain(issuer):
        return f"; expected {configuration.issuers[0]!r}"
    return f"; it says {issuer!r}, expected {configuration.issuers[0]!r}; if it is right, set {key} to what it says"


def _disagreements(announced: Mapping[str, Any], configuration: Configuration) -> Iterator[str]:
    algorithms = _listed(announced, "id_token_signing_alg_values_supported")
    if algorithms and not set(configuration.algorithms) & algorithms:
        yield f".allowed_algorithms: the provider signs only with {_joined(algorithms)}"
    methods = _listed(announced, "token_endpoint_auth_methods_supported")
    if configuration.secret is not None and methods and _METHODS[configuration.token_auth] not in methods:
        fitting = [name for name, method in _METHODS.items() if method in methods]
        remedy = (
            f"set it to {fitting[0]}"
            if fitting
            else f"it supports only {_joined(methods)}, which this service does not"
        )
        yield f".token_auth: the provider does not support {configuration.token_auth}; {remedy}"
    types = _listed(announced, "response_types_supported")
    if types and _TYPE not in types:
        yield f": the provider supports only the response types {_joined(types)}; this service requires {_TYPE}"
    challenges = _listed(announced, "code_challenge_methods_supported")
    if configuration.pkce and challenges and "S256" not in challenges:
        yield ".pkce: the provider does not support S256; set it to false"
    scopes = _listed(announced, "scopes_supported")
    unknown = sorted(set(configuration.traits.scopes) - scopes) if scopes else []
    if unknown:
        yield f".scopes: the provider does not support {_joined(unknown)}"


def _listed(announced: Mapping[str, Any], name: str) -> set[str]:
    """Return a member that is a list of words; empty if it is missing or of another type."""
    written = announced.get(name)
    return {word for word in written if _is_plain(word)} if isinstance(written, list) else set()


def _is_plain(word: object) -> bool:
    """Return whether a text from a provider can be printed to a terminal."""
    return isinstance(word, str) and len(word) <= 2048 and word.isprintable()


def _joined(words: set[str] | list[str]) -> str:
    return ", ".join(sorted(words))
