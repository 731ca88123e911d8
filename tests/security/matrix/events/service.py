"""What the service records of itself and of strangers, which is no event of a user."""

OTHER_AUDIT_EVENTS = {
    "limit.reached": "a refusal",
    "mail.failed": "no event of a user",
    "origin.refused": "a refusal",
    "redirect.refused": "a refusal",
    "secrets.rewritten": "no event of a user; what was encrypted is encrypted again",
    "service.started": "no event of a user",
}
