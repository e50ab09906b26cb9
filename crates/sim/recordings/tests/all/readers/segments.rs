//! Segments of TCP come in the order of the file, and the way to its bytes does not matter.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use recordings::capture::{self, CaptureOptions, CutShort, Segments};

use super::file::OpenFile;
use super::pack;

/// Most bytes that are captured of a packet.
const MOST_PAYLOAD_BYTES: usize = 262_144;

/// Result of a file, and a hash of its segments.
type Read = (Result<Segments, String>, u64);

pub fn read(bytes: &[u8]) {
    let Some((choice, content)) = bytes.split_first() else { return };
    let cut_short = if choice & 1 == 0 { CutShort::Refused } else { CutShort::Read };
    let packed = pack::chosen(choice >> 4, content);
    let file = OpenFile::of_bytes(&packed);
    let read = read_file(&file, cut_short);
    assert_eq!(read_file(&file, cut_short), read, "read once more");
    if let Some(pipe) = OpenFile::piped(&packed) {
        assert_eq!(read_file(&pipe, cut_short), read, "from a pipe");
    }
    if packed != content && !pack::may_be_packed(content) {
        let plain = read_file(&OpenFile::of_bytes(content), cut_short);
        assert_eq!(read, plain, "packed and as it is");
    }
    let options = CaptureOptions { cut_short, scale_to_gbps: Some(1.0), ..Default::default() };
    if let Ok(recording) = capture::read(file.path(), &options) {
        let segments = read.0.expect("a capture that can be replayed has segments or none");
        assert_eq!(segments.packets, recording.packets.len() as u64);
        assert_eq!((segments.cut_in, segments.oddities), (recording.cut_in, recording.oddities));
        assert!(segments.segments == 0 || !recording.flows.is_empty());
    }
}

fn read_file(file: &OpenFile, cut_short: CutShort) -> Read {
    let mut hasher = DefaultHasher::new();
    let (mut last, mut count) = (0, 0);
    let result = capture::read_tcp(file.path(), cut_short, |segment| {
        assert!(segment.packet > last, "packets are numbered in order");
        assert!(segment.payload.len() <= MOST_PAYLOAD_BYTES);
        assert_eq!(segment.source.is_ipv4(), segment.destination.is_ipv4());
        (last, count) = (segment.packet, count + 1);
        let flags = (segment.is_syn, segment.is_fin, segment.is_reset);
        let ends = (segment.source, segment.destination);
        (segment.packet, ends, segment.sequence, flags, segment.payload).hash(&mut hasher);
    });
    if let Ok(segments) = &result {
        assert!(last <= segments.packets);
        assert_eq!(count, segments.segments);
    }
    (result.map_err(|error| error.fault.to_string()), hasher.finish())
}
