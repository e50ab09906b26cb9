//! The bytes of a Perfetto trace: packets in order, interned texts, compressed piece by piece.

use super::schema::{
    InternedData, InternedName, NEEDS_STATE, STATE_CLEARED, TracePacket, TrackDescriptor,
    TrackEvent,
};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use prost::Message;
use std::collections::HashMap;
use std::io::Write;
use units::Picos;

/// Bytes of packets that are compressed together.
const PIECE_BYTES: usize = 1 << 20;

/// Level of zlib: 6 takes twice the time for a tenth of the bytes.
const COMPRESSION: u32 = 5;

/// Key of the field `Trace.packet`: number 1, length-delimited.
const PACKET_KEY: u8 = 1 << 3 | 2;

/// All packets have one writer.
const SEQUENCE: u32 = 1;

/// Kind of an interned text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Text {
    Category,
    Event,
    Annotation,
    Value,
}

/// Number of kinds of texts.
const KINDS: usize = Text::Value as usize + 1;

/// A trace under construction.
pub(super) struct TraceFile {
    whole: Vec<u8>,
    piece: Vec<u8>,
    /// Numbers of texts, kind by kind.
    numbers: [HashMap<String, u64>; KINDS],
    /// Texts that the next packet brings.
    new: InternedData,
    is_first: bool,
}

impl TraceFile {
    pub(super) fn new() -> Self {
        Self {
            whole: Vec::new(),
            piece: Vec::with_capacity(PIECE_BYTES),
            numbers: Default::default(),
            new: InternedData::default(),
            is_first: true,
        }
    }

    /// The number by which events name a text.
    pub(super) fn intern(&mut self, kind: Text, text: &str) -> u64 {
        let known = &mut self.numbers[kind as usize];
        if let Some(&number) = known.get(text) {
            return number;
        }
        let number = known.len() as u64 + 1;
        known.insert(text.into(), number);
        let list = match kind {
            Text::Category => &mut self.new.event_categories,
            Text::Event => &mut self.new.event_names,
            Text::Annotation => &mut self.new.debug_annotation_names,
            Text::Value => &mut self.new.debug_annotation_string_values,
        };
        list.push(InternedName { iid: Some(number), name: Some(text.into()) });
        number
    }

    pub(super) fn track(&mut self, track: TrackDescriptor) {
        self.packet(TracePacket { track_descriptor: Some(track), ..TracePacket::default() });
    }

    pub(super) fn event(&mut self, time: Picos, event: TrackEvent) {
        let timestamp = Some(time.0 / 1000);
        self.packet(TracePacket { timestamp, track_event: Some(event), ..TracePacket::default() });
    }

    fn packet(&mut self, mut packet: TracePacket) {
        let cleared = if std::mem::take(&mut self.is_first) { STATE_CLEARED } else { 0 };
        packet.trusted_packet_sequence_id = Some(SEQUENCE);
        packet.sequence_flags = Some(NEEDS_STATE | cleared);
        if self.new != InternedData::default() {
            packet.interned_data = Some(std::mem::take(&mut self.new));
        }
        append(&mut self.piece, &packet);
        if self.piece.len() >= PIECE_BYTES {
            self.end_piece();
        }
    }

    fn end_piece(&mut self) {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(COMPRESSION));
        // A vector takes every byte.
        let written = encoder.write_all(&self.piece);
        debug_assert!(written.is_ok());
        let compressed = encoder.finish().unwrap_or_default();
        self.piece.clear();
        let packet = TracePacket { compressed_packets: Some(compressed), ..TracePacket::default() };
        append(&mut self.whole, &packet);
    }

    /// The whole file.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.end_piece();
        self.whole
    }
}

fn append(to: &mut Vec<u8>, packet: &TracePacket) {
    to.push(PACKET_KEY);
    // Fails only where memory for the bytes is limited.
    let encoded = packet.encode_length_delimited(to);
    debug_assert!(encoded.is_ok());
}
