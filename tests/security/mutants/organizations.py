"""Mutants of the rows ORG1 to ORG31: organizations."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Before, Remove, Replace, Unwrap

_UNLOCKED = (
    "from models.organization import FIND_ORGANIZATION\n"
    "organization = (await ctx.db.execute(FIND_ORGANIZATION, organization_id={})).first()"
)
_MEMBER = "MemberRow('m' * 32, {}, ctx.signed_in.user.id, 'owner', True, ctx.now, ctx.now)"
_IS_MEMBER = Replace(
    "from models.organization import FIND_ORGANIZATION\n"
    "if not await ctx.db.execute(FIND_ORGANIZATION, organization_id=organization_id):\n    raise error\n"
    f"if member is None:\n    member = {_MEMBER.format('organization_id')}"
)
_READS = Replace(
    "if found is None:\n"
    "    row = (await ctx.db.execute(FIND_ORGANIZATION, organization_id=chosen)).first()\n"
    f"    return row, {_MEMBER.format('row.id')}"
)
_FORWARDED_HOST = Before(
    "from domain.organizations.policy import OrganizationPolicy\n"
    "object.__setattr__(self._policy[OrganizationPolicy], 'invitation_url', 'http://' + "
    "head.fields.get(b'x-forwarded-host', b'127.0.0.1:8000').decode('latin-1') + '/{id}')"
)
_SECOND = Replace("timedelta(seconds=1)", "value")
MUTANTS = (
    Mutant("ORG1", "the address decides", "recipient", Always(False)),
    Mutant("ORG2", "an address must be proven", "unverified", Always(False)),
    Mutant("ORG2", "the secret itself proves", "secret", Replace("True", "value.values[1]")),
    Mutant(
        "ORG2",
        "an id is no secret, whatever it looks like",
        "secret",
        Replace("id_or_secret.startswith(PREFIX)", "value.values[1]"),
    ),
    Mutant("ORG2", "the list needs a verified address", "list", Always(False)),
    Mutant("ORG2", "so does the export of the user's data", "export", Replace("True", "value")),
    Mutant(
        "ORG3",
        "only a digest is stored",
        "stored-digest",
        Replace("secret.encode()", "value.value.keywords[1].value"),
    ),
    Mutant("ORG4", "secrets are long", "length", Replace("(...)[:16]", "value.right")),
    Mutant("ORG5", "what was answered or has expired is gone", "open", Remove("test.values[0]")).also(
        "pending-only", Remove()
    ),
    Mutant("ORG5", "a new secret replaces the former one", "resent", Remove()),
    Mutant("ORG6", "roles must be known", "known-roles", Always(False)),
    Mutant("ORG6", "owners make owners", "owners-only", Always(False)),
    Mutant("ORG6", "nobody invites above their own powers", "powers", Replace("True", "value")),
    Mutant("ORG6", "the role of an invitation is compared", "invited-role", Remove()),
    Mutant("ORG6", "so is that of one that is sent again", "resent-role", Remove()),
    Mutant("ORG7", "changes need a permission", "permission", Always(False)),
    Mutant("ORG7", "owners are changed by owners", "owners-only", Always(False)),
    Mutant("ORG7", "nobody grants more than they have", "powers", Replace("True", "value")),
    Mutant("ORG7", "the old roles are compared", "old-rank", Remove()),
    Mutant("ORG7", "so are the new ones", "new-rank", Remove()),
    Mutant("ORG7", "so are those of a member who is removed", "removed-rank", Remove()),
    Mutant(
        "ORG8",
        "a member is one of the organization",
        "member-scope",
        Replace("(...) | is_(Member.id, 'member_id')"),
    ),
    Mutant("ORG8", "so is a team", "team-scope", Replace("(...) | is_(Team.id, 'team_id')")),
    Mutant(
        "ORG8",
        "members of teams are members of the organization",
        "team-member",
        Replace("(...) or own._replace(user_id=user_id)", "value"),
    ),
    Mutant("ORG9", "membership is required", "membership", _IS_MEMBER),
    Mutant("ORG9", "also for reading", "reading", _READS),
    Mutant("ORG10", "the only owner keeps the role", "demotion", Always(False)),
    Mutant("ORG10", "the only owner stays", "departure", Always(False)),
    Mutant("ORG10", "the only owner is not deleted", "deletion", Always(False)),
    Mutant("ORG10", "this is checked before a mail", "before-mail", Always(False)),
    Mutant("ORG10", "nobody becomes an owner while being deleted", "lock-all", Remove()),
    Mutant("ORG10", "owners leave one after the other", "leave-lock", Remove()),
    Mutant(
        "ORG10",
        "members change one after the other",
        "member-lock",
        Replace(_UNLOCKED.format("organization_id")),
    ),
    Mutant("ORG11", "invitations go with a member", "removed", Remove()),
    Mutant("ORG11", "invitations go with the right", "demoted", Remove()),
    Mutant("ORG11", "the right is checked again", "inviter", Always(False)),
    Mutant("ORG11", "a banned inviter lets nobody in", "banned", Replace("inviter is not None", "value")),
    Mutant("ORG12", "all sessions lose the organization", "all-sessions", Replace("()", "iter")),
    Mutant("ORG12", "the membership is read under the lock", "lock-caller", Remove()),
    Mutant(
        "ORG12",
        "a rotated session keeps what is still active",
        "rotation",
        Replace(
            "sessions.Active(caller.session.active_organization_id, caller.session.active_team_id)", "value"
        ),
    ),
    Mutant("ORG12", "membership is required", "membership", _IS_MEMBER),
    Mutant("ORG13", "an invitation is used once", "pending-only", Remove()),
    Mutant("ORG13", "members are counted", "membership-limit", Replace("pass")),
    Mutant("ORG13", "organizations are counted", "user-limit", Replace("pass")),
    Mutant("ORG13", "created ones too", "limit-per-user", Replace("pass")),
    Mutant("ORG13", "invitations are counted", "invitation-limit", Always(False)),
    Mutant("ORG13", "teams are counted", "team-limit", Replace("pass")),
    Mutant("ORG13", "members of teams are counted", "team-member-limit", Replace("pass")),
    Mutant("ORG13", "one after the other creates", "create-lock", Replace("user = ctx.signed_in.user")).also(
        "accept-user", Replace("user = ctx.signed_in.user")
    ),
    Mutant("ORG13", "one after the other joins", "accept-organization", Remove()),
    Mutant(
        "ORG13",
        "one after the other invites",
        "invite-lock",
        Replace(_UNLOCKED.format("chosen")),
    ),
    Mutant("ORG13", "one after the other fills a team", "team-lock", Remove()),
    Mutant("ORG14", "an entered address proves nothing", "unverified", Always(False)),
    Mutant("ORG15", "an inviter causes so many mails", "inviter-budget", Always(False)),
    Mutant("ORG15", "a mailbox gets so many mails", "recipient-budget", Replace("True", "value")),
    Mutant(
        "ORG16",
        "line breaks are no part of names",
        "line-breaks",
        Replace("name: {type: string, minLength: 1, maxLength: 128, description: x, example: Acme}"),
    ),
    Mutant("ORG17", "no header names the site of the link", "host", _FORWARDED_HOST),
    Mutant(
        "ORG18",
        "the creator is the owner",
        "owner",
        Replace("sent.get('userId', user.id)", "value.value.args[2]"),
    ),
    Mutant("ORG19", "managers see the others", "managers", Replace("True", "value")),
    Mutant("ORG20", "capitals do not count", "slug-case", Replace("sent['slug']", "value")),
    Mutant(
        "ORG20",
        "slugs have few letters",
        "letters",
        Replace("slug: {type: string, minLength: 1, maxLength: 64, description: x, example: acme}"),
    ),
    Mutant("ORG21", "metadata has a size", "size", Always(False)),
    Mutant("ORG21", "metadata has a depth", "depth", Always(False)),
    Mutant(
        "ORG22",
        "an impersonator accepts nothing",
        "restricted",
        Replace("x-gatewright: {switch: organizations.enabled}"),
    ),
    Mutant("ORG23", "membership is required", "membership", _IS_MEMBER),
    Mutant("ORG23", "also for reading", "reading", _READS),
    Mutant(
        "ORG24", "what is off does not exist", "switch", Replace("x-gatewright: {impersonation: restricted}")
    ),
    Mutant("ORG25", "an organization comes with its owner", "created", Before("await ctx.db.commit()")),
    Mutant("ORG25", "a used invitation comes with its member", "accepted", Before("await ctx.db.commit()")),
    Mutant("ORG26", "an invitation is mailed as long as it lasts", "lasts", _SECOND),
    Mutant(
        "ORG27",
        "a refused connection is an outage",
        "refused-connection",
        Remove("cases[0].pattern.patterns[0]"),
    ),
    Mutant("ORG28", "a user is deleted before or after", "lock", Replace("user = ctx.signed_in.user")),
    Mutant("ORG29", "a slug that was just taken is found", "create", Unwrap("body")),
    Mutant("ORG29", "also while renaming", "rename", Unwrap("body")),
    Mutant("ORG29", "what was just deleted is found missing", "deleted-meanwhile", Unwrap("body")),
    Mutant("ORG30", "other requests go on", "in-thread", Remove()),
    Mutant(
        "ORG31",
        "an unknown role grants nothing",
        "removed-role",
        Replace("any(needed <= configured.get(name, configured[ADMIN]) for name in split(role))", "value"),
    ),
    Mutant("M5", "invitations are removed", "invitations", Replace("()", "value")),
)
