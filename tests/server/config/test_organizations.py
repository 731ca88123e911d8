"""The settings `organizations`: what is refused, what the links of invitations are, and the permissions of roles."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from domain.organizations.policy import OrganizationPolicy, TeamPolicy
from domain.policy import Policy
from server.config.policy import policy_of
from server.config.sources import ConfigurationError
from server.services import load_settings

PRODUCTION = {
    "GATEWRIGHT_BASE_URL": "https://auth.example.com",
    "GATEWRIGHT_DATABASE_URL": "postgresql://auth@db.example.com/auth",
    "GATEWRIGHT_SECRETS": "0123456789abcdef0123456789abcdef",
    "GATEWRIGHT_MAIL__SENDER": "file",
    "GATEWRIGHT_MAIL__FILE_PATH": "mail.jsonl",
    "GATEWRIGHT_MAIL__FROM": "auth@example.com",
}
"""What production accepts."""
READS = '{"project": ["read"]}'

Load = Callable[..., Policy]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Return the policy of settings; names are those of variables below `GATEWRIGHT_`."""

    def load(**variables: str) -> Policy:
        changes = {f"GATEWRIGHT_{name}": text for name, text in variables.items()}
        return policy_of(load_settings(PRODUCTION | changes, tmp_path))

    return load


def of(**names: str) -> dict[str, str]:
    """Return variables of organizations that are switched on."""
    return {f"ORGANIZATIONS__{name}": text for name, text in {"ENABLED": "true", **names}.items()}


def test_they_are_off_with_careful_defaults(load: Load) -> None:
    policy = load()

    organizations, teams = policy[OrganizationPolicy], policy[TeamPolicy]
    assert not organizations.enabled
    assert not teams.enabled
    assert (organizations.creation, organizations.deletion, organizations.member_directory) == (
        "everyone",
        True,
        "members",
    )
    limits = ("limit_per_user", "membership_limit", "invitation_limit")
    assert [getattr(organizations, name) for name in limits] == [100, 100, 100]
    assert organizations.invitation_expires_in == timedelta(hours=48)
    assert (organizations.invitation_mails.number, organizations.invitation_mails.window) == (
        50,
        timedelta(hours=24),
    )
    assert organizations.require_verified_email
    assert not organizations.cancel_pending_on_reinvite
    assert (teams.default_team, teams.maximum, teams.maximum_members, teams.allow_removing_all) == (
        True,
        100,
        1000,
        False,
    )


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"CREATION": "nobody"}, "organizations.creation"),
        ({"LIMIT_PER_USER": "0"}, "organizations.limit_per_user"),
        ({"LIMIT_PER_USER": "10001"}, "organizations.limit_per_user"),
        ({"MEMBERSHIP_LIMIT": "100001"}, "organizations.membership_limit"),
        ({"INVITATION_LIMIT": "10001"}, "organizations.invitation_limit"),
        ({"INVITATION_EXPIRES_IN": "4m"}, "organizations.invitation_expires_in"),
        ({"INVITATION_EXPIRES_IN": "31d"}, "organizations.invitation_expires_in"),
        ({"INVITATION_MAILS_PER_USER": "-1"}, "organizations.invitation_mails_per_user"),
        ({"MEMBER_DIRECTORY": "owners"}, "organizations.member_directory"),
        ({"INVITATION_URL": "https://auth.example.com/join"}, "organizations.invitation_url"),
        ({"INVITATION_URL": "https://evil.example/{id}"}, "organizations.invitation_url"),
        ({"INVITATION_URL": "javascript:{id}"}, "organizations.invitation_url"),
        ({"STATEMENTS": '{"project": ["read it"]}'}, "organizations.statements.project"),
        ({"STATEMENTS": '{"1x": ["read"]}'}, "organizations.statements.1x"),
        ({"ROLES": '{"owner": {}}'}, "organizations.roles.owner"),
        ({"ROLES": '{"a b": {}}'}, "organizations.roles.a b"),
        ({"ROLES": '{"%s": {}}' % ("x" * 33)}, f"organizations.roles.{'x' * 33}"),
        ({"ROLES": '{"editor": {"project": ["read"]}}'}, "organizations.roles.editor.project"),
        ({"ROLES": '{"editor": {"member": ["fly"]}}'}, "organizations.roles.editor.member"),
        ({"ROLES": json.dumps({f"r{number}": {} for number in range(65)})}, "organizations.roles"),
        ({"TEAMS__MAXIMUM": "0"}, "organizations.teams.maximum"),
        ({"TEAMS__MAXIMUM_MEMBERS": "1001"}, "organizations.teams.maximum_members"),
        ({"ENABLED": "false", "TEAMS__ENABLED": "true"}, "organizations.teams.enabled"),
    ],
)
def test_what_is_refused(load: Load, settings: dict[str, str], key: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        load(**of(**settings))

    assert key in [line.partition(":")[0] for line in str(refusal.value).splitlines()]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, "https://auth.example.com/account/invitation/{id}"),
        ({"PAGES__PATH": "/me"}, "https://auth.example.com/me/invitation/{id}"),
        ({"PAGES__ENABLED": "false"}, "https://auth.example.com/accept-invitation/{id}"),
        (
            {
                "TRUSTED_ORIGINS": "https://app.example.com",
                "ORGANIZATIONS__INVITATION_URL": "https://app.example.com/join?i={id}",
            },
            "https://app.example.com/join?i={id}",
        ),
    ],
)
def test_the_link_of_invitations(load: Load, settings: dict[str, str], expected: str) -> None:
    assert load(**{**of(), **settings})[OrganizationPolicy].invitation_url == expected


def test_roles_have_the_permissions_of_the_settings_and_owners_all(load: Load) -> None:
    roles = load(**of(STATEMENTS=READS, ROLES=f'{{"reader": {READS}, "member": {READS}}}'))[
        OrganizationPolicy
    ].roles

    read = ("project", "read")
    assert set(roles) == {"owner", "admin", "member", "reader"}
    assert {role for role, granted in roles.items() if read in granted} == {"owner", "member", "reader"}
    assert roles["reader"] == roles["member"] == frozenset({read})


@pytest.mark.parametrize(
    "settings", [{"EMAIL_VERIFICATION__ENABLED": "false"}, {"ORGANIZATIONS__REQUIRE_VERIFIED_EMAIL": "false"}]
)
def test_verified_addresses_are_required_only_while_they_can_be_verified(
    load: Load, settings: dict[str, str]
) -> None:
    assert not load(**{**of(), **settings})[OrganizationPolicy].require_verified_email


def test_mails_are_unlimited_without_limits(load: Load) -> None:
    assert load(**of(), LIMITS__ENABLED="false")[OrganizationPolicy].invitation_mails.number == 0
