"""Real traffic on the loopback interface: an echo exchange, its capture, and the pcap file.

The capture holds each packet once, as it is received, with the kernel's time in nanoseconds.
"""

import re
import shutil
import socket
import struct
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

ETHERNET_HEADER_BYTES = 14
LEAST_FRAME_BYTES = 60
LONGEST_FRAME_BYTES = 1 << 17
LOOPBACK = "127.0.0.1"
# Only a broken set-up makes anything here wait this long.
GIVE_UP_SECONDS = 20

# From linux/if_ether.h, asm/socket.h and linux/if_packet.h; Python does not name them.
ETH_P_ALL = 0x0003
ETH_P_IP = 0x0800
SO_TIMESTAMPNS = 35
SO_RCVBUFFORCE = 33
SOL_PACKET = 263
PACKET_STATISTICS = 6

PCAP_MAGIC_NANOSECONDS = 0xA1B23C4D
PCAP_LINK_TYPE_ETHERNET = 1


@dataclass(frozen=True)
class Packet:
    """A captured frame without FCS and when it was received."""

    time_ns: int
    frame: bytes

    @property
    def frame_bytes(self) -> int:
        """Size that Ethernet would carry: short frames are padded."""
        return max(len(self.frame), LEAST_FRAME_BYTES)

    @property
    def ports(self) -> tuple[int, int] | None:
        """Source and destination port if this is TCP or UDP over IPv4."""
        if struct.unpack_from("!H", self.frame, 12)[0] != ETH_P_IP:
            return None
        header_bytes = (self.frame[ETHERNET_HEADER_BYTES] & 0xF) * 4
        protocol = self.frame[ETHERNET_HEADER_BYTES + 9]
        if protocol not in (socket.IPPROTO_TCP, socket.IPPROTO_UDP):
            return None
        source, destination = struct.unpack_from(
            "!HH", self.frame, ETHERNET_HEADER_BYTES + header_bytes
        )
        return source, destination


