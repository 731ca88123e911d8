"""A small contract with one operation of every kind the pipeline knows."""

from typing import Any

from codegen.bundle import EXTENSION

Json = dict[str, Any]

FLAG: Json = {
    "anyOf": [
        {"type": "boolean"},
        {"type": "string", "pattern": "^([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])$"},
    ]
}
TARGET: Json = {"type": "string", "format": "redirect-target", "maxLength": 65536}
EMAIL: Json = {
    "type": "string",
    "format": "email",
    "maxLength": 254,
    "pattern": r"^[a-z0-9.]+@[a-z0-9]+(\.[a-z]+)+$",
}

HARMLESS: Json = {"answersHead": True}
OPEN_BY_SETTING: Json = {"authenticationBySetting": True}

BEARER: Json = {"bearerAuth": []}
COOKIE: Json = {"cookieAuth": []}
PENDING: list[Json] = [{"pendingBearerAuth": []}, {"pendingCookieAuth": []}, BEARER, COOKIE]


def operation(operation_id: str, *, extension: Json | None = None, **parts: Any) -> Json:
    """Return an operation that answers 200 with anything, and 400; `extension` is its `x-gatewright`."""
    tag = operation_id.partition(".")[0]
    return {
        "operationId": operation_id,
        "tags": [tag],
        **({} if extension is None else {EXTENSION: extension}),
        "responses": {"200": {"description": "Done."}, "400": {"description": "Refused."}},
        **parts,
    }


def body(properties: Json, *required: str, media_type: str = "application/json") -> Json:
    """Return a request body with these fields."""
    schema: Json = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return {"required": bool(required), "content": {media_type: {"schema": schema}}}


def parameter(name: str, schema: Json, *, place: str = "query", required: bool = False) -> Json:
    """Return a parameter."""
    return {"name": name, "in": place, "required": required or place == "path", "schema": schema}


def document() -> Json:
    """Return a fresh copy of the contract."""
    text: Json = {"type": "string", "maxLength": 65536}
    sign_in = body(
        {
            "email": EMAIL,
            "password": text,
            "rememberMe": {"allOf": [FLAG]},
            "image": {"type": "string", "nullable": True, "maxLength": 20},
            "method": {"type": "string", "enum": ["password", "code"]},
            "age": {"type": "integer", "minimum": 18},
            "scopes": {"type": "array", "items": {"type": "string"}, "maxItems": 2, "uniqueItems": True},
            "profile": {"type": "object", "properties": {"city": {"type": "string", "minLength": 2}}},
            "callbackURL": TARGET,
            "newUserCallbackURL": TARGET,
        },
        "email",
        "password",
    )
    verify = [
        parameter("token", {"type": "string", "maxLength": 100}, required=True),
        parameter("callbackURL", TARGET),
        parameter("limit", {"type": "integer", "maximum": 10}),
    ]
    reset = [parameter("token", text, place="path"), parameter("callbackURL", TARGET)]
    provider = parameter("provider", {"type": "string", "maxLength": 64}, place="path")
    return {
        "openapi": "3.0.3",
        "info": {"title": "Small", "version": "1.0.0"},
        "servers": [{"url": "/"}],
        "security": [BEARER, COOKIE],
        "paths": {
            "/sign-in/email": {
                "post": operation(
                    "authentication.sign_in_email",
                    extension={"signsIn": True},
                    security=[],
                    requestBody=sign_in,
                )
            },
            "/sign-out": {
                "post": operation(
                    "authentication.sign_out", extension={"signsOut": True}, security=[BEARER, COOKIE, {}]
                )
            },
            "/get-session": {
                "get": operation(
                    "sessions.get_current",
                    extension=OPEN_BY_SETTING,
                    parameters=[parameter("disableRefresh", FLAG)],
                )
            },
            "/revoke-session": {
                "post": operation(
                    "sessions.revoke",
                    extension=OPEN_BY_SETTING,
                    requestBody=body({"token": text}, "token"),
                )
            },
            "/revoke-sessions": {"post": operation("sessions.revoke_all", extension=OPEN_BY_SETTING)},
            "/reset-password/{token}": {
                "get": operation("passwords.check_reset_token", security=[], parameters=reset)
            },
            "/verify-email": {
                "get": operation("emails.verify", security=[BEARER, COOKIE, {}], parameters=verify)
            },
            "/two-factor/verify-totp": {
                "post": operation(
                    "two_factor.verify_totp", security=PENDING, requestBody=body({"code": text}, "code")
                )
            },
            "/callback/{provider}": {
                "post": operation(
                    "social.relay_callback",
                    security=[],
                    parameters=[provider],
                    requestBody=body(
                        {"state": text}, "state", media_type="application/x-www-form-urlencoded"
                    ),
                )
            },
            "/ok": {
                "get": operation(
                    "service.check_health", extension={"rateLimited": False, **HARMLESS}, security=[]
                )
            },
            "/error": {
                "get": operation(
                    "service.show_error",
                    extension=HARMLESS,
                    security=[],
                    parameters=[parameter("error", text)],
                )
            },
            "/crash": {"get": operation("service.crash", extension=HARMLESS, security=[])},
        },
        "components": {
            "securitySchemes": {
                "bearerAuth": {"type": "http", "scheme": "bearer"},
                "cookieAuth": {"type": "apiKey", "in": "cookie", "name": "service.session-token"},
                "pendingBearerAuth": {"type": "http", "scheme": "bearer"},
                "pendingCookieAuth": {"type": "apiKey", "in": "cookie", "name": "service.two-factor"},
            }
        },
    }
