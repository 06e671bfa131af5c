"""Settings of Dask `distributed` that brain and hosts share: it only carries calls, and does nothing by itself."""

from collections.abc import Mapping
from types import MappingProxyType

SHARED_SETTINGS: Mapping[str, object] = MappingProxyType(
    {
        "distributed.comm.timeouts.tcp": "30s",
        "distributed.comm.timeouts.connect": "10s",
        "distributed.comm.retry.count": 0,
        "distributed.admin.tick.limit": "1h",
        "distributed.admin.tick.interval": "10s",  # 20 ms by default: two hundredths of a core for nothing
        "distributed.admin.system-monitor.interval": "60s",
    }
)
