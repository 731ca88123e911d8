"""The settings of the audit trail."""

from server.config.groups.group import Group
from server.config.value_types import Duration, duration_between


class Audit(Group):
    """`audit.*`: the record of what happened."""

    retention: Duration = duration_between("365d", "How long records are kept; 0 = forever.", at_least="0s")
