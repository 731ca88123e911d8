"""The table `passkey`: credentials of authenticators, with which their owners sign in."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import BigInteger, and_, bindparam, func, or_, select, update
from sqlmodel import Field, col

from models.base import Access, Instant, Record
from models.queries import ReadStatement, by
from models.statements import table_of

SINGLE_DEVICE, MULTI_DEVICE = "singleDevice", "multiDevice"
"""Whether the credential stays on one authenticator, or may be copied to others of the same user."""


class Passkey(Record, table=True):
    """One credential (Web Authentication Level 3). Nothing here is secret: the private key is in the authenticator."""

    __export__ = "passkeys"
    __access__ = (Access("passkeys", "passkeys"),)  # defence: M5 passkeys

    user_id: str = Field(foreign_key="user.id", index=True, ondelete="CASCADE", max_length=32)
    name: str | None = None
    credential_id: bytes = Field(unique=True)
    public_key: bytes
    algorithm: int
    """The COSE number of the algorithm with which the passkey signs."""
    # Unsigned in WebAuthn, so that an INTEGER of PostgreSQL is too small.
    counter: int = Field(sa_type=BigInteger)
    """The last signature counter; 0 for authenticators that do not count."""
    device_type: str
    backed_up: bool
    transports: str | None = None
    """How browsers reach the authenticator, separated by commas."""
    aaguid: str | None = None
    """The model of the authenticator."""
    rp_id: str
    user_handle: bytes | None = None
    """The identifier of the user on the authenticator; None for an imported passkey."""
    last_used_at: datetime | None = Field(default=None, sa_type=Instant)


class PasskeyRow(NamedTuple):
    """A passkey as read by a query; the fields are those of `Passkey`."""

    id: str
    user_id: str
    name: str | None
    credential_id: bytes
    public_key: bytes
    algorithm: int
    counter: int
    device_type: str
    backed_up: bool
    transports: str | None
    aaguid: str | None
    rp_id: str
    user_handle: bytes | None
    last_used_at: datetime | None
    created_at: datetime
    updated_at: datetime

    @property
    def transport_list(self) -> Sequence[str]:
        """The transports by which browsers reach the authenticator."""
        return self.transports.split(",") if self.transports else ()


PASSKEY_COLUMNS = tuple(col(getattr(Passkey, name)) for name in PasskeyRow._fields)
"""The columns of a `PasskeyRow`."""

PASSKEY_BY_CREDENTIAL = ReadStatement(
    select(*PASSKEY_COLUMNS).where(by(Passkey.credential_id)), PasskeyRow._make
)
"""The passkey with a credential id, of any user."""

PASSKEYS_OF_USER = ReadStatement(
    select(*PASSKEY_COLUMNS).where(
        by(Passkey.user_id),  # defence: P20 list
    ),
    PasskeyRow._make,
    key=Passkey.user_id,
)
"""Every passkey of a user, unsorted."""

_OF_USER = col(Passkey.user_id) == bindparam("user_id")

COUNT_PASSKEYS = select(func.count()).select_from(table_of(Passkey)).where(_OF_USER)
"""The number of passkeys of a `user_id`."""

FIND_PASSKEY = (
    select(*PASSKEY_COLUMNS)
    .where(
        col(Passkey.id) == bindparam("passkey_id"),
        _OF_USER,  # defence: P20 owner
    )
    .execution_options(row=PasskeyRow)
)
"""The passkey `passkey_id` of a `user_id`, as the transaction sees it."""

FIND_PASSKEYS = select(*PASSKEY_COLUMNS).where(_OF_USER).execution_options(row=PasskeyRow)
"""Every passkey of a `user_id`, as the transaction sees it, unsorted."""

FIND_CREDENTIAL = select(col(Passkey.id)).where(col(Passkey.credential_id) == bindparam("credential_id"))
"""The passkey with a `credential_id`, of any user, as the transaction sees it."""

_new = bindparam("new", type_=BigInteger())
USE_PASSKEY = (
    update(table_of(Passkey))
    .where(
        col(Passkey.id) == bindparam("passkey_id"),
        # defence: P10 counter
        or_(col(Passkey.counter) < _new, and_(col(Passkey.counter) == 0, _new == 0)),
    )
    .values(
        counter=_new,
        backed_up=bindparam("is_backed_up"),
        last_used_at=bindparam("at", type_=Instant()),
        updated_at=bindparam("at", type_=Instant()),
    )
    .returning(*PASSKEY_COLUMNS)
    .execution_options(row=PasskeyRow)
)
"""Use the passkey `passkey_id` once, if its counter grows to `new`, or neither side counts.

Of several simultaneous uses with one counter, one returns the row.
"""
