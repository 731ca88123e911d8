"""The settings of administration: the operations, and the roles."""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Annotated

from domain.admin.policy import AdminPolicy, ImpersonationPolicy
from domain.users import roles
from domain.users.policy import RolePolicy
from domain.users.roles import permissions_of
from server.config.base import Group, Settings, fill
from server.config.groups.database import DatabaseSettings
from server.config.groups.session import SessionSettings
from server.config.value_types import Duration, Items, duration_between, setting

Statements = dict[str, Annotated[tuple[str, ...], Items]]
"""Lists of actions by resource."""

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}", re.ASCII)
"""The names of roles, resources and actions."""
MOST = 64
"""How many roles, resources, and actions of a resource there may be."""


class Impersonation(Group):
    """`admin.impersonation.*`: sessions of administrators in the name of users."""

    enabled: bool = setting(
        False,
        "Whether administrators may act in the name of users; by default true in development if "
        "`admin.enabled` is true.",
    )
    expires_in: Duration = duration_between(
        "1h",
        "Lifetime of a session in the name of a user, which is never extended.",
        at_least="1m",
        at_most="24h",
    )
    restricted: bool = setting(
        True,
        "Whether operations that could leave a lasting credential, such as a new password, are refused in "
        "a session in the name of a user.",
    )
    notify: bool = setting(False, "Whether the user gets an email about each session in their name.")


class AdminSettings(Group):
    """`admin.*`: administration of users, and the permissions of roles."""

    key = "admin"
    enabled_in_development = True

    enabled: bool = setting(
        False, "Whether the operations under /admin/ exist; by default true in development."
    )
    default_role: str = setting("user", "Role of every user who is created without one.")
    statements: Statements = setting(
        {}, "Resources of your application and the actions on each, in addition to the built-in ones."
    )
    roles: dict[str, Statements] = setting(
        {},
        "Roles in addition to the built-in `admin` and `user`, each with its permissions: actions by "
        "resource.",
    )
    fresh_age: Duration | None = setting(
        None,
        "Age of an administrator's session up to which it may make far-reaching changes, such as setting a "
        "role or deleting a user; 0 = any age. By default the value of `session.fresh_age`.",
        ge=timedelta(0),
    )
    require_two_factor: bool = setting(
        False, "Whether administrators without two-factor authentication are refused."
    )
    default_ban_reason: str = setting(
        "No reason", "Reason recorded if a ban is made without a reason.", max_length=1024
    )
    default_ban_expires_in: Duration = duration_between(
        "0s", "Duration of a ban that is made without a duration; 0 = for ever.", at_least="0s"
    )
    count_limit: int = setting(
        10_000, "Number of rows up to which a list gives its exact total.", ge=1_000, le=1_000_000
    )
    scan_timeout: Duration = duration_between(
        "2s",
        "Longest time for a search that no index supports; at most 90 % of `database.timeout`.",
        at_least="0.1s",
        at_most="30s",
    )

    impersonation: Impersonation = Impersonation()

    def policies(self, settings: Settings) -> Iterable[object]:
        """Return the roles with their permissions."""
        # A search must end before the database's timeout, which would count as an outage.
        longest = settings[DatabaseSettings].timeout * 0.9
        age = settings[SessionSettings].fresh_age if self.fresh_age is None else self.fresh_age
        return [
            fill(AdminPolicy, self, fresh_age=age, scan_timeout=min(self.scan_timeout, longest)),
            fill(ImpersonationPolicy, self.impersonation),
            RolePolicy(self.default_role, self._roles(), self.require_two_factor),
        ]

    def _roles(self) -> Mapping[str, frozenset[tuple[str, str]]]:
        everything = permissions_of(roles.STATEMENTS) | permissions_of(self.statements)
        written = {name: permissions_of(granted) for name, granted in self.roles.items()}
        return {"admin": everything - {roles.NOT_OF_ADMIN}, "user": frozenset(), **written}

    def problems(self, settings: Settings) -> Iterator[str]:
        """Yield malformed names, unknown actions, a default role with permissions, and impersonation without
        administration."""
        if self.impersonation.enabled and not self.enabled:
            yield "admin.impersonation.enabled: needs admin.enabled"
        yield from role_problems("admin", self.statements, self.roles, roles.STATEMENTS)
        default = self._roles().get(self.default_role)
        if default is None:
            yield f"admin.default_role: {self.default_role} is not a role"
        elif any(resource in roles.STATEMENTS for resource, _ in default):
            yield "admin.default_role: every new user would have powers of an administrator"


def role_problems(
    group: str,
    statements: Statements,
    granted: Mapping[str, Statements],
    built_in: Mapping[str, Iterable[str]],
) -> Iterator[str]:
    """Yield the problems with the names and numbers of resources, actions and roles, and with unknown actions."""
    yield from _statement_problems(f"{group}.statements", statements)
    if len(granted) > MOST:
        yield f"{group}.roles: at most {MOST}"
    known = permissions_of(built_in) | permissions_of(statements)
    for role, actions_by_resource in granted.items():
        key = f"{group}.roles.{role}"
        if not NAME.fullmatch(role):
            yield f"{key}: a name has 1 to 32 letters, digits, _ and -, the first a letter"
        yield from _statement_problems(key, actions_by_resource)
        for resource, action in sorted(permissions_of(actions_by_resource) - known):
            yield f"{key}.{resource}: no statement has the action {action}"


def _statement_problems(key: str, statements: Statements) -> Iterator[str]:
    for resource, actions in statements.items():
        if not all(NAME.fullmatch(name) for name in (resource, *actions)):
            yield f"{key}.{resource}: names have 1 to 32 letters, digits, _ and -, the first a letter"
    if len(statements) > MOST or any(len(set(actions)) > MOST for actions in statements.values()):
        yield f"{key}: at most {MOST} resources and {MOST} actions of each"
