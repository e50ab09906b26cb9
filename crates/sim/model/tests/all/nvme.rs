//! The controller of an SSD under arbitrary postings: is every command completed once, on its own
//! queue, after its data, and every line moved once?

use crate::small_fabric;
use model::device::DeviceKind;
use model::device::nvme::NvmeConfig;
use model::device::nvme::controller::NvmeController;
use model::device::nvme::media::MediaConfig;
use model::device::nvme::rings::{
    COMPLETION_BYTES, Command, NvmeQueuePair, NvmeSubmission, Opcode, PAGE_BYTES, PAGE_LINES,
    SUBMISSION_BYTES, phase_of,
};
use model::device::ring::Ring;
use model::fabric::Fabric;
use model::root_complex::attachment::AttachmentConfig;
use model::root_complex::ddio::Ddio;
use model::root_complex::pcie_link::PcieLinkConfig;
use model::tracer::NoTrace;
use proptest::prelude::*;
use std::collections::VecDeque;
use units::{GbitPerSec, LINE_BYTES, LineAddr, Picos, RootPortId};

/// Entries of each queue: few, so that the rings wrap around often.
const ENTRIES: u32 = 8;
/// First line of the blocks, far from the queues.
const DATA: LineAddr = LineAddr(1 << 20);
const LISTS: LineAddr = LineAddr(1 << 16);

fn ssd(units: u32, media_pages: u64, buffer_pages: u64, data_reads: u32) -> NvmeConfig {
    NvmeConfig {
        command: Picos(300_000),
        commands: 5,
        buffer_bytes: buffer_pages.max(media_pages) * PAGE_BYTES,
        data_reads,
        media: MediaConfig {
            units,
            page_bytes: media_pages * PAGE_BYTES,
            read: Picos(3_000_000),
            read_spread: Picos(1_000_000),
            write: Picos(2_000_000),
            read_rate: GbitPerSec(19.2),
            write_rate: GbitPerSec(16.0),
        },
    }
}

fn pair(number: u64) -> NvmeQueuePair {
    let ring = |line, entry_bytes| Ring { first: LineAddr(line), entries: ENTRIES, entry_bytes };
    NvmeQueuePair {
        submissions: ring(number * 64, SUBMISSION_BYTES),
        completions: ring(number * 64 + 32, COMPLETION_BYTES),
        posted: VecDeque::new(),
        completed: VecDeque::new(),
    }
}

/// A driver's request: queue, write or read, first page, pages, time.
type Wish = (usize, bool, u64, u64, u64);

/// Posts `wishes` as fast as the queues take them and runs until all are done; returns the commands in
/// the order of completion, as (queue, number, when visible).
fn run(
    fabric: &mut Fabric,
    controller: &mut NvmeController,
    queues: usize,
    wishes: &[Wish],
) -> Vec<(usize, u16, Picos)> {
    let mut pairs: Vec<NvmeQueuePair> = (0..queues as u64).map(pair).collect();
    let mut submitted = vec![0u64; queues];
    let mut reaped = vec![0u64; queues];
    let mut done = Vec::new();
    let mut next = 0;
    let mut now = Picos::ZERO;
    loop {
        while let Some(&(queue, write, first_page, pages, delay)) = wishes.get(next)
            && submitted[queue] - reaped[queue] < u64::from(ENTRIES) - 1
        {
            let id = next as u64;
            let page = |i| DATA.step((id * 64 + i) * PAGE_LINES);
            let command = Command {
                id: id as u16,
                opcode: if write { Opcode::Write } else { Opcode::Read },
                first_page,
                pages: (0..pages).map(page).collect(),
                prp_list: LISTS.step(id * PAGE_LINES),
            };
            let visible = now + Picos(delay);
            // Doorbells of a queue become visible in order.
            let visible = pairs[queue].posted.back().map_or(visible, |s| s.visible.max(visible));
            pairs[queue].posted.push_back(NvmeSubmission {
                visible,
                entry: submitted[queue],
                command,
            });
            submitted[queue] += 1;
            next += 1;
        }
        let wake = controller.next_wake(0, &pairs, now);
        assert!(wake >= now);
        if wake == Picos::NEVER {
            assert!(next == wishes.len(), "nothing goes on with commands left");
            return done;
        }
        now = wake;
        let stepped = controller.step(0, fabric, &mut pairs, now, Picos::NEVER);
        let Some((queue, visible)) = stepped.visible else { continue };
        assert!(visible >= now);
        let completion = pairs[queue].completed.pop_front().expect("it was reported");
        assert_eq!(completion.visible, visible);
        assert_eq!(completion.phase, phase_of(&pairs[queue].completions, reaped[queue]));
        reaped[queue] += 1;
        done.push((queue, completion.id, visible));
    }
}

