"""An OpenID Connect provider with everything that is off by default."""

SETTINGS = {
    "oauth.enabled": "true",
    "jwt.enabled": "true",
    "oauth.client_management": "admin",
    "oauth.registration": "token",
    "oauth.device.enabled": "true",
}
