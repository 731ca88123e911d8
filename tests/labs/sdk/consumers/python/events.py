"""A receiver of webhooks that uses the generated types: the type of an event decides which members it has.

It reads the bodies of requests, one a line, and prints what each is about.
"""

import json
import sys

from gatewright_client.webhooks import WebhookEvent, parse_event


def about(event: WebhookEvent) -> str | None:
    """Return what an event is about; a type checker knows its members where its type was compared."""
    if event.type_ == "user.created":
        return event.data.method
    if event.type_ == "user.deleted":
        return event.data.user.id
    if event.type_ == "session.revoked":
        return event.data.reason if event.data.user is None else ",".join(event.data.session_ids)
    if event.type_ == "member.role_changed":
        return f"{event.data.previous_role} -> {event.data.role}"
    if event.type_ == "signing_key.created":
        return event.data.kid
    return event.data.actor_id


def main() -> None:
    for line in sys.stdin:
        event = parse_event(json.loads(line))
        print("unknown" if event is None else f"{event.type_}: {about(event) or 'nobody'}")


if __name__ == "__main__":
    main()
