"""Statistics for administrators: the cache of the figures that this process has queried last."""

from domain.statistics.statistics import StatisticsCache
from server.components.component import Component, Core


class Statistics(Component):
    """The component that registers the cache of the figures for administrators."""

    def __init__(self, core: Core) -> None:
        core.port.add(StatisticsCache, StatisticsCache())
