"""Applications are told of the end of sessions."""

OTHER_AUDIT_EVENTS = {
    "logout.delivered": "tells an application what has ended already",
    "logout.failed": "an application is not told what has ended",
}
