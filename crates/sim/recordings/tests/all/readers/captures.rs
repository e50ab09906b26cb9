//! A capture is refused, or has frames in order that can be replayed; the way to its bytes does not matter.

use std::collections::BTreeSet;

use recordings::capture::{self, CaptureOptions, CutShort, Oddities, Paced, RecordPosition};
use units::{CapturedPacket, FlowTuple, Picos};

use super::file::OpenFile;
use super::pack;

/// Ethernet's least frame without its FCS, and the longest that a length of 32 bits can state.
const LEAST_FRAME_BYTES: u64 = 60;
const MOST_FRAME_BYTES: u64 = u32::MAX as u64 + 14;

/// All that is known of a capture that was read.
#[derive(Debug, PartialEq)]
struct Read {
    packets: Vec<CapturedPacket>,
    flows: Vec<FlowTuple>,
    reordered: u64,
    cut_in: Option<RecordPosition>,
    oddities: Oddities,
    paced: Paced,
}

pub fn read(bytes: &[u8]) {
    let Some((choice, content)) = bytes.split_first() else { return };
    let options = options(*choice);
    let packed = pack::chosen(choice >> 4, content);
    let file = OpenFile::of_bytes(&packed);
    let (read, is_cut_short) = read_file(&file, &options);
    assert_eq!(read_file(&file, &options).0, read, "read once more");
    if let Some(pipe) = OpenFile::piped(&packed) {
        assert_eq!(read_file(&pipe, &options).0, read, "from a pipe");
    }
    if packed != content && !pack::may_be_packed(content) {
        let plain = read_file(&OpenFile::of_bytes(content), &options).0;
        assert_eq!(read, plain, "packed and as it is");
    }
    check_cut_short(&file, &options, &read, is_cut_short);
    if let Ok(read) = &read {
        check(read, &options);
    }
}

fn options(choice: u8) -> CaptureOptions {
    CaptureOptions {
        cut_short: if choice & 1 == 0 { CutShort::Refused } else { CutShort::Read },
        scale_to_gbps: [None, Some(0.001), Some(40.0), None][usize::from(choice >> 1 & 3)],
        longest_gap: match choice & 8 {
            0 => CaptureOptions::default().longest_gap,
            _ => Picos(u64::MAX / 2),
        },
    }
}

/// The recording, or the fault's words; and whether the fault is one that [`CutShort::Read`] allows.
fn read_file(file: &OpenFile, options: &CaptureOptions) -> (Result<Read, String>, bool) {
    match capture::read(file.path(), options) {
        Ok(it) => {
            let read = Read {
                packets: it.packets,
                flows: it.flows,
                reordered: it.reordered,
                cut_in: it.cut_in,
                oddities: it.oddities,
                paced: it.paced,
            };
            (Ok(read), false)
        }
        Err(error) => (Err(error.fault.to_string()), error.fault.is_cut_short()),
    }
}

fn check(read: &Read, options: &CaptureOptions) {
    let Read { packets, flows, reordered, oddities, paced, .. } = read;
    assert_eq!(packets[0].since_start, Picos::ZERO);
    assert!(packets.is_sorted_by_key(|packet| packet.since_start));
    let last = packets.last().map(|packet| packet.since_start);
    assert!(options.scale_to_gbps.is_some() || last < Some(Picos::LATEST), "{last:?}");
    let sizes = LEAST_FRAME_BYTES..=MOST_FRAME_BYTES;
    assert!(packets.iter().all(|packet| sizes.contains(&packet.frame_bytes.0)));
    assert!(*reordered < packets.len() as u64);
    assert!(paced.shortened < packets.len() as u64);
    assert!(paced.stretch.is_none_or(|stretch| stretch.is_finite() && stretch > 0.0), "{paced:?}");
    assert_eq!(oddities.unsupported_link.is_some(), oddities.left_out > 0);
    let used: BTreeSet<usize> = packets.iter().filter_map(|packet| packet.flow).collect();
    assert!(used.iter().copied().eq(0..flows.len()), "each flow is of a packet");
    let different: BTreeSet<String> = flows.iter().map(|flow| format!("{flow:?}")).collect();
    assert_eq!(different.len(), flows.len(), "flows are listed once");
}

/// A file that is read completely is so whether or not it may be cut short; one that is refused for its end
/// alone is read up to there.
fn check_cut_short(
    file: &OpenFile,
    options: &CaptureOptions,
    read: &Result<Read, String>,
    is_cut_short: bool,
) {
    let other = match options.cut_short {
        CutShort::Refused => CutShort::Read,
        CutShort::Read => CutShort::Refused,
    };
    let (other_read, other_is_cut_short) =
        read_file(file, &CaptureOptions { cut_short: other, ..*options });
    let (refused, is_cut_short, part) = match other {
        CutShort::Read => (read, is_cut_short, &other_read),
        CutShort::Refused => (&other_read, other_is_cut_short, read),
    };
    match (refused, part) {
        (Ok(_), _) => assert_eq!(part, refused),
        (Err(_), Ok(part)) => assert!(is_cut_short && part.cut_in.is_some()),
        (Err(_), Err(_)) => {}
    }
}
