"""`gatewright orgs`: Administer organizations and their members."""

from collections.abc import Sequence
from operator import itemgetter
from typing import Annotated, Any

import typer

from domain.admin_organizations import operator
from domain.admin_organizations.operator import ListedOrganization
from domain.context import Context
from handlers.organizations import invitation_shape, organization_shape, with_user_shape
from models.invitation import InvitationRow, InvitationStatus
from models.member import MemberWithUser
from models.organization import OrganizationRow
from server.cli import check_config
from server.cli.options import AsJson, Identifier, Yes, confirm, given
from server.cli.output import print_json, print_list, print_table
from server.cli.support import run
from server.config.groups.organizations import OrganizationSettings

app = typer.Typer(help="Administer organizations and their members.", no_args_is_help=True)

Org = Annotated[str, typer.Argument(metavar="ORG", help="Identifier or slug of the organization.")]
Logo = Annotated[str | None, typer.Option(metavar="URL", help="URL of a picture.")]


@app.command("list")
def list_organizations(
    search: Annotated[str, typer.Argument(metavar="SEARCH", help="Part of a name or slug, or an id.")] = "",
    user: Annotated[
        str | None, typer.Option(metavar="USER", help="Only organizations of which this user is a member.")
    ] = None,
    without_owner: Annotated[
        bool, typer.Option("--without-owner", help="Only organizations that have no owner.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List organizations, newest first.

    Example: gatewright orgs list --user ada@example.com
    """
    found = run(lambda ctx: operator.list_organizations(ctx, search, user=user, without_owner=without_owner))
    titles = ("ID", "Slug", "Name", "Members", "Created")
    print_list(found, "organization", titles, _row, _shape, as_json=as_json)


def _row(found: ListedOrganization) -> tuple[object, ...]:
    row = found.organization
    return row.id, row.slug, row.name, found.members, row.created_at


def _shape(found: ListedOrganization) -> dict[str, Any]:
    return {**organization_shape(found.organization), "memberCount": found.members}


@app.command()
def show(org: Org, as_json: AsJson = False) -> None:
    """Show one organization with its owners.

    Example: gatewright orgs show acme
    """

    async def job(ctx: Context) -> tuple[OrganizationRow, Sequence[MemberWithUser]]:
        row = await operator.find(ctx, org)
        return row, await operator.list_members(ctx, row.id)

    row, members = run(job)
    shape: dict[str, Any] = {**organization_shape(row), "memberCount": len(members)}
    owners = [member for member in members if member.is_owner]
    if as_json:
        print_json({**shape, "owners": [with_user_shape(owner) for owner in owners]})
        return
    print_table(("", ""), shape.items())
    typer.echo(f"Owners: {', '.join(owner.email for owner in owners) or 'none'}")


@app.command()
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the organization.")],
    slug: Annotated[str, typer.Option(metavar="SLUG", help="Name in URLs, unique.")],
    owner: Annotated[str, typer.Option(metavar="USER", help="Owner: email address, username or id.")],
    logo: Logo = None,
) -> None:
    """Create an organization with an owner.

    Example: gatewright orgs create Acme --slug acme --owner ada@example.com
    """
    requested = {"name": name, "slug": slug, "logo": logo}
    row = run(lambda ctx: operator.create(ctx, owner, requested))
    typer.echo(f"Created {row.slug} with the id {row.id}.")
    if not check_config.read()[OrganizationSettings].enabled:
        typer.echo("Organizations are off; set organizations.enabled to use them.")


@app.command()
def update(
    org: Org,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="New name.")] = None,
    slug: Annotated[str | None, typer.Option(metavar="SLUG", help="New name in URLs.")] = None,
    logo: Annotated[str | None, typer.Option(metavar="URL", help="URL of a picture, or none.")] = None,
) -> None:
    """Change an organization.

    Example: gatewright orgs update acme --name "Acme Inc."
    """
    requested = given(name=name, slug=slug, logo=logo)
    if not requested:
        raise typer.BadParameter("name what to change; gatewright orgs update --help lists the options")
    if logo == "none":
        requested["logo"] = None
    row = run(lambda ctx: operator.update(ctx, org, requested))
    typer.echo(f"Changed {row.slug}.")


@app.command()
def delete(org: Org, yes: Yes = False) -> None:
    """Delete an organization.

    Its members, invitations, teams and API keys are deleted, too; users are kept.

    Example: gatewright orgs delete acme
    """
    confirm(f"Delete the organization {org} for good?", yes)
    row = run(lambda ctx: operator.delete(ctx, org))
    typer.echo(f"Deleted {row.slug}.")


@app.command()
def members(org: Org, as_json: AsJson = False) -> None:
    """List the members of an organization, owners first.

    Example: gatewright orgs members acme
    """
    found = run(lambda ctx: operator.list_members(ctx, org))
    titles = ("User ID", "Email", "Name", "Roles", "Member since")
    print_list(found, "member", titles, _member, with_user_shape, as_json=as_json)


def _member(one: MemberWithUser) -> tuple[object, ...]:
    return one.user_id, one.email, one.name, one.role, one.created_at


@app.command()
def add_member(
    org: Org,
    user: Identifier,
    role: Annotated[str, typer.Option(metavar="ROLES", help="Role names, separated by commas.")],
) -> None:
    """Make a user a member, without an invitation.

    Example: gatewright orgs add-member acme bob@example.com --role member
    """
    member = run(lambda ctx: operator.add_member(ctx, org, user, role))
    typer.echo(f"{user} is a member of {org} now; roles: {member.role}.")


@app.command()
def set_role(
    org: Org,
    user: Identifier,
    roles: Annotated[str, typer.Argument(metavar="ROLES", help="Role names, separated by commas.")],
) -> None:
    """Replace the roles of a member.

    An organization keeps at least one owner.

    Example: gatewright orgs set-role acme bob@example.com owner
    """
    member = run(lambda ctx: operator.set_role(ctx, org, user, roles))
    typer.echo(f"Roles of {user} in {org}: {member.role}.")


@app.command()
def remove_member(org: Org, user: Identifier) -> None:
    """Remove a member.

    An organization keeps at least one owner.

    Example: gatewright orgs remove-member acme bob@example.com
    """
    run(lambda ctx: operator.remove_member(ctx, org, user))
    typer.echo(f"{user} is no longer a member of {org}.")


@app.command()
def invite(
    org: Org,
    email: Annotated[str, typer.Argument(metavar="EMAIL", help="Email address to invite.")],
    role: Annotated[str, typer.Option(metavar="ROLES", help="Role names, separated by commas.")],
    inviter: Annotated[str, typer.Option("--as", metavar="USER", help="Inviter: a member who may invite.")],
) -> None:
    """Invite an email address in the name of a member.

    Example: gatewright orgs invite acme carol@example.com --role member --as ada@example.com
    """
    sent = run(lambda ctx: operator.invite(ctx, org, email, role, inviter))
    typer.echo(f"Invited {sent.invitation.email} to {org} with the invitation {sent.invitation.id}.")


@app.command()
def invitations(org: Org, as_json: AsJson = False) -> None:
    """List the invitations of an organization, newest first.

    Example: gatewright orgs invitations acme
    """

    async def job(ctx: Context) -> list[tuple[Any, tuple[object, ...]]]:
        found = await operator.list_invitations(ctx, org)
        return [(invitation_shape(ctx, one), _invitation(ctx, one.invitation)) for one in found]

    titles = ("ID", "Email", "Roles", "State", "Created", "Expires")
    print_list(run(job), "invitation", titles, itemgetter(1), itemgetter(0), as_json=as_json)


def _invitation(ctx: Context, row: InvitationRow) -> tuple[object, ...]:
    """Return the cells of an invitation; a pending one may have expired."""
    is_over = row.status == InvitationStatus.PENDING and not row.is_open(ctx.now)
    state = "expired" if is_over else row.status
    return row.id, row.email, row.role, state, row.created_at, row.expires_at


@app.command()
def cancel_invitation(
    invitation: Annotated[str, typer.Argument(metavar="ID", help="Identifier of the invitation, as listed.")],
) -> None:
    """Cancel a pending invitation.

    Example: gatewright orgs cancel-invitation Tg6Yh9Uj2Ik5Ol8Pa1Sd4Fg7Hj0Kl3Zx
    """
    run(lambda ctx: operator.cancel_invitation(ctx, invitation))
    typer.echo(f"Canceled {invitation}.")
