"""Find names that the database uses but the settings lack: roles of users, kinds of API keys, domains of passkeys."""

from collections.abc import Iterable, Iterator

from domain.api_keys.policy import ApiKeyPolicy
from domain.passkeys.policy import PasskeyPolicy
from domain.users import roles
from domain.users.policy import RolePolicy
from server.config.base import Settings
from server.config.groups.passkeys import PasskeySettings
from server.config.policy import policy_of
from server.doctor.findings import Finding, warning

QUERIES = (
    'SELECT role, count(*) FROM "user" GROUP BY role',
    "SELECT kind, count(*) FROM api_key GROUP BY kind",
    "SELECT rp_id, count(*) FROM passkey GROUP BY rp_id",
)
"""Queries for the names in use, each with its number of rows: roles, kinds of API keys, and domains of passkeys."""

Counts = Iterable[tuple[str, int]]


def unknown(chosen: Settings, users: Counts, keys: Counts, passkeys: Counts) -> Iterator[Finding]:
    """Yield a finding for each name in the results of `QUERIES` that is not configured, with its number of rows."""
    policy = policy_of(chosen)
    configured, kinds = policy[RolePolicy].roles, policy[ApiKeyPolicy].kinds
    held = [(name, number) for role, number in users for name in roles.split(role)]
    for name, number in _totals(entry for entry in held if entry[0] not in configured):
        fix = f"add admin.roles.{name}, or take the role away with gatewright users demote"
        yield warning("roles", f"{number} users have the role {name}, which is not configured", fix)
    for name, number in _totals(entry for entry in keys if entry[0] not in kinds):
        fix = f"add api_keys.kinds.{name}, or delete the keys with gatewright api-keys delete"
        yield warning(
            "keys", f"{number} API keys are of the kind {name}, which is not configured, and are refused", fix
        )

    rp_id = policy[PasskeyPolicy].rp_id
    enabled = chosen[PasskeySettings].enabled
    for name, number in _totals(entry for entry in passkeys if entry[0] != rp_id and enabled):
        fix = f"set passkey.rp_id to {name}, or remove them with gatewright passkeys remove"
        yield warning(
            "passkeys", f"{number} passkeys were made for {name}, not {rp_id}, and are unusable", fix
        )


def _totals(counts: Counts) -> list[tuple[str, int]]:
    totals: dict[str, int] = {}
    for name, number in counts:
        totals[name] = totals.get(name, 0) + number
    return sorted(totals.items())
