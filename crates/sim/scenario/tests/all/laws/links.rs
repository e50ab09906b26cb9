//! Bytes on the links of cards and SSDs: do they follow by hand from what was moved?

use super::cases;
use crate::random_scenarios::{Sketch, forwarder};
use model::device::nic::dma_counts::DmaCounts;
use model::device::nvme::NvmeCounters;
use model::device::{Device, DeviceId};
use model::root_complex::pcie_link::PcieLinkConfig;
use model::tracer::NoTrace;
use proptest::prelude::*;
use scenario::{Job, Scenario, builtin};
use units::{Id, Picos, RootPortId};

/// Headers and framing of a memory write or a read request, and of a completion with data (pcie-bench).
const REQUEST_HEADER: u64 = 24;
const COMPLETION_HEADER: u64 = 20;

/// TLPs of `bytes` bytes in `requests` requests of sizes that are not known, of up to `most` bytes each:
/// the fewest, and the most.
fn tlps(bytes: u64, requests: u64, most: u64) -> (u64, u64) {
    (bytes.div_ceil(most).max(requests), bytes / most + requests)
}

/// Bytes that a card moved in a while: payload, all else, and bytes on its link (up, down), which is configured
/// so; bytes of a packet that a buffer holds.
struct MovedByCard {
    payload: DmaCounts,
    control: DmaCounts,
    link: (u64, u64),
    config: PcieLinkConfig,
    buffer_bytes: u64,
}

fn moved_by_card(sketch: &Sketch, until_us: f64) -> MovedByCard {
    let mut machine = sketch.job(1).expect("it is not refused").machine(NoTrace);
    let mut reading = |us: f64| {
        machine.run_slice(u64::MAX, Picos::from_ns(1e3 * us), u64::MAX);
        let nic = machine.devices.iter_mut().find_map(Device::as_nic_mut).expect("it has a card");
        let (payload, control) = nic.moved();
        let attachment = machine.fabric.root_port(nic.root_port()).attachment();
        let link = attachment.link().expect("it has a link");
        (payload, control, link.total_bytes(), link.config().clone())
    };
    let (payload, control, link, config) = reading(0.2 * until_us);
    let after = reading(until_us);
    let link = (after.2.0 - link.0, after.2.1 - link.1);
    let (payload, control) = (after.0.since(payload), after.1.since(control));
    let card = machine.devices.iter().position(|device| device.as_nic().is_some());
    let pairs = machine.queues.nic_pairs(DeviceId(card.expect("it has a card") as u16));
    MovedByCard { payload, control, link, config, buffer_bytes: pairs[0].rx.buffer_bytes }
}

/// TLPs of a packet's `bytes` bytes, of up to `most` bytes each, requested by `request` bytes from each of
/// its buffers.
fn tlps_of_packet(bytes: u64, buffer_bytes: u64, request: u64, most: u64) -> u64 {
    let of_part =
        |part: u64| part / request * request.div_ceil(most) + (part % request).div_ceil(most);
    (bytes - 1) / buffer_bytes * of_part(buffer_bytes) + of_part((bytes - 1) % buffer_bytes + 1)
}

