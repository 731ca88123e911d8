"""The endpoints by which a test tells the provider how to behave, and asks what it saw."""

from typing import Any

from flask import Blueprint, Response, jsonify, request

from tests.labs.provider.keys import sign
from tests.labs.provider.misbehaviour import KINDS
from tests.labs.provider.state import CLIENT_ID, PEOPLE, State
from tests.labs.provider.tokens import tampered

ENDPOINTS = {
    "/.well-known/openid-configuration": "discovery",
    "/jwks": "jwks",
    "/authorize": "authorize",
    "/token": "token",
    "/userinfo": "userinfo",
    "/oauth/authorize": "oauth_authorize",
    "/oauth/token": "oauth_token",
    "/oauth/user": "oauth_user",
    "/oauth/user/emails": "oauth_emails",
}
"""The names of the public endpoints, in the log and for misbehaviour."""


def make_control(state: State) -> Blueprint:
    """Return the endpoints under /control."""
    control = Blueprint("control", __name__, url_prefix="/control")

    @control.post("")
    def change() -> Any:
        changes = request.get_json()
        for endpoint, behaviour in (changes.get("misbehave") or {}).items():
            if endpoint not in ENDPOINTS.values() or not set(behaviour or {}) <= KINDS:
                return Response(f"no such misbehaviour: {endpoint} {behaviour}", 400)
        try:
            with state.lock:
                state.controls.merge(changes)
            if "misbehave" in changes:
                state.release()
        except KeyError as unknown:
            return Response(f"no such control: {unknown}", 400)
        return jsonify({})

    @control.post("/reset")
    def reset() -> Any:
        state.reset()
        return jsonify({})

    @control.post("/rotate-keys")
    def rotate_keys() -> Any:
        with state.lock:
            state.generation += 1
        return jsonify(state.keys().public())

    @control.get("/log")
    def log() -> Any:
        return jsonify(state.log)

    @control.post("/mint")
    def mint() -> Any:
        return jsonify({"id_token": _mint(state, request.get_json())})

    return control


def _mint(state: State, wanted: dict[str, Any]) -> str:
    """Return an ID token as the token endpoint would, with claims and header changed; null removes one."""
    now = state.now()
    user = state.decided_user(None) or PEOPLE[0]
    usual = {"iss": state.issuer, "aud": CLIENT_ID, "iat": now, "exp": now + 3600, **user}
    algorithm = wanted.get("algorithm") or state.controls.algorithm
    header = {"alg": algorithm, "kid": state.keys().of(algorithm).kid, "typ": "JWT"}
    return sign(
        state.keys(),
        tampered(header, wanted.get("header") or {}),
        tampered(usual, wanted.get("claims") or {}),
        wanted.get("sign_with") or state.controls.sign_with,
    )