class LoopbackCapture(ABC):
    """Captures everything that the loopback interface receives while the context is open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def packets_of(self, ports: set[int]) -> list[Packet]:
        """All packets so far from or to one of the ports; this ends the capture.

        The kernel shows a packet to captures before it delivers it, so everything that was
        received is in the capture before a marker that is sent now.
        """
        marker_port = send_marker()
        packets = []
        for packet in self.received():
            if packet.ports and marker_port in packet.ports:
                break
            if packet.ports and ports.intersection(packet.ports):
                packets.append(packet)
        if self.dropped():
            raise RuntimeError("the kernel dropped packets of the capture")
        return packets

    @abstractmethod
    def received(self) -> Iterator[Packet]:
        """Every packet since the start; waits for the next."""

    @abstractmethod
    def dropped(self) -> int:
        """How many packets the kernel could not keep for the capture."""

    @abstractmethod
    def close(self) -> None:
        """Stop capturing."""


def start_capture() -> LoopbackCapture:
    """Capture with a raw socket or, if the process may not open one, with tcpdump.

    Raises PermissionError if neither is possible.
    """
    try:
        return SocketCapture()
    except PermissionError as error:
        if shutil.which("tcpdump") is None:
            raise PermissionError(f"{error}, and there is no tcpdump") from error
        return TcpdumpCapture()


class SocketCapture(LoopbackCapture):
    """A capture by a raw socket. Raises PermissionError if the process may not open one."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self._socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        self._socket.settimeout(GIVE_UP_SECONDS)
        self._socket.bind(("lo", 0))

    def received(self) -> Iterator[Packet]:
        time_bytes = socket.CMSG_SPACE(16)
        while True:
            frame, ancillary, _, address = self._socket.recvmsg(LONGEST_FRAME_BYTES, time_bytes)
            # On loopback a capture sees every packet twice: on its way out and on its way in.
            if address[2] == socket.PACKET_OUTGOING:
                continue
            (seconds, nanoseconds) = struct.unpack("qq", ancillary[0][2])
            yield Packet(seconds * 1_000_000_000 + nanoseconds, frame)

    def dropped(self) -> int:
        _, dropped = struct.unpack("II", self._socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
        return int(dropped)

    def close(self) -> None:
        self._socket.close()


class TcpdumpCapture(LoopbackCapture):
    """A capture by tcpdump, which may be installed with rights that this process lacks."""

    def __init__(self) -> None:
        # The kernel's buffer (64 MiB) holds what is not read yet, in slots of the snap length.
        options = "-i lo -Q in -s 2048 -B 65536 -w - --immediate-mode -U"
        options += " --time-stamp-precision=nano"
        self._tcpdump = subprocess.Popen(
            ["tcpdump", *options.split()], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        first_line = self._messages().readline()
        # It says so once its capture runs; anything else is why it does not.
        if b"listening on" not in first_line:
            self.close()
            raise PermissionError(f"tcpdump: {first_line.decode().strip()}")

    def received(self) -> Iterator[Packet]:
        assert self._tcpdump.stdout
        file = self._tcpdump.stdout
        (magic,) = struct.unpack("=I20x", file.read(24))
        assert magic == PCAP_MAGIC_NANOSECONDS
        while True:
            header = struct.unpack("=IIII", file.read(16))
            seconds, nanoseconds, captured_bytes, frame_bytes = header
            assert captured_bytes == frame_bytes
            yield Packet(seconds * 1_000_000_000 + nanoseconds, file.read(captured_bytes))

    def dropped(self) -> int:
        self._tcpdump.terminate()
        summary = re.search(rb"(\d+) packets dropped by kernel", self._messages().read())
        assert summary
        return int(summary[1])

    def close(self) -> None:
        self._tcpdump.terminate()
        self._tcpdump.communicate()

    def _messages(self) -> IO[bytes]:
        assert self._tcpdump.stderr
        return self._tcpdump.stderr


def send_marker() -> int:
    """Send a datagram, wait until it has arrived and return the port that it came to."""
    with udp_socket() as receiver, udp_socket() as sender:
        sender.sendto(b"marker", receiver.getsockname())
        receiver.recv(6)
        return int(receiver.getsockname()[1])


def udp_socket() -> socket.socket:
    """Bind a UDP socket to a free port."""
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.settimeout(GIVE_UP_SECONDS)
    udp.bind((LOOPBACK, 0))
    return udp


def echo_over_udp(clients: int, payload_sizes: Sequence[int]) -> int:
    """Let clients, one after the other, have payloads echoed. Returns the server's port."""

    def serve(server: socket.socket) -> None:
        for _ in range(clients * len(payload_sizes)):
            payload, client = server.recvfrom(LONGEST_FRAME_BYTES)
            server.sendto(payload, client)

    with ThreadPoolExecutor(max_workers=1) as background, udp_socket() as server:
        served = background.submit(serve, server)
        for _ in range(clients):
            with udp_socket() as client:
                client.connect(server.getsockname())
                for size in payload_sizes:
                    client.send(bytes(size))
                    assert len(client.recv(LONGEST_FRAME_BYTES)) == size
        served.result()
        return int(server.getsockname()[1])


def echo_over_tcp(payload_sizes: Sequence[int]) -> int:
    """Let one client have payloads echoed over one connection. Returns the server's port.

    Client and server take turns, so that no two payloads share a segment.
    """

    def serve(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection, connection.makefile("rb") as received:
            for size in payload_sizes:
                connection.sendall(received.read(size))

    with (
        ThreadPoolExecutor(max_workers=1) as background,
        socket.create_server((LOOPBACK, 0)) as (server),
    ):
        server.settimeout(GIVE_UP_SECONDS)
        served = background.submit(serve, server)
        address = server.getsockname()
        with (
            socket.create_connection(address, GIVE_UP_SECONDS) as client,
            client.makefile("rb") as echoed,
        ):
            for size in payload_sizes:
                client.sendall(bytes(size))
                assert len(echoed.read(size)) == size
        served.result()
        return int(address[1])


def write_pcap(path: Path, packets: Sequence[Packet]) -> None:
    """Write a pcap file with nanosecond times."""
    with path.open("wb") as file:
        file.write(
            struct.pack(
                "<IHHiIII", PCAP_MAGIC_NANOSECONDS, 2, 4, 0, 0, 262_144, PCAP_LINK_TYPE_ETHERNET
            )
        )
        for packet in packets:
            seconds, nanoseconds = divmod(packet.time_ns, 1_000_000_000)
            length = len(packet.frame)
            file.write(struct.pack("<IIII", seconds, nanoseconds, length, length))
            file.write(packet.frame)
