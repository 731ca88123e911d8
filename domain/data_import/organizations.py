"""Check and store the organizations of another program, each with its members, teams, invitations and API keys."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from sqlalchemy import or_, select
from sqlmodel import SQLModel, col

from domain import tokens
from domain.context import Context
from domain.data_import import store
from domain.data_import.eligibility import (
    Eligibility,
    Field,
    ImportedKey,
    Known,
    Outcome,
    Problem,
    digest_key,
    id_key,
)
from domain.data_import.store import Earlier
from domain.organizations import events, roles
from models import User
from models.api_key import ApiKey
from models.invitation import Invitation, InvitationStatus, InvitationTeam
from models.member import Member
from models.organization import Organization
from models.team import Team, TeamMember


@dataclass(frozen=True, slots=True)
class ImportedMember:
    """One user in an organization."""

    id: str
    user_id: str
    role: str
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ImportedTeam:
    """One team, with the ids of its users."""

    id: str
    name: str
    user_ids: tuple[str, ...] = ()
    created_at: datetime | None = None
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ImportedInvitation:
    """A pending invitation. It has no link, so it is accepted by its id."""

    id: str
    email: str
    role: str
    inviter_id: str
    expires_at: datetime
    team_ids: tuple[str, ...] = ()
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ImportedOrganization:
    """One organization to store; every value satisfies the rules of organizations."""

    id: str
    name: str
    slug: str
    logo: str | None = None
    custom_data: str | None = None
    created_at: datetime | None = None
    members: tuple[ImportedMember, ...] = ()
    teams: tuple[ImportedTeam, ...] = ()
    invitations: tuple[ImportedInvitation, ...] = ()
    api_keys: tuple[ImportedKey, ...] = field(default=(), repr=False)


async def add(
    ctx: Context, organization: ImportedOrganization, without: frozenset[Field] = frozenset()
) -> Eligibility:
    """Store a new organization with all that belongs to it; return the outcome.

    A stored organization with the same id is left unchanged. `without` names the parts that may be left out.
    """
    settled, verdict = _verdict(organization, without, await _known(ctx, organization))
    if verdict.outcome is Outcome.IMPORTED:
        for rows in _rows(ctx, settled):
            await store.insert_all(ctx, rows)
        owners = (member.user_id for member in settled.members if roles.is_owner(member.role))
        events.imported(ctx, settled.id, next(owners, None))
    return verdict


async def dry_run(
    ctx: Context, organization: ImportedOrganization, without: frozenset[Field], earlier: Earlier
) -> tuple[Eligibility, Known]:
    """Return what `add` would return, and the entries of `Known` that the organization would take; store nothing.

    `earlier` returns what earlier calls of the dry run have taken, as if it were stored.
    """
    users = [id_key(user_id) for user_id in _user_ids(organization)]
    known = {**await _known(ctx, organization), **earlier([*claims_of(organization), *users])}
    settled, verdict = _verdict(organization, without, known)
    return verdict, claims_of(settled) if verdict.outcome is Outcome.IMPORTED else {}


def organization_key(organization_id: str) -> str:
    """Return the key of an organization's id in `Known`."""
    return f"organization {organization_id}"


def slug_key(slug: str) -> str:
    """Return the key of a slug in `Known`."""
    return f"slug {slug}"


def claims_of(organization: ImportedOrganization) -> dict[str, str]:
    """Return the entries of `Known` for all unique values of an organization."""
    keys = {digest_key(key): organization.id for key in organization.api_keys}
    return {
        organization_key(organization.id): organization.slug,
        slug_key(organization.slug): organization.id,
        **keys,
    }


def _user_ids(organization: ImportedOrganization) -> set[str]:
    return {member.user_id for member in organization.members}


async def _known(ctx: Context, organization: ImportedOrganization) -> dict[str, str]:
    """Return which keys of an organization are already taken, and which of its members exist."""
    known: dict[str, str] = {}
    there = or_(col(Organization.id) == organization.id, col(Organization.slug) == organization.slug)
    for id_, slug in await ctx.db.execute(select(col(Organization.id), col(Organization.slug)).where(there)):
        known |= {organization_key(id_): slug, slug_key(slug): id_}
    user_ids = sorted(_user_ids(organization))
    for start in range(0, len(user_ids), store.LOOKED_UP_AT_ONCE):
        page = user_ids[start : start + store.LOOKED_UP_AT_ONCE]
        found = await ctx.db.execute(select(col(User.id), col(User.email)).where(col(User.id).in_(page)))
        known |= {id_key(id_): email for id_, email in found}
    return known | await store.known_keys(ctx, [key.digest for key in organization.api_keys])


