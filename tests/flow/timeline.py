"""Decodes a timeline by Perfetto's own schema, without its trace processor."""

import zlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

Event = schema.TrackEvent


@dataclass
class Slice:
    """A slice or an instant of a track."""

    track: int
    path: tuple[str, ...]
    category: str
    name: str
    start: int
    end: int
    notes: dict[str, int | str]
    flows: tuple[int, ...]
    last_of: tuple[int, ...]

    @property
    def agent(self) -> str:
        """The agent of an operation: the track above its own."""
        return self.path[1]


@dataclass
class Timeline:
    """All slices in the order of the file, and the values of all counters."""

    slices: list[Slice] = field(default_factory=list)
    counters: dict[tuple[str, ...], list[tuple[int, float]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def of(self, category: str) -> list[Slice]:
        """Slices of a category."""
        return [slice_ for slice_ in self.slices if slice_.category == category]


def packets(content: bytes) -> Iterator[schema.TracePacket]:
    """Packets in the order of the file; those that are compressed too."""
    for packet in schema.Trace.FromString(content).packet:
        if packet.HasField("compressed_packets"):
            yield from packets(zlib.decompress(packet.compressed_packets))
        else:
            yield packet


class _Reader:
    def __init__(self) -> None:
        self.timeline = Timeline()
        self.names: dict[str, dict[int, str]] = defaultdict(dict)
        self.tracks: dict[int, tuple[int, str]] = {}
        self.open: dict[int, Slice] = {}
        self.times: dict[int, int] = {}

    def take(self, packet: schema.TracePacket) -> None:
        interned = packet.interned_data
        for kind in ("event_categories", "event_names", "debug_annotation_names"):
            self.names[kind].update({entry.iid: entry.name for entry in getattr(interned, kind)})
        values = interned.debug_annotation_string_values
        self.names["values"].update({entry.iid: entry.str.decode() for entry in values})
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            assert track.uuid not in self.tracks
            self.tracks[track.uuid] = (track.parent_uuid, track.name)
        if packet.HasField("track_event"):
            self._event(packet.timestamp, packet.track_event)

    def _event(self, time: int, event: schema.TrackEvent) -> None:
        track = event.track_uuid
        assert self.times.get(track, 0) <= time, "times are monotone per track"
        self.times[track] = time
        if event.type == Event.TYPE_COUNTER:
            counter = self.timeline.counters[self._path(track)]
            counter.append((time, event.double_counter_value))
        elif event.type == Event.TYPE_SLICE_END:
            self.open.pop(track).end = time
        else:
            assert track not in self.open, "slices of a lane do not overlap"
            made = self._slice(time, event)
            self.timeline.slices.append(made)
            if event.type == Event.TYPE_SLICE_BEGIN:
                self.open[track] = made

    def _slice(self, time: int, event: schema.TrackEvent) -> Slice:
        return Slice(
            event.track_uuid,
            self._path(event.track_uuid),
            self.names["event_categories"][event.category_iids[0]],
            self.names["event_names"][event.name_iid],
            time,
            time,
            dict(map(self._note, event.debug_annotations)),
            (*event.flow_ids, *event.terminating_flow_ids),
            tuple(event.terminating_flow_ids),
        )

    def _note(self, note: schema.DebugAnnotation) -> tuple[str, int | str]:
        name = self.names["debug_annotation_names"][note.name_iid]
        match note.WhichOneof("value"):
            case "string_value_iid":
                return name, self.names["values"][note.string_value_iid]
            case "uint_value":
                return name, note.uint_value
            case "pointer_value":
                return name, note.pointer_value
        raise AssertionError(note)

    def _path(self, track: int) -> tuple[str, ...]:
        parent, name = self.tracks[track]
        return (*self._path(parent), name) if parent else (name,)


def read(path: Path) -> Timeline:
    """Decode a file; AssertionError if tracks, times or slices contradict each other."""
    reader = _Reader()
    for packet in packets(path.read_bytes()):
        reader.take(packet)
    assert not reader.open, "every slice ends"
    return reader.timeline
