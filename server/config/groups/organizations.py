"""The settings of organizations and their teams."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from domain.organizations import roles
from domain.organizations.policy import ID, OrganizationPolicy, TeamPolicy
from domain.rate_limits.policy import Quota
from domain.users.policy import Permission
from domain.users.roles import permissions_of
from server.config.base import Group, Settings, fill
from server.config.groups.admin import Statements, role_problems
from server.config.groups.emails import EmailVerificationSettings
from server.config.groups.limits import LimitSettings
from server.config.groups.mail import MailSettings
from server.config.groups.pages import PagesSettings
from server.config.value_types import Duration, OptionalUrl, duration_between, setting


class TeamSettings(Group):
    """`organizations.teams.*`: groups of members of an organization."""

    enabled: bool = setting(False, "Whether organizations have teams.")
    default_team: bool = setting(
        True, "Whether a new organization has a team with the name of the organization."
    )
    maximum: int = setting(100, "Largest number of teams of one organization.", ge=1, le=1000)
    maximum_members: int = setting(1000, "Largest number of members of one team.", ge=1, le=1000)
    allow_removing_all: bool = setting(False, "Whether the last team of an organization can be removed.")


class OrganizationSettings(Group):
    """`organizations.*`: organizations, their members, invitations and roles."""

    key = "organizations"

    enabled: bool = setting(False, "Whether the operations and pages of organizations exist.")
    creation: Literal["everyone", "admins"] = setting(
        "everyone",
        "Who may create organizations: `everyone`, or only users with the permission `organization: "
        "manage` (`admins`).",
    )
    deletion: bool = setting(True, "Whether owners can delete organizations.")
    limit_per_user: int = setting(
        100, "Largest number of organizations of which a user is a member.", ge=1, le=10_000
    )
    membership_limit: int = setting(100, "Largest number of members of one organization.", ge=1, le=100_000)
    invitation_limit: int = setting(
        100, "Largest number of pending invitations of one organization.", ge=1, le=10_000
    )
    invitation_expires_in: Duration = duration_between(
        "48h", "Lifetime of an invitation.", at_least="5m", at_most="30d"
    )
    invitation_url: OptionalUrl = setting(
        None,
        "URL in invitation emails, at a trusted origin; `{id}` stands for the secret of the invitation. By "
        "default the hosted page, or `/accept-invitation/{id}` at `base_url` if `pages.enabled` is false.",
    )
    invitation_mails_per_user: int = setting(
        50,
        "Largest number of emails that the invitations of one inviter cause in `invitation_mails_window`; "
        "0 = no limit.",
        ge=0,
        le=1_000_000,
    )
    invitation_mails_window: Duration = duration_between(
        "24h", "Period to which `invitation_mails_per_user` applies."
    )
    cancel_pending_on_reinvite: bool = setting(
        False,
        "Whether a second invitation of an email address cancels the pending one; if false, the second is "
        "refused.",
    )
    require_verified_email: bool = setting(
        True,
        "Whether a user who accepts an invitation without its emailed link needs a verified email address; "
        "no effect while `email_verification.enabled` is false.",
    )
    member_directory: Literal["members", "managers"] = setting(
        "members",
        "Who sees the other members of an organization: all `members`, or only those who may add, change "
        "or remove members (`managers`).",
    )
    statements: Statements = setting(
        {}, "Resources of your application and the actions on each, in addition to the built-in ones."
    )
    roles: dict[str, Statements] = setting(
        {},
        "Roles of members in addition to `owner`, `admin` and `member`, each with its permissions: actions "
        "by resource. `admin` and `member` can be replaced, `owner` cannot.",
    )

    teams: TeamSettings = TeamSettings()

    def policies(self, settings: Settings) -> Iterable[object]:
        """Return the roles with their permissions, the limits, and the rules of teams."""
        limited = settings[LimitSettings].enabled
        verifies = settings[EmailVerificationSettings].enabled and settings[MailSettings].has_sender
        return [
            fill(
                OrganizationPolicy,
                self,
                invitation_url=self._invitation_url(settings),
                invitation_mails=Quota(
                    self.invitation_mails_per_user if limited else 0, self.invitation_mails_window
                ),
                require_verified_email=self.require_verified_email and verifies,
                verifies_email=verifies,
                roles=self._roles(),
            ),
            fill(TeamPolicy, self.teams, enabled=self.enabled and self.teams.enabled),
        ]

    def _invitation_url(self, settings: Settings) -> str:
        pages = settings[PagesSettings]
        if self.invitation_url is not None:
            return self.invitation_url
        if pages.enabled:
            return f"{settings.base_url}{settings.base_path}{pages.path}/invitation/{ID}"
        return f"{settings.base_url}/accept-invitation/{ID}"

    def _roles(self) -> Mapping[str, frozenset[Permission]]:
        written = {name: permissions_of(granted) for name, granted in self.roles.items()}
        owner = permissions_of(roles.STATEMENTS) | permissions_of(self.statements)
        return {**roles.BUILT_IN, **written, roles.OWNER: owner}

    def problems(self, settings: Settings) -> Iterator[str]:
        """Yield malformed names, unknown actions, a replaced owner, and a link that leads to an untrusted origin."""
        if self.teams.enabled and not self.enabled:
            yield "organizations.teams.enabled: needs organizations.enabled"
        yield from role_problems("organizations", self.statements, self.roles, roles.STATEMENTS)
        if roles.OWNER in self.roles:
            yield f"organizations.roles.{roles.OWNER}: this role has every permission and cannot be replaced"
        if self.invitation_url is not None:
            if ID not in self.invitation_url:
                yield f"organizations.invitation_url: must contain {ID}"
            yield from settings.page_problems(
                "organizations.invitation_url", self.invitation_url.replace(ID, "id")
            )
