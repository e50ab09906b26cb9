"""Commands that make recommended settings on a real machine, to be read before they are run."""

from collections.abc import Iterator, Sequence

_IFACE, _GROUP, _DEVICE = "IFACE", "GROUP", "BUS:SLOT.FUNCTION"


def for_changes(
    changes: Sequence[tuple[str, str]], names: Sequence[str]
) -> Iterator[tuple[str, list[str]]]:
    """Yield each changed key with its commands; capitals stand for names of the user's machine.

    `names` are the tenants beside the main one, which keys name by number.
    """
    for key, value in changes:
        yield key, [_named(command, key, names) for command in _commands(key, value)]


def _commands(key: str, value: str) -> list[str]:
    name = key.rpartition(".")[2]
    if name == "ddio_ways" and value == "0":
        return [f"skipline-host tune ddio off --device {_DEVICE}"]
    if name.endswith("way_mask"):
        return _mask(int(value, 0))
    lines = _LINES.get(name, ("# in the application: {name} = {value}",))
    return [line.format(name=name, value=value) for line in lines]


_LINES = {
    "ddio_ways": ("skipline-host tune ddio-ways {value}",),
    "rx_descriptors": (f"ethtool -G {_IFACE} rx {{value}}", "dpdk-testpmd ... -- --rxd={value}"),
    "tx_descriptors": (f"ethtool -G {_IFACE} tx {{value}}", "dpdk-testpmd ... -- --txd={value}"),
    "cores": (
        f"ethtool -L {_IFACE} combined {{value}}",
        "dpdk-testpmd ... -- --nb-cores={value} --rxq={value} --txq={value}",
    ),
    "mba_percent": (f'echo "MB:0={{value}}" > /sys/fs/resctrl/{_GROUP}/schemata',),
    "nic_socket": ("# move the card to a slot of socket {value}, or the cores to its socket",),
    "engines": ("# accel-config config-engine: {value} engines in group 0",),
    "queues": ("# accel-config config-wq, enable-wq: {value} queues in group 0",),
    "queue_mode": ("accel-config config-wq dsa0/wq0.0 --mode={value}",),
    "threshold": ("accel-config config-wq dsa0/wq0.0 --threshold={value}",),
    "header_slices": (
        "export SKIPLINE_SLICE_NEAREST={value} SKIPLINE_SLICE_TABLE=TABLE "
        "SKIPLINE_SLICE_LATENCIES=LATENCIES",
        "dpdk-testpmd -d librte_mempool_skipline.so --mbuf-pool-ops-name skipline_slice ...",
    ),
    "nearest_slices": (
        "# libskipline_slices: memory in slices of skl_nearest_slices(), count = {value}",
    ),
    "slice_aware_items": (
        "# libskipline_slices: {value} most popular items in slices of skl_nearest_slices()",
    ),
    "queue_entries": ("accel-config config-wq dsa0/wq0.0 --wq-size={value}",),
    "flow_rules": (
        f"ethtool -N {_IFACE} flow-type ... action QUEUE   # for each of {{value}} flows",
    ),
}


def _mask(mask: int) -> list[str]:
    return [
        f"skipline-host tune cat {_GROUP} {mask:#x}",
        f'echo "L3:0={mask:x}" > /sys/fs/resctrl/{_GROUP}/schemata',
    ]


def _named(command: str, key: str, names: Sequence[str]) -> str:
    """Put the name of a tenant in place of the capitals that stand for it."""
    kind, _, rest = key.partition(".")
    if kind == "tenant" and rest.partition(".")[0].isdigit():
        name = names[int(rest.partition(".")[0])]
        return f"{command}   # of {name}"
    return f"{command}   # of the co-runner" if kind == "co_runner" else command
