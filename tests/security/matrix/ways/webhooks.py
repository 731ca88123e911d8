"""Tables of webhooks, which let nobody into an account."""

from models.webhook_event import WebhookEvent

OTHER_TABLES = {
    WebhookEvent: "what endpoints are told of a user; holds no token, and is erased with the user",
}
