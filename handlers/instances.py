"""The operations of openapi/paths/instances.yaml: list the running processes of the service."""

from domain.context import Context
from domain.instances import instances
from domain.instances.instances import Difference, RunningInstance
from handlers import shapes, wire


# instances.list_all
async def list_all(ctx: Context) -> shapes.InstanceList:
    """Return the running instances, and the settings in which they differ."""
    found = await instances.list_instances(ctx)
    return {
        "instances": [_instance(one) for one in found],
        "differences": [_difference(one) for one in instances.differences(found)],
    }


def _instance(instance: RunningInstance) -> shapes.Instance:
    return {
        "id": instance.id,
        "host": instance.host,
        "process": instance.process,
        "version": instance.version,
        "startedAt": wire.instant(instance.started_at),
        "lastSeenAt": wire.instant(instance.last_seen_at),
    }


def _difference(difference: Difference) -> shapes.SettingDifference:
    return {
        "name": difference.key,
        "values": [
            {"value": value.value, "instanceIds": [one.id for one in value.instances]}
            for value in difference.values
        ],
    }
