"""What the service records of itself and of strangers, which is no event of a user."""

OTHER_AUDIT_EVENTS = {
    "limit.reached": "a refusal",
    "mail.failed": "no event of a user",
    "mail.given_up": "no event of a user",
    "mail.preview_sent": "no event of a user",
    "mail.sent_again": "sends what was sent before",
    "origin.refused": "a refusal",
    "redirect.refused": "a refusal",
    "secrets.rewritten": "no event of a user; what was encrypted is encrypted again",
    "service.started": "no event of a user",
}
