"""The operations of openapi/paths/settings.yaml: list the settings in force, for administrators."""

from domain.context import Context
from domain.settings import settings
from handlers import shapes


# settings.list_all
async def list_all(ctx: Context) -> shapes.SettingList:
    """Return the settings in force."""
    return {
        "settings": [
            {
                "name": one.key,
                "value": one.value,
                "isSecret": one.is_secret,
                "source": one.source,
                "origin": one.origin,
                "description": one.description,
            }
            for one in settings.list_settings(ctx)
        ]
    }