fn wishes() -> impl Strategy<Value = Vec<Wish>> {
    prop::collection::vec((0..3usize, any::<bool>(), 0..1000u64, 1..40u64, 0..5_000_000u64), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(soak::amount(64, 1_000)))]

    #[test]
    fn every_command_ends_once_on_its_queue_and_every_line_moves_once(
        wishes in wishes(),
        units in 1..9u32,
        media_pages in prop::sample::select(vec![1u64, 4, 16]),
        buffer_pages in 1..20u64,
        data_reads in 1..9u32,
        ddio in any::<bool>(),
    ) {
        let mut config = small_fabric::config();
        if !ddio {
            config.ports[0].policy.payload = Ddio::Off;
            config.ports[0].policy.descriptors = Ddio::Off;
        }
        let mut fabric = Fabric::new(&config, NoTrace);
        let config = ssd(units, media_pages, buffer_pages, data_reads);
        let mut controller = NvmeController::new(RootPortId(0), config, 3, 1);
        let done = run(&mut fabric, &mut controller, 3, &wishes);
        let mut ended: Vec<(usize, u16)> = done.iter().map(|&(queue, id, _)| (queue, id)).collect();
        ended.sort_by_key(|&(_, id)| id);
        let posted: Vec<(usize, u16)> = wishes.iter().zip(0..).map(|(w, id)| (w.0, id)).collect();
        prop_assert_eq!(ended, posted);
        prop_assert_eq!(controller.commands_in_work(), 0);
        let pages = |writes| -> u64 {
            wishes.iter().filter(|wish| wish.1 == writes).map(|wish| wish.3).sum()
        };
        let counters = fabric.counters();
        let written = counters.pcie_write_hits + counters.pcie_write_misses;
        prop_assert_eq!(written, pages(false) * PAGE_LINES);
        prop_assert_eq!(controller.counters.bytes_to_host, pages(false) * PAGE_BYTES);
        let lists = wishes.iter().map(|wish| Command::prp_list_bytes(wish.3).div_ceil(LINE_BYTES));
        let commands = wishes.len() as u64 + lists.sum::<u64>();
        let read = counters.pcie_read_hits + counters.pcie_read_misses;
        prop_assert_eq!(read, pages(true) * PAGE_LINES + commands);
        let partial = counters.pcie_partial_write_hits + counters.pcie_partial_write_misses;
        prop_assert_eq!(partial, wishes.len() as u64);
        fabric.check_invariants().expect("hold");
    }
}

fn latency(pages: u64, write: bool) -> f64 {
    let mut fabric = Fabric::new(&small_fabric::config(), NoTrace);
    let mut config = ssd(64, 1, 64, 8);
    config.media.read_spread = Picos::ZERO;
    let mut controller = NvmeController::new(RootPortId(0), config, 1, 1);
    let done = run(&mut fabric, &mut controller, 1, &[(0, write, 0, pages, 0)]);
    done[0].2.as_ns()
}

#[test]
fn a_block_takes_one_access_of_the_media_and_its_time_on_the_bus() {
    // 4 KiB at 2.4 GB/s.
    let page_ns = 4096.0 / 2.4;
    let one = latency(1, false);
    assert!(one > 3_000.0 + 300.0 + page_ns && one < 3_300.0 + page_ns + 2_500.0, "{one}");
    // Thirty-two units read at a time: only the bus takes longer, and a fetch of the PRP list from
    // memory, which a refresh may delay by 350 ns.
    let more = latency(32, false) - one - 31.0 * page_ns;
    assert!(more > 100.0 && more < 1_000.0, "{more}");
}

#[test]
fn reads_and_writes_share_the_bus() {
    let mut fabric = Fabric::new(&small_fabric::config(), NoTrace);
    let mut controller = NvmeController::new(RootPortId(0), ssd(64, 1, 64, 8), 1, 1);
    let wishes: Vec<Wish> = (0..100).map(|i| (0, i % 2 == 0, i * 32, 32, 0)).collect();
    let done = run(&mut fabric, &mut controller, 1, &wishes);
    let seconds = done.iter().map(|done| done.2).max().unwrap_or_default().as_seconds();
    let expected = 50.0 * 32.0 * 4096.0 * (1.0 / 2.4e9 + 1.0 / 2.0e9);
    // The first access and the last transfer are not overlapped.
    assert!(seconds > expected && seconds < 1.02 * expected + 20e-6, "{seconds}, {expected}");
}

#[test]
fn a_shared_link_holds_its_ssd_back_and_not_the_simulation() {
    let mut config = small_fabric::config();
    let link = PcieLinkConfig { lanes: 1, ..small_fabric::link() };
    config.ports[0].attachment = AttachmentConfig::Pcie(link.clone());
    let mut fabric = Fabric::new(&config, NoTrace);
    let mut controller = NvmeController::new(RootPortId(0), ssd(64, 1, 8, 8), 1, 1);
    let wishes: Vec<Wish> = (0..50).map(|i| (0, false, i * 32, 32, 0)).collect();
    let done = run(&mut fabric, &mut controller, 1, &wishes);
    let seconds = done.iter().map(|done| done.2).max().unwrap_or_default().as_seconds();
    let bytes = 50 * 32 * 4096;
    let expected = link.write_bytes(bytes) as f64 * 8.0 / (link.tlp_gbps() * 1e9);
    assert!(seconds > expected && seconds < 1.03 * expected + 20e-6, "{seconds}, {expected}");
}
