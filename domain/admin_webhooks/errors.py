"""Errors about webhook endpoints and their deliveries."""

from domain.errors import BadRequest, Conflict, NotFound


class InvalidWebhookUrl(BadRequest):
    """The form or the host of a URL is not allowed; the message says why."""

    message = "Invalid webhook URL"


class UnknownEvent(BadRequest):
    """A subscription is neither an event nor a group of events nor `*`; the message names it."""

    message = "Unknown event"


class TooManyEndpoints(BadRequest):
    """There are `webhooks.max_endpoints` endpoints."""

    message = "Too many endpoints"


class EndpointReadOnly(BadRequest):
    """The endpoint comes from the configuration."""

    message = "Endpoint is managed by configuration"


class EndpointNotActive(BadRequest):
    """The endpoint is paused or disabled, so nothing is sent to it."""

    message = "Endpoint is not active"


class PayloadExpired(BadRequest):
    """The content of the event is erased."""

    message = "Payload has expired"


class StaleEndpoint(Conflict):
    """The endpoint was changed after a form was shown with it, or an endpoint was added or deleted."""

    message = "The endpoints were changed meanwhile"


class EndpointNotFound(NotFound):
    """There is no such endpoint."""

    message = "Endpoint not found"


class DeliveryNotFound(NotFound):
    """There is no such delivery, or it is one of another endpoint."""

    message = "Delivery not found"
