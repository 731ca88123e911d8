"""Create the policy: the form of the settings that handlers and the code in `domain` read."""

from domain.policy import Policy
from server.config.base import Settings, fill
from server.config.groups.session import SessionSettings


def policy_of(settings: Settings, *others: object) -> Policy:
    """Return the policy of complete settings: the policies of all groups, and `others`, computed elsewhere."""
    parts = [*(part for group in settings.groups() for part in group.policies(settings)), *others]
    return fill(
        Policy,
        settings,
        origins=settings.parsed_origins(),
        cookies=settings[SessionSettings].cookies(),
        parts={type(part): part for part in parts},
    )
