"""Statistics: the figures that this process has counted last."""

from domain.statistics.statistics import StatisticsCache
from server.components.component import Component, Core


class Statistics(Component):
    """The component that keeps the figures."""

    def __init__(self, core: Core) -> None:
        core.port.add(StatisticsCache, StatisticsCache())
