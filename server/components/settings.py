"""The settings that this process runs with, for administrators of the service."""

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from domain.settings.settings import SettingInForce, SettingsInForce
from server.components.component import Component, Core
from server.config.effective import EffectiveSetting, effective_settings, shown

_DIGEST_PURPOSE = "instance.settings"
_DIGEST_BYTES = 16


class ListedSettings(Component):
    """The component that lists each setting with its value and source."""

    def __init__(self, core: Core) -> None:
        self._settings = core.settings
        self._cipher = core.cipher
        core.port.add(SettingsInForce, self._list)

    async def start(self) -> None:
        """Collect the list at startup, before the settings file can change."""
        self._list()

    def _list(self) -> Sequence[SettingInForce]:
        """Return every setting. Implements `domain.settings.settings.SettingsInForce`."""
        return self._effective

    @cached_property
    def _effective(self) -> Sequence[SettingInForce]:
        found = effective_settings(self._settings, os.environ, Path.cwd())
        return [
            SettingInForce(
                one.key,
                one.group,
                one.text,
                one.is_secret,
                one.source,
                one.origin,
                one.description,
                one.anchor,
                self._digests(one),
            )
            for one in found
        ]

    def _digests(self, setting: EffectiveSetting) -> Sequence[str]:
        """Return keyed digests of a secret, so that another process can tell whether it has the same one."""
        if not setting.is_hidden:
            return ()
        text = f"{setting.key} {shown(setting.value)}"
        found = self._cipher.digests(_DIGEST_PURPOSE, text)
        return [digest[:_DIGEST_BYTES].hex() for digest in found]  # defence: C9 digests
