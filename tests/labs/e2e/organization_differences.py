"""Where Gatewright differs from Better Auth's own server in organizations, as its client is told."""

from typing import Any

ABSENT = "<absent>"
"""What a server does not say."""


def _refused(code: str) -> dict[str, tuple[Any, Any]]:
    """Return the difference of a case that is refused only here, with 400."""
    return {"": (True, ABSENT), "code": (ABSENT, code), "status": (ABSENT, 400)}


def _metadata(plan: str, place: str = "metadata") -> dict[str, tuple[Any, Any]]:
    """Return the difference of metadata that is always an object."""
    return {place: (f'{{"plan":"{plan}"}}', ABSENT), f"{place}.plan": (ABSENT, plan)}


DIFFERENCES: dict[str, dict[str, tuple[Any, Any]]] = {
    # Every error has a code.
    "create signed out": {"code": (None, "UNAUTHORIZED")},
    "invite with an unknown role": {"code": (None, "ROLE_NOT_FOUND")},
    # One type of a field in all responses; unset is null.
    "create, not active": {"metadata": (ABSENT, None)},
    "list": _metadata("free", "0.metadata"),
    "get": _metadata("free"),
    # A team has one shape; its members are counted where they are listed.
    "get full": {**_metadata("free"), "teams.0.memberCount": (1, ABSENT)},
    "activate by slug": _metadata("paid"),
    "delete": _metadata("paid"),
    # Look-alikes, and addresses that run scripts.
    "create with a strange slug": _refused("VALIDATION_ERROR"),
    "create with a strange logo": _refused("VALIDATION_ERROR"),
    # A foreign organization cannot be told from an unknown one.
    "get an unknown one": {
        "code": ("ORGANIZATION_NOT_FOUND", "USER_IS_NOT_A_MEMBER_OF_THE_ORGANIZATION"),
        "status": (400, 403),
    },
    # A team is active only in its organization.
    "active after none": {"1": (True, False)},
    # A refusal changes nothing.
    "active after a refusal": {"0": (False, True)},
    # A final status stays.
    "cancel twice": _refused("INVITATION_NOT_FOUND"),
    # What cannot be asked is an error.
    "sort by a secret": {"code": (None, "VALIDATION_ERROR"), "status": (500, 400)},
    # 401 means signed out.
    "remove as a member": {"status": (401, 403)},
    # A new team was not changed yet.
    "create a team": {"updatedAt": ("<time>", None)},
    # The code names what was refused.
    "create a team as a stranger": {
        "code": (
            "YOU_ARE_NOT_ALLOWED_TO_INVITE_USERS_TO_THIS_ORGANIZATION",
            "YOU_ARE_NOT_ALLOWED_TO_CREATE_TEAMS_IN_THIS_ORGANIZATION",
        )
    },
    # A removed team is active nowhere.
    "remove the active team": {
        "code": ("YOU_ARE_NOT_ALLOWED_TO_DELETE_THIS_TEAM", ABSENT),
        "message": (ABSENT, "Team removed successfully."),
        "status": (403, ABSENT),
    },
    # Applications trust the active organization.
    "the active organization of a removed member": {"0": (True, False)},
    # Former administrators keep no door.
    "accept from a demoted inviter": _refused("INVITATION_NOT_FOUND"),
    # No organization is left without an owner.
    "delete the only owner": {
        "code": (ABSENT, "YOU_CANNOT_LEAVE_THE_ORGANIZATION_AS_THE_ONLY_OWNER"),
        "message": ("User deleted", ABSENT),
        "status": (ABSENT, 400),
        "success": (True, ABSENT),
    },
    # Roles come from the settings.
    "run-time roles": {"code": (None, "NOT_FOUND")},
}
