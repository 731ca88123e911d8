"""A device asks for access, and its user decides."""

OTHER_AUDIT_EVENTS = {
    "device.started": "opens nothing until a user approves it",
    "device.approved": "opens a way in",
    "device.denied": "a refusal",
    "device.redeemed": "opens a session, or a grant",
}
