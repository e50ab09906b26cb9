"""The output of the binary, typed. Fields that are not listed here are ignored, not refused."""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict


def _of_hex(value: object) -> object:
    return int(value, 16) if isinstance(value, str) else value


Register = Annotated[int, BeforeValidator(_of_hex)]
"""The value of a register or mask: hexadecimal text in JSON, an `int` here."""


class _HostModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Unread(_HostModel):
    """Something that could not be read, why, and what helps."""

    what: str
    reason: str
    remedy: str | None


class Cpu(_HostModel):
    """The model of a CPU: vendor, numbers and name, as /proc/cpuinfo has them."""

    vendor: str
    family: int
    model: int
    stepping: int
    name: str
    virtual_machine: bool


class Generation(_HostModel):
    """Facts about the CPU's generation."""

    name: str
    io_path: str
    source: str


class LastLevelCache(_HostModel):
    """A last-level cache; `id` is resctrl's domain."""

    id: int
    size_bytes: int
    ways: int
    cpus: list[int]


class IoWays(_HostModel):
    """The ways that I/O allocates in, and whether the register is known to have an effect."""

    mask: Register
    of_ways: int
    msr: int
    proof: Literal["effective", "no-effect", "expected-no-effect", "unknown"]


class Link(_HostModel):
    """The PCIe link of a device: lane speeds in GT/s, numbers of lanes, transfer sizes in bytes."""

    port_type: str
    speed_gts: float | None
    width: int
    most_speed_gts: float | None
    most_width: int
    mps_bytes: int
    mrrs_bytes: int


class Rings(_HostModel):
    """Sizes of an interface's rings: descriptors of each queue, at present and at most."""

    rx: int
    most_rx: int
    tx: int
    most_tx: int


class Device(_HostModel):
    """A NIC or storage controller below a port, with its link and its rings."""

    bdf: str
    kind: Literal["nic", "ssd", "storage", "bridge", "other"]
    id: str
    driver: str | None
    names: list[str]
    through: list[str]
    link: Link | None
    rings: list[tuple[str, Rings]]


class Ddio(_HostModel):
    """The state of a root port's DDIO switch."""

    state: Literal["on", "off", "no-response", "unread"]


class Port(_HostModel):
    """A root port and what is below it; without an address: the root complex itself."""

    port: str | None
    node: int | None
    ddio: Ddio | None
    devices: list[Device]


class Socket(_HostModel):
    """A socket: its cache, its ways of I/O, its ports."""

    id: int
    cpus: list[int]
    cores: int
    caches: list[LastLevelCache]
    slices: int | None
    io_ways: IoWays | None
    ports: list[Port]


class UnreachableSocket(_HostModel):
    """A socket without online CPUs; without a number: sockets that may be there."""

    id: int | None
    nodes: list[int]
    cpus: list[int]


class Offline(_HostModel):
    """CPUs that are present and offline, and the sockets that cannot be reached because of that."""

    cpus: list[int]
    sockets: list[UnreachableSocket]


class Status(_HostModel):
    """The output of `status`: everything that could be read on a host, and what could not."""

    cpu: Cpu | None
    generation: Generation | None
    lockdown: str | None
    iommu: str | None
    sockets: list[Socket]
    offline: Offline
    elsewhere: list[Port]
    changes_pending: int
    unread: list[Unread]


class Change(_HostModel):
    """A planned change of a control, like a register: its old and new value."""

    place: str
    old: Register | None
    asked: Register
    old_means: str
    new_means: str
    only_kept: bool = False


class Plan(_HostModel):
    """The writes by which a command of the user is carried out, with warnings."""

    command: str
    changes: list[Change]
    warnings: list[str]


class Applied(_HostModel):
    """The outcome of a change; `holds` has the value if it reads back as something else.

    `kept`: nothing was to be written, another change loses this value.
    """

    place: str
    old: Register
    asked: Register
    result: Literal[
        "already-so", "kept", "set", "ignored", "widened", "different", "not-read-back", "refused"
    ]
    holds: Register | None = None
    reason: str | None = None


class HitRates(_HostModel):
    """Hit rate of device writes at a socket: mean in percent, deviation in percentage points."""

    socket: int
    writes: int
    mean_percent: float
    sd_points: float


class Verification(_HostModel):
    """Hit rates before, with the new values and with the old ones again, and what they say."""

    windows_ms: int
    before: list[HitRates]
    after: list[HitRates]
    back: list[HitRates]
    verdict: Literal["effective", "no-effect-observed", "refused", "not-judged"]
    change_points: float | None = None
    reason: str | None = None


class Report(_HostModel):
    """The output of a change: its plan and, if it was written, the outcome of each write."""

    plan: Plan
    applied: list[Applied] | None
    verification: Verification | None


class Restored(_HostModel):
    """The outcome of restoring a journalled change."""

    place: str
    result: Literal[
        "put-back", "was-back", "rebooted", "switched-off", "changed-by-others", "failed"
    ]
    holds: Register | None = None
    reason: str | None = None


class RestoreReport(_HostModel):
    """The output of `restore`; of a dry run, its plan."""

    dry_run: bool
    restored: list[Restored]


class HitMiss(_HostModel):
    """Numbers of lines that devices requested and that were, and were not, in the LLC."""

    hits: int
    misses: int


class SocketSample(_HostModel):
    """Counts and rates of one socket in one window: hits of devices, bytes of DRAM each second."""

    socket: int
    pcie_write: HitMiss | None
    pcie_partial_write: HitMiss | None
    pcie_read: HitMiss | None
    dram_read_bytes_per_s: float | None
    dram_write_bytes_per_s: float | None
    running_share: float | None


class PortDevice(_HostModel):
    """A device behind a port, with the names of its interfaces, controllers or disks."""

    bdf: str
    names: list[str]


class PortSample(_HostModel):
    """One PCIe port in one window; `devices` of a whole stack are more than the port's."""

    socket: int
    stack: int
    part: int
    bus: str | None
    devices_of: Literal["port", "stack"]
    devices: list[PortDevice]
    read_bytes_per_s: float
    write_bytes_per_s: float


class EngineSample(_HostModel):
    """Rates of one copy engine (DSA) in one window: bytes and requests each second."""

    device: str
    node: int | None
    inbound_bytes_per_s: float
    outbound_bytes_per_s: float
    shared_requests_per_s: float
    dedicated_requests_per_s: float


class Occupancy(_HostModel):
    """The occupancy of a cache by a control group, or by a monitoring group in it."""

    group: str
    domain: int
    bytes: int


class Sample(_HostModel):
    """One window, by the time when it ended (seconds since 1970) and as the counters ran."""

    time_unix_s: float
    window_ms: float
    sockets: list[SocketSample]
    ports: list[PortSample]
    engines: list[EngineSample]
    occupancy: list[Occupancy]
