"""Events of webhooks, which concern no user."""

OTHER_AUDIT_EVENTS = {
    "webhook.endpoint_created": "endpoints belong to the service, not to who created them",
    "webhook.endpoint_updated": "endpoints belong to the service",
    "webhook.endpoint_deleted": "endpoints belong to the service",
    "webhook.endpoint_disabled": "endpoints belong to the service",
    "webhook.secret_rotated": "the secret signs requests to an endpoint, and opens nothing here",
    "webhook.redelivered": "an event is sent again",
    "webhook.delivery_failed": "an event is not sent",
    "webhook.backlog_full": "events are not sent",
}