def _verdict(
    organization: ImportedOrganization, without: frozenset[Field], known: Known
) -> tuple[ImportedOrganization, Eligibility]:
    """Return the organization without the parts that cannot be stored and may be left out, and the outcome."""
    # The same organization again: an import that was interrupted is simply repeated.
    if organization_key(organization.id) in known:
        return organization, Eligibility(Outcome.PRESENT)
    if slug_key(organization.slug) in known:
        return organization, _refused(Problem("slug", "belongs to another organization"))
    left: list[Problem] = []
    settled = _with_known_members(organization, known, left)
    settled = _with_teams_of(settled, left)
    settled = _with_invitations_of(settled, left)
    unknown = tuple(key for key in settled.api_keys if digest_key(key) not in known)
    if unknown != settled.api_keys:
        left.append(Problem("apiKeys", "a key belongs to another owner", Field.API_KEYS))
        settled = replace(settled, api_keys=unknown)
    for problem in left:
        if problem.may_be_left not in without:
            return organization, _refused(problem)
    return settled, Eligibility(Outcome.IMPORTED, tuple(left))


def _refused(problem: Problem) -> Eligibility:
    return Eligibility(Outcome.REFUSED, (problem,))


def _with_known_members(
    organization: ImportedOrganization, known: Known, left: list[Problem]
) -> ImportedOrganization:
    members: dict[str, ImportedMember] = {}
    for member in organization.members:
        if id_key(member.user_id) not in known:
            left.append(Problem("members", "a user was not imported", Field.MEMBERS))
        elif member.user_id in members:
            left.append(Problem("members", "a user is a member twice", Field.MEMBERS))
        else:
            members[member.user_id] = member
    if not any(roles.is_owner(member.role) for member in members.values()):
        left.append(Problem("members", "has no owner", Field.MEMBERS))
    return replace(organization, members=tuple(members.values()))


def _with_teams_of(organization: ImportedOrganization, left: list[Problem]) -> ImportedOrganization:
    """Keep those in teams who are members."""
    members, teams = _user_ids(organization), []
    for team in organization.teams:
        user_ids = tuple(dict.fromkeys(user_id for user_id in team.user_ids if user_id in members))
        if set(team.user_ids) - members:
            left.append(Problem("teams", "a user of a team is not a member", Field.TEAMS))
        teams.append(replace(team, user_ids=user_ids))
    return replace(organization, teams=tuple(teams))


def _with_invitations_of(organization: ImportedOrganization, left: list[Problem]) -> ImportedOrganization:
    """Keep the invitations that can still be accepted."""
    members, teams = _user_ids(organization), {team.id for team in organization.teams}
    invitations: dict[str, ImportedInvitation] = {}
    for invitation in organization.invitations:
        if invitation.inviter_id not in members:
            left.append(Problem("invitations", "an inviter is not a member", Field.INVITATIONS))
        elif set(invitation.team_ids) - teams:
            left.append(Problem("invitations", "a team does not exist", Field.INVITATIONS))
        elif invitation.email in invitations:
            left.append(Problem("invitations", "an email address is invited twice", Field.INVITATIONS))
        else:
            invitations[invitation.email] = invitation
    return replace(organization, invitations=tuple(invitations.values()))


def _rows(ctx: Context, organization: ImportedOrganization) -> Iterable[Sequence[SQLModel]]:
    """Yield the rows of an organization, each list after those that it refers to."""
    here: dict[str, Any] = {"organization_id": organization.id}
    members = {member.user_id: member for member in organization.members}
    created = organization.created_at or ctx.now
    yield [
        Organization(
            id=organization.id,
            name=organization.name,
            slug=organization.slug,
            logo=organization.logo,
            custom_data=organization.custom_data,
            created_at=created,
            updated_at=ctx.now,
        )
    ]
    yield [
        Member(
            id=member.id,
            user_id=member.user_id,
            role=member.role,
            is_owner=roles.is_owner(member.role),
            created_at=member.created_at or created,
            updated_at=ctx.now,
            **here,
        )
        for member in organization.members
    ]
    yield [
        Team(
            id=team.id,
            name=team.name,
            created_at=team.created_at or created,
            updated_at=team.updated_at,
            **here,
        )
        for team in organization.teams
    ]
    yield [
        TeamMember(
            id=tokens.token(),
            team_id=team.id,
            member_id=members[user_id].id,
            user_id=user_id,
            created_at=ctx.now,
        )
        for team in organization.teams
        for user_id in team.user_ids
    ]
    yield [
        Invitation(
            id=invitation.id,
            email=invitation.email,
            role=invitation.role,
            status=InvitationStatus.PENDING.value,
            inviter_id=invitation.inviter_id,
            expires_at=invitation.expires_at,
            created_at=invitation.created_at or ctx.now,
            updated_at=ctx.now,
            **here,
        )
        for invitation in organization.invitations
    ]
    yield [
        InvitationTeam(invitation_id=invitation.id, team_id=team_id)
        for invitation in organization.invitations
        for team_id in invitation.team_ids
    ]
    yield [
        ApiKey(
            id=tokens.token(),
            **here,
            updated_at=ctx.now,
            **{**asdict(key), "created_at": key.created_at or ctx.now},
        )
        for key in organization.api_keys
    ]
