"""List the processes that run the service, and the settings in which they differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

import orjson
from sqlalchemy import bindparam, select
from sqlmodel import col

from domain.admin import permissions
from domain.admin.errors import YouAreNotAllowedToManageService
from domain.context import Context
from domain.settings.settings import SettingInForce
from models.base import Instant
from models.instance import Instance

SEEN_WITHIN = timedelta(minutes=1)
"""A process that was not seen for this time is not listed."""

_MOST = 1000
"""Processes that are listed."""

_Setting = tuple[str, Sequence[str]]
"""The value of a setting and its digests."""


class ThisInstance(NamedTuple):
    """The process that responds."""

    id: str
    host: str
    process: int
    version: str
    started_at: datetime


class RunningInstance(NamedTuple):
    """A process of the service; the fields are those of `Instance`."""

    id: str
    host: str
    process: int
    version: str
    started_at: datetime
    last_seen_at: datetime
    settings: str


_RUNNING = (
    select(*(col(getattr(Instance, name)) for name in RunningInstance._fields))
    .where(col(Instance.last_seen_at) > bindparam("since", type_=Instant()))
    .order_by(col(Instance.started_at), col(Instance.id))
    .limit(_MOST)
    .execution_options(row=RunningInstance)
)


@dataclass(frozen=True, slots=True)
class ValueInForce:
    """One value of a setting, and the processes in which it has this value."""

    value: str | None
    """The value; for a secret `set` or `not set`. None if these processes run a version without this setting."""
    instances: Sequence[RunningInstance]


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting that differs between processes. Different values of a secret are all shown as `set`."""

    key: str
    is_secret: bool
    values: Sequence[ValueInForce]


async def list_instances(ctx: Context) -> Sequence[RunningInstance]:
    """Return the processes seen in the last minute, in the order in which they started.

    Raises YouAreNotAllowedToManageService, TwoFactorRequired.
    """
    # defence: ADM24 instances
    permissions.require(ctx, "service", "manage", YouAreNotAllowedToManageService)
    return await ctx.db.execute(_RUNNING, since=ctx.now - SEEN_WITHIN)


def differences(instances: Sequence[RunningInstance]) -> Sequence[Difference]:
    """Return the settings in which these processes differ, in the order of their keys."""
    # Most processes have the same settings, and comparing text costs less than reading it.
    if len({one.settings for one in instances}) < 2:
        return []
    read = [(one, _read(one.settings)) for one in instances]
    keys = sorted({key for _, settings in read for key in settings})
    compared = [_difference(key, read) for key in keys]
    return [one for one in compared if len(one.values) > 1]


def settings_text(settings: Sequence[SettingInForce]) -> str:
    """Return the settings of a process as JSON to be stored; a secret is represented by its keyed digests."""
    return orjson.dumps({one.key: [one.value, one.digests] for one in settings}).decode()


def _read(settings: str) -> Mapping[str, _Setting]:
    return {key: (value, digests) for key, (value, digests) in orjson.loads(settings).items()}


def _difference(key: str, read: Sequence[tuple[RunningInstance, Mapping[str, _Setting]]]) -> Difference:
    found: list[tuple[_Setting | None, list[RunningInstance]]] = []
    for instance, settings in read:
        setting = settings.get(key)
        same = next((instances for other, instances in found if _is_same(setting, other)), None)
        if same is None:
            found.append((setting, [instance]))
        else:
            same.append(instance)
    is_secret = any(setting and setting[1] for setting, _ in found)
    return Difference(
        key, is_secret, [ValueInForce(setting and setting[0], instances) for setting, instances in found]
    )


def _is_same(one: _Setting | None, other: _Setting | None) -> bool:
    """Return whether two settings have the same value.

    A secret has a digest under each service secret; while these are rotated, processes have only some in common.
    """
    if one is None or other is None:
        return one is other
    return one[0] == other[0] and (one[1] == other[1] or not {*one[1]}.isdisjoint(other[1]))