proptest! {
    #![proptest_config(cases(4, 12))]

    #[test]
    fn bytes_on_the_link_of_a_card_balance(sketch in forwarder(0)) {
        let mut sketch = sketch;
        sketch.tenants[0].retain(|(key, _)| key != "traffic.sizes");
        let MovedByCard { payload, control, link: (up, down), config: link, buffer_bytes } =
            moved_by_card(&sketch, 300.0);
        prop_assert!(payload.writes > 0 && control.writes > 0, "nothing arrived");
        // All packets are of one size, so that their headers follow by hand.
        let (mps, request) = (link.max_payload_bytes, link.max_read_request_bytes);
        let packet = sketch.get(0, "packet_bytes").unwrap_or("1500");
        let packet: u64 = packet.parse().expect("bytes are a whole number");
        let packets = payload.writes / packet.div_ceil(buffer_bytes);
        let each = payload.written_bytes / packets;
        prop_assert_eq!(each * packets, payload.written_bytes);
        let headers_of_writes = packets * tlps_of_packet(each, buffer_bytes, u64::MAX, mps);
        let headers = headers_of_writes + control.writes + payload.reads;
        let (least, most) = tlps(control.read_bytes, control.reads, request);
        let fixed = payload.written_bytes + control.written_bytes + REQUEST_HEADER * headers;
        let bounds = fixed + REQUEST_HEADER * least..=fixed + REQUEST_HEADER * most;
        prop_assert!(bounds.contains(&up), "{up} up, by hand {bounds:?}");
        let each_packet = tlps_of_packet(packet, buffer_bytes, request, mps);
        let headers = payload.read_bytes / packet * each_packet;
        let (least, most) = tlps(control.read_bytes, control.reads, mps);
        let fixed = payload.read_bytes + control.read_bytes + COMPLETION_HEADER * headers;
        let bounds = fixed + COMPLETION_HEADER * least..=fixed + COMPLETION_HEADER * most;
        prop_assert!(bounds.contains(&down), "{down} down, by hand {bounds:?}");
    }

    #[test]
    fn bytes_on_the_links_of_ssds_balance(
        pages in 0..6_u32, depth in 0..6_u32, ssds in 1..4_u32, reads in 0..=100_u32, together in 1..4_u32,
    ) {
        let text = format!(
            "platform = \"skylake-gold-6140\"\napplication = \"block-io\"\nssd = \"p4800x\"\n\
             cores = {ssds}\nblock_io.ssds = {ssds}\nblock_io.ssds_per_root_port = {together}\n\
             block_io.depth = {}\nblock_io.block_bytes = {}\nblock_io.read_percent = {reads}\n",
            1 << depth, 4096_u64 << pages,
        );
        let scenario = Scenario::read("a.toml", &text, &[]).expect("it is valid");
        let platform = builtin::platform("a.toml", "skylake-gold-6140").expect("it is built in");
        let job = Job::new("a.toml", scenario, platform, "", 1).expect("it is not refused");
        let mut machine = job.machine(NoTrace);
        machine.run_slice(u64::MAX, Picos::from_ns(1e6), u64::MAX);
        let of_ssd = |device: &Device<_>| match device {
            Device::Nvme(ssd) => Some(ssd.counters),
            Device::Nic(_) | Device::Dsa(_) | Device::Cbdma(_) => None,
        };
        let counted: Vec<NvmeCounters> = machine.devices.iter().filter_map(of_ssd).collect();
        let sum = |of: fn(&NvmeCounters) -> u64| counted.iter().map(of).sum::<u64>();
        let ports = ssds.div_ceil(together) as usize;
        let links = (0..ports).map(RootPortId::at).map(|port| {
            machine.fabric.root_port(port).attachment().link().expect("it has a link")
        });
        let config = links.clone().next().expect("there is one").config().clone();
        let (up, down) = links.fold((0, 0), |sum, link| {
            let (up, down) = link.total_bytes();
            (sum.0 + up, sum.1 + down)
        });
        // A command is 64 bytes and has a list of 8 bytes for each page behind the first if there are
        // more than two, a completion is 16 bytes.
        let pages = 1_u64 << pages;
        let list = if pages > 2 { 8 * (pages - 1) } else { 0 };
        let page_tlps = 4096_u64.div_ceil(config.max_payload_bytes);
        let (fetched, completed) = (sum(|it| it.fetched), sum(|it| it.completed));
        let (to_host, from_host) = (sum(|it| it.bytes_to_host) / 4096, sum(|it| it.bytes_from_host) / 4096);
        let requests = fetched * (1 + list.div_ceil(config.max_read_request_bytes))
            + from_host * 4096_u64.div_ceil(config.max_read_request_bytes);
        let page = 4096 + REQUEST_HEADER * page_tlps;
        let up_by_hand = to_host * page + completed * (16 + REQUEST_HEADER) + requests * REQUEST_HEADER;
        let lists = list + COMPLETION_HEADER * list.div_ceil(config.max_payload_bytes);
        let down_by_hand = fetched * (64 + COMPLETION_HEADER + lists)
            + from_host * (4096 + COMPLETION_HEADER * page_tlps);
        // The SSD does not count commands in flight, which have been sent and have not arrived.
        let in_flight = u64::from(ssds << depth) * (pages * page + 16 + REQUEST_HEADER);
        prop_assert!(fetched > 0 && (up_by_hand..=up_by_hand + in_flight).contains(&up), "{up}, by hand {up_by_hand}");
        prop_assert_eq!(down, down_by_hand);
    }
}
