//! A capture that is replayed: read as the keys of a tenant's traffic say, with its remarks for the result.

use super::check::{BUFFER_BYTES, check_is_chained};
use super::{Card, NicKeys, TrafficKeys};
use crate::contract::input::TenantInput;
use crate::contract::traffic::LONGEST_BATCH;
use crate::text::error::InputError;
use crate::text::files;
use recordings::capture::{
    CaptureError, CaptureOptions, CutShort, Oddities, Paced, RecordPosition, Recording,
};
use units::Picos;
use workload::traffic::{Capture, ReplayConfig, ReplaySpeed};

/// Hint of a refusal: how to replay a capture whose last record is not whole.
const CUT_SHORT_HINT: &str = "; traffic.cut_short = true replays the packets before it";

/// A capture and its replay, fully resolved.
#[derive(Clone, Debug)]
pub(crate) struct CapturePlan {
    pub(super) capture: Capture,
    pub(super) config: ReplayConfig,
    /// The longest time without a packet that was asked for.
    longest_gap: Picos,
    /// The record within which the file ends.
    cut_in: Option<RecordPosition>,
    /// Deviations of the file from its format.
    oddities: Oddities,
    /// How the times were changed.
    paced: Paced,
}

impl CapturePlan {
    /// Reads the capture at `path`.
    ///
    /// # Errors
    /// If the capture cannot be read, has a packet larger than a buffer, or is replayed for longer than
    /// simulated time lasts.
    pub(super) fn from_keys(
        input: &TenantInput<'_>,
        path: &str,
        card: &Card<'_>,
    ) -> Result<Self, InputError> {
        let traffic = &input.table::<NicKeys>().traffic;
        let recording = read(input.file, path, traffic)?;
        let Recording { options, packets, flows, reordered, cut_in, oddities, paced } = recording;
        let config = ReplayConfig {
            speed: match (paced.stretch, traffic.scale_to_gbps) {
                (Some(stretch), _) => ReplaySpeed::Stretched(stretch),
                (None, Some(gbps)) => ReplaySpeed::ScaledToGbps(gbps),
                (None, None) => ReplaySpeed::AsCaptured,
            },
            line_rate_gbps: card.nic.line_rate_gbps.value,
            loops: traffic.loops,
        };
        let capture = Capture::new(packets, flows, reordered);
        let longest_gap = options.longest_gap;
        let plan = Self { capture, config, longest_gap, cut_in, oddities, paced };
        plan.check_packets(input, path, card)?;
        plan.check_duration(input)?;
        Ok(plan)
    }

    /// Checks that a buffer holds the largest packet, or several do.
    fn check_packets(
        &self,
        input: &TenantInput<'_>,
        path: &str,
        card: &Card<'_>,
    ) -> Result<(), InputError> {
        let largest = self.capture.largest_frame_bytes().0;
        let fits = card.most_packet_bytes(input.table::<NicKeys>());
        if largest <= fits {
            return check_is_chained(input, card, largest);
        }
        Err(InputError::OutOfRange {
            file: input.file.into(),
            key: "traffic.pcap".into(),
            value: path.into(),
            allowed: format!(
                "its largest packet has {largest} bytes, buffers hold {fits}: raise buffer_bytes \
                 (up to {}) or set scatter, capture with segmentation offload off, or filter larger \
                 packets out",
                BUFFER_BYTES.1
            ),
        })
    }

    /// Checks that all loops end before simulated time does.
    fn check_duration(&self, input: &TenantInput<'_>) -> Result<(), InputError> {
        let loop_ps = self.config.loop_ps(&self.capture);
        let most_ps = Picos::LATEST.0 as f64;
        match self.config.loops {
            Some(loops) if loops as f64 * loop_ps >= most_ps => {
                let allowed = format!(
                    "allowed: up to {:.0}, as a loop takes {:.3} s and simulated time ends after 106 \
                     days; a smaller traffic.longest_gap_s shortens it",
                    (most_ps / loop_ps).floor(),
                    loop_ps / 1e12
                );
                Err(input.check.refuse("traffic.loops", &loops, allowed))
            }
            _ => Ok(()),
        }
    }

    /// Number of packets in all loops; `None` if loops have no limit.
    pub(super) fn packets_to_replay(&self) -> Option<u64> {
        self.config.loops.map(|loops| (self.capture.packet_count() * loops).max(1))
    }

    /// A remark for the result on the input: a capture that is cut short or deviates from its format, packets
    /// out of order, or idle times that are left out.
    pub(super) fn note(&self) -> Option<String> {
        let Self { capture, config, longest_gap, cut_in, oddities, paced } = self;
        let (reordered, all) = (capture.reordered(), capture.packet_count());
        let cut = cut_in.map(|position| {
            format!(
                "The capture is cut short in {position}; the {all} packets before it are replayed"
            )
        });
        let reordered = (reordered > 0).then(|| {
            format!(
                "{reordered} of the capture's {all} packets are stamped earlier than one before them; \
                 they are replayed in the order of their times"
            )
        });
        let odd = (!oddities.is_empty()).then(|| oddities.to_string());
        let idle = (paced.shortened > 0).then(|| {
            let times = if paced.shortened == 1 { "time" } else { "times" };
            let are = if paced.shortened == 1 { "is" } else { "are" };
            format!(
                "{} {times} without a packet {are} shortened to {} s (traffic.longest_gap_s)",
                paced.shortened,
                longest_gap.as_ns() / 1e9
            )
        });
        let unending = (config.loops.is_none() && paced.longest > LONGEST_BATCH).then(|| {
            format!(
                "The replay is up to {} s without a packet, and the run may end within such a time: \
                 traffic.loops = 1 replays all of the capture, traffic.longest_gap_s shortens the time",
                paced.longest.as_ns() / 1e9
            )
        });
        let notes: Vec<String> =
            [cut, reordered, odd, idle, unending].into_iter().flatten().collect();
        (!notes.is_empty()).then(|| notes.join(". "))
    }
}

/// Reads the capture at `path`, which `file`, the scenario, names, as the keys of its traffic say.
fn read(file: &str, path: &str, traffic: &TrafficKeys) -> Result<Recording, InputError> {
    let cut_short = traffic.cut_short;
    let options = CaptureOptions {
        cut_short: if cut_short { CutShort::Read } else { CutShort::Refused },
        scale_to_gbps: traffic.scale_to_gbps,
        longest_gap: Picos::from_ns(1e9 * traffic.longest_gap_s()),
    };
    let refused = |fault: CaptureError| {
        let is_way = fault.fault.is_cut_short() && !cut_short;
        let hint = if is_way { CUT_SHORT_HINT } else { "" };
        InputError::Capture { file: file.into(), fault, hint }
    };
    recordings::capture::read(files::beside(file, path), &options).map_err(refused)
}
