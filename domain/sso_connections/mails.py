"""The emails about domains and certificates of connections."""

from datetime import UTC, datetime

from domain.context import Context
from domain.mail.formats import NAME, TEXT, TIME
from domain.mail.messages import Recipient, notify
from domain.mail.templates import MailTemplate, Variable
from models.organization import OrganizationRow
from models.sso_connection import ConnectionRow
from models.sso_domain import DomainRow

_ORGANIZATION = Variable("organization", NAME, "the name of the organization", "Acme")
_DOMAIN = Variable("domain", TEXT, "the domain", "acme.example")
_RECORD = Variable("record", TEXT, "the name of the TXT record", "_gatewright-acme.acme.example")
_VALUE = Variable("value", TEXT, "the value of the TXT record", "Rq7Wn2Xv9Lk4Bt8Zc1Mf5Hy3Jd6Gp0Sa")

SSO_DOMAIN_MISSING = MailTemplate(
    "sso-domain-missing",
    "a notice to owners: the DNS record of a domain for single sign-on is missing",
    (
        _ORGANIZATION,
        _DOMAIN,
        _RECORD,
        _VALUE,
        Variable(
            "until", TIME, "when the domain ceases to be verified", datetime(2026, 12, 9, 10, 19, tzinfo=UTC)
        ),
    ),
)
SSO_DOMAIN_LOST = MailTemplate(
    "sso-domain-lost",
    "a notice to owners: a domain is no longer verified for single sign-on",
    (_ORGANIZATION, _DOMAIN, _RECORD, _VALUE),
)

SSO_CERTIFICATE_ENDS = MailTemplate(
    "sso-certificate-ends",
    "a notice to owners: the certificate of an identity provider ends within 30 days",
    (
        Variable("connection", NAME, "the name of the connection", "Acme"),
        Variable("until", TIME, "when the certificate ends", datetime(2026, 12, 9, 10, 19, tzinfo=UTC)),
    ),
)


async def certificate_ends(ctx: Context, owner: Recipient, row: ConnectionRow, end: datetime) -> None:
    """Notify an owner that the last certificate of a connection expires at `end`."""
    await notify(ctx, SSO_CERTIFICATE_ENDS, owner, connection=row.name, until=end)


async def domain_missing(
    ctx: Context,
    owner: Recipient,
    organization: OrganizationRow,
    domain: DomainRow,
    record: str,
    until: datetime,
) -> None:
    """Notify an owner that the TXT record of a domain is missing; the domain stays verified until `until`."""
    await notify(
        ctx,
        SSO_DOMAIN_MISSING,
        owner,
        organization=organization.name,
        domain=domain.domain,
        record=record,
        value=domain.token,
        until=until,
    )


async def domain_lost(
    ctx: Context, owner: Recipient, organization: OrganizationRow, domain: DomainRow, record: str
) -> None:
    """Notify an owner that a domain is no longer verified; `record` is the name of the TXT record."""
    await notify(
        ctx,
        SSO_DOMAIN_LOST,
        owner,
        organization=organization.name,
        domain=domain.domain,
        record=record,
        value=domain.token,
    )
