//! Ranges of scenario keys, and what does not go together.

use super::placement;
use super::{
    Application, ArrivalProcess, BlockIoKeys, CoRunnerKeys, InitialContent, IommuPages, MAIN,
    MemoryNode, Pattern, ProbeKeys, Protocol, RunKeys, Scenario, Tenant, TrafficKeys,
};
use crate::check::Check;
use crate::error::InputError;
use crate::platform::{InclusionName, PacketServer, Platform};
use model::device::nvme::rings::{MAX_BLOCK_BYTES, PAGE_BYTES};
use std::collections::BTreeSet;
use units::LINE_BYTES;
use workload::app::key_value;

/// Sockets that a machine has at most.
const SOCKETS: u32 = 2;

/// Checks every value of a scenario whose defaults are filled in.
pub(super) fn scenario(
    scenario: &Scenario,
    file: &str,
    platform: &Platform,
    servers: &[PacketServer<'_>],
) -> Result<(), InputError> {
    let check = Check { file };
    let machine = &scenario.machine;
    check.number("core_ghz", machine.core_ghz.unwrap_or(1.0), (0.1, 10.0))?;
    check.number("uncore_ghz", machine.uncore_ghz.unwrap_or(1.0), (0.1, 10.0))?;
    names(scenario, &check)?;
    tenant(&scenario.main, &check, platform, &servers[0])?;
    for (keys, server) in scenario.tenant.iter().zip(&servers[1..]) {
        let place = format!("{file}, tenant `{}`", keys.name);
        tenant(keys, &Check { file: &place }, platform, server)?;
    }
    for keys in &machine.co_runner {
        co_runner(keys, &check, platform)?;
    }
    cores(scenario, &check, platform)?;
    stores(scenario, &check)?;
    let tenants: Vec<&Tenant> = scenario.tenants().collect();
    placement::check_events(&machine.event, &tenants, &check, platform)?;
    run(&machine.run, &check)
}

fn tenant(
    tenant: &Tenant,
    check: &Check<'_>,
    platform: &Platform,
    server: &PacketServer<'_>,
) -> Result<(), InputError> {
    let cores = platform.cpu.cores.value;
    check.whole("cores", tenant.cores, (1, cores), "cores of the platform")?;
    let ways = platform.llc.ways.value;
    check.whole("ddio_ways", tenant.ddio_ways.unwrap_or(0), (0, ways), "ways of the LLC")?;
    check.whole("rng_calls", tenant.rng_calls, (0, 1_000_000), "calls")?;
    mask(check, "core_way_mask", tenant.core_way_mask.unwrap_or(1), ways)?;
    policies(tenant, check, platform)?;
    placement::check_tenant(tenant, check, platform)?;
    if tenant.application == Application::PingPong {
        ping_pong(tenant, check, platform, server)?;
    }
    application(tenant, check, platform)?;
    if tenant.application == Application::KeyValue {
        answers(tenant, check, server)?;
    }
    if tenant.application.uses_ssds() {
        block_io(&tenant.block_io, check, tenant.cores)?;
    }
    if tenant.application.uses_nic() {
        queues(tenant, check, server)?;
        pool(tenant, check, server)?;
        traffic(tenant, check, server)?;
    }
    Ok(())
}

/// Blocks are moved in pages of 4 KiB, and a list of all of them fits a page.
fn block_io(keys: &BlockIoKeys, check: &Check<'_>, cores: u32) -> Result<(), InputError> {
    let what = "SSDs, no more than cores: each has a job at least";
    check.whole("block_io.ssds", keys.ssds, (1, cores.min(16)), what)?;
    let together = keys.ssds_per_root_port;
    check.whole("block_io.ssds_per_root_port", together, (1, 16), "SSDs")?;
    let bytes = keys.block_bytes;
    check.whole("block_io.block_bytes", bytes, (PAGE_BYTES, MAX_BLOCK_BYTES), "bytes")?;
    if !bytes.is_multiple_of(PAGE_BYTES) {
        let allowed = format!("allowed: multiples of {PAGE_BYTES} bytes");
        return Err(check.refuse("block_io.block_bytes", &bytes, allowed));
    }
    check.whole("block_io.depth", keys.depth, (1, 1023), "I/Os in flight")?;
    check.whole("block_io.read_percent", keys.read_percent, (0, 100), "percent")?;
    let buffers = keys.buffers.unwrap_or(keys.depth);
    let what = "buffers, no fewer than block_io.depth";
    check.whole("block_io.buffers", buffers, (keys.depth, 1 << 16), what)?;
    let all = u64::from(buffers) * bytes;
    check.whole("block_io.buffers", all, (0, 8 << 30), "bytes of all buffers of a job")
}

/// Keys of the application, and the facts that it needs.
fn application(tenant: &Tenant, check: &Check<'_>, platform: &Platform) -> Result<(), InputError> {
    tenant.l3_forward.check(check)?;
    tenant.chain.check(check)?;
    tenant.key_value.check(check, platform)?;
    let plain = tenant.key_value.protocol == Protocol::Plain;
    if tenant.application == Application::KeyValue && plain {
        let facts = platform.applications.as_ref();
        if facts.is_none_or(|facts| facts.key_value_plain_cycles.is_none()) {
            let allowed = "needs a platform with applications.key_value_plain_cycles".into();
            return Err(check.refuse("key_value.protocol", &"plain", allowed));
        }
    }
    let filled = tenant.initial_content == InitialContent::StoreFilled;
    if filled && tenant.application != Application::KeyValue {
        let allowed = "only with application = \"key-value\"".into();
        return Err(check.refuse("initial_content", &"store-filled", allowed));
    }
    memory_kernel(tenant, check, platform)?;
    if tenant.application.needs_costs() && platform.applications.is_none() {
        let allowed = "needs a platform with an [applications] table";
        let name = serde_json::json!(tenant.application);
        return Err(check.refuse(
            "application",
            &name.as_str().unwrap_or_default(),
            allowed.into(),
        ));
    }
    Ok(())
}

/// A tenant that is a memory kernel says what it does; others are none.
fn memory_kernel(
    tenant: &Tenant,
    check: &Check<'_>,
    platform: &Platform,
) -> Result<(), InputError> {
    match &tenant.memory_kernel {
        Some(keys) => keys.check("memory_kernel", check, platform),
        None if tenant.application == Application::MemoryKernel => {
            let allowed = "needs a [memory_kernel] table with working_set_bytes".into();
            Err(check.refuse("application", &"memory-kernel", allowed))
        }
        None => Ok(()),
    }
}

/// An answer goes into the buffer that its request came in.
fn answers(
    tenant: &Tenant,
    check: &Check<'_>,
    server: &PacketServer<'_>,
) -> Result<(), InputError> {
    let most = server.software.buffer_data_bytes.value.saturating_sub(key_value::answer_bytes(0));
    let what = "bytes: an answer with its headers fits a packet buffer";
    check.whole("key_value.value_bytes", tenant.key_value.value_bytes, (1, most), what)
}

/// All stores together fit the simulated memory beside everything else.
fn stores(scenario: &Scenario, check: &Check<'_>) -> Result<(), InputError> {
    let with_store = scenario.tenants().filter(|tenant| tenant.application.has_store());
    let bytes: u64 = with_store.map(|tenant| tenant.key_value.shape(tenant.cores).bytes()).sum();
    let what = "bytes of all stores: lower key_value.items or key_value.value_bytes";
    check.whole("key_value.items", bytes, (0, super::key_value::MOST_BYTES), what)
}

/// Names go into the names of results.
fn names(scenario: &Scenario, check: &Check<'_>) -> Result<(), InputError> {
    let mut seen = BTreeSet::from([MAIN]);
    for (number, tenant) in scenario.tenant.iter().enumerate() {
        let key = format!("tenant.{number}.name");
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if tenant.name.is_empty() || !tenant.name.chars().all(plain) {
            let allowed = "allowed: letters, digits, - and _".into();
            return Err(check.refuse(&key, &tenant.name, allowed));
        }
        if !seen.insert(&tenant.name) {
            let allowed = "another tenant has this name; the top-level keys are `main`".into();
            return Err(check.refuse(&key, &tenant.name, allowed));
        }
    }
    Ok(())
}

/// The cores of each socket are enough for all that run there.
fn cores(scenario: &Scenario, check: &Check<'_>, platform: &Platform) -> Result<(), InputError> {
    let cores = platform.cpu.cores.value;
    for socket in 0..SOCKETS {
        let tenants = scenario.tenants().filter(|tenant| tenant.socket == socket);
        let used: u32 = tenants.map(|tenant| tenant.cores).sum();
        let beside = scenario.machine.co_runner.iter().filter(|keys| keys.socket == socket);
        let wanted: u32 = beside.map(|keys| keys.cores).sum();
        if used > cores {
            let allowed = format!(
                "all tenants of socket {socket} together; it has {cores} cores: lower `cores`"
            );
            return Err(check.refuse("cores", &used, allowed));
        }
        if used + wanted > cores {
            let left = cores - used;
            let allowed = format!("the tenants leave {left} of {cores} cores: lower `cores`");
            return Err(check.refuse("co_runner.cores", &wanted, allowed));
        }
    }
    Ok(())
}

/// Keys that only work with DDIO off, or with parts that the platform must have.
fn policies(tenant: &Tenant, check: &Check<'_>, platform: &Platform) -> Result<(), InputError> {
    if tenant.ddio_ways != Some(0) {
        let allowed = "only with ddio_ways = 0";
        for (key, on) in [
            ("ddio_keeps_descriptors", tenant.ddio_keeps_descriptors),
            ("evict_on_dma_read", tenant.evict_on_dma_read),
        ] {
            if on {
                return Err(check.refuse(key, &on, allowed.into()));
            }
        }
    }
    socket(check, "socket", tenant.socket, platform)?;
    socket(check, "nic_socket", tenant.nic_socket(), platform)?;
    if tenant.memory_node == MemoryNode::OtherSocket && platform.upi.is_none() {
        let allowed = "a second socket needs a platform with a [upi] table".into();
        return Err(check.refuse("memory_node", &"other-socket", allowed));
    }
    if tenant.memory_node == MemoryNode::Cxl && platform.cxl.is_none() {
        let allowed = "needs a platform with a [cxl] table".into();
        return Err(check.refuse("memory_node", &"cxl", allowed));
    }
    if tenant.iommu != IommuPages::Off && platform.iommu.is_none() {
        let allowed = "needs a platform with an [iommu] table".into();
        return Err(check.refuse("iommu", &"on", allowed));
    }
    Ok(())
}

/// One client waits for each answer of one core.
fn ping_pong(
    tenant: &Tenant,
    check: &Check<'_>,
    platform: &Platform,
    server: &PacketServer<'_>,
) -> Result<(), InputError> {
    let Some(facts) = &platform.ping_pong else {
        let allowed = "needs a platform with a [ping_pong] table".into();
        return Err(check.refuse("application", &"ping-pong", allowed));
    };
    let allowed = "core: there is one message in flight";
    check.whole("cores", tenant.cores, (1, 1), allowed)?;
    let keys = &tenant.ping_pong;
    check.whole("ping_pong.header_bytes", keys.header_bytes, (14, 1024), "bytes")?;
    let before = keys.header_bytes + facts.prefix_bytes.value;
    let most = server.software.buffer_data_bytes.value.saturating_sub(before);
    let least = facts.message_header_bytes.value.max(60u64.saturating_sub(keys.header_bytes));
    let what = "bytes: no less than the application's header, no more than a buffer holds";
    check.whole("ping_pong.message_bytes", keys.message_bytes, (least, most), what)?;
    if let Some(path) = &tenant.traffic.pcap {
        let allowed = "application ping-pong has a client of its own".into();
        return Err(check.refuse("traffic.pcap", path, allowed));
    }
    Ok(())
}

fn socket(
    check: &Check<'_>,
    key: &str,
    socket: u32,
    platform: &Platform,
) -> Result<(), InputError> {
    check.whole(key, socket, (0, SOCKETS - 1), "")?;
    if socket > 0 && platform.upi.is_none() {
        let allowed = "a second socket needs a platform with a [upi] table".into();
        return Err(check.refuse(key, &socket, allowed));
    }
    Ok(())
}

fn queues(tenant: &Tenant, check: &Check<'_>, server: &PacketServer<'_>) -> Result<(), InputError> {
    let rings: Vec<u32> = (3..=15).map(|bits| 1 << bits).collect();
    check.one_of("rx_descriptors", tenant.rx_descriptors, &rings)?;
    let fits = server.software.buffer_data_bytes.value;
    check.whole("packet_bytes", tenant.packet_bytes, (60, fits), "bytes that a buffer holds")?;
    let line_rate = server.nic.line_rate_gbps.value;
    if tenant.application.receives() && tenant.application != Application::PingPong {
        check.number("offered_gbps", tenant.offered_gbps, (1e-3, line_rate))?;
    }
    // A ring that never fills a completion would never be freed.
    let least = server.nic.tx_packets_per_completion.value.max(8);
    let rings: Vec<u32> = rings.into_iter().filter(|&ring| ring >= least).collect();
    check.one_of("tx_descriptors", tenant.tx_descriptors.unwrap_or(256), &rings)?;
    check.whole("internal_queue", tenant.internal_queue, (32, 65_536), "packets")?;
    check.whole("burst", tenant.burst, (1, 64), "packets")
}

fn mask(check: &Check<'_>, key: &str, mask: u32, ways: u32) -> Result<(), InputError> {
    let contiguous = mask != 0 && (mask >> mask.trailing_zeros()).wrapping_add(1).is_power_of_two();
    if contiguous && u64::from(mask) < 1 << ways {
        return Ok(());
    }
    let all = (1u64 << ways) - 1;
    let allowed = format!("allowed: 0x1 to {all:#x}, contiguous ways, as CAT requires");
    Err(check.refuse(key, &format!("{mask:#x}"), allowed))
}

/// The pool must fill every receive ring and cache, the bursts in work, and the sent packets that
/// no completion has reported yet; more in send rings and queues may run it dry for a while.
fn pool(tenant: &Tenant, check: &Check<'_>, server: &PacketServer<'_>) -> Result<(), InputError> {
    check.whole("pool_cache", tenant.pool_cache, (32, 512), "buffers, DPDK's own limit")?;
    let unreported = server.nic.tx_packets_per_completion.value;
    let cached = tenant.pool_cache + tenant.pool_cache / 2;
    let per_core = tenant.rx_descriptors + cached + 2 * tenant.burst + 2 * unreported;
    let least = u64::from(per_core) * u64::from(tenant.cores);
    let why = format!(
        "buffers; receive rings, pool caches, bursts and sends take {least}: lower rx_descriptors or \
         cores, or raise pool_buffers"
    );
    check.whole("pool_buffers", u64::from(tenant.pool_buffers), (least, 1 << 20), &why)
}

fn traffic(
    tenant: &Tenant,
    check: &Check<'_>,
    server: &PacketServer<'_>,
) -> Result<(), InputError> {
    let traffic = &tenant.traffic;
    check.whole("traffic.generator_threads", traffic.generator_threads, (1, 256), "threads")?;
    check.whole("traffic.flows", traffic.flows, (1, 1 << 20), "flows")?;
    check.whole("traffic.flow_rules", traffic.flow_rules, (0, 1 << 20), "rules")?;
    check.whole("traffic.train_packets", traffic.train_packets, (1, 1 << 20), "packets")?;
    check.whole("traffic.turn_packets", traffic.turn_packets, (1, 1 << 20), "packets")?;
    random_traffic(traffic, check)?;
    let line_rate = server.nic.line_rate_gbps.value;
    if let Some(gbps) = traffic.scale_to_gbps {
        if traffic.pcap.is_none() {
            let allowed = "only together with traffic.pcap; set offered_gbps for synthetic traffic";
            return Err(check.refuse("traffic.scale_to_gbps", &gbps, allowed.into()));
        }
        check.number("traffic.scale_to_gbps", gbps, (1e-3, line_rate))?;
    }
    match traffic.loops {
        Some(loops) if traffic.pcap.is_none() => {
            let allowed = "only together with traffic.pcap";
            Err(check.refuse("traffic.loops", &loops, allowed.into()))
        }
        Some(loops) => check.whole("traffic.loops", loops, (1, 1_000_000), "loops"),
        None => Ok(()),
    }
}

/// Keys that only random traffic has.
fn random_traffic(traffic: &TrafficKeys, check: &Check<'_>) -> Result<(), InputError> {
    let stated = [
        ("traffic.sizes", traffic.sizes.is_some()),
        ("traffic.arrivals", traffic.arrivals.is_some()),
        ("traffic.burst_packets", traffic.burst_packets.is_some()),
        ("traffic.flow_zipf", traffic.flow_zipf.is_some()),
    ];
    for (key, is_stated) in stated {
        if is_stated && traffic.pattern != Pattern::Random {
            let allowed = "only with traffic.pattern = \"random\"";
            return Err(check.refuse(key, &"stated", allowed.into()));
        }
    }
    if let Some(packets) = traffic.burst_packets {
        if traffic.arrivals != Some(ArrivalProcess::OnOff) {
            let allowed = "only with traffic.arrivals = \"on-off\"";
            return Err(check.refuse("traffic.burst_packets", &packets, allowed.into()));
        }
        check.whole("traffic.burst_packets", packets, (1, 1 << 20), "packets")?;
    }
    check.number("traffic.flow_zipf", traffic.flow_zipf.unwrap_or(0.0), (0.0, 4.0))
}

fn co_runner(
    keys: &CoRunnerKeys,
    check: &Check<'_>,
    platform: &Platform,
) -> Result<(), InputError> {
    check.whole("co_runner.cores", keys.cores, (1, platform.cpu.cores.value), "cores")?;
    socket(check, "co_runner.socket", keys.socket, platform)?;
    keys.kernel.check("co_runner", check, platform)?;
    check.whole("co_runner.mba_percent", keys.mba_percent, (10, 100), "percent")?;
    keys.probe.as_ref().map_or(Ok(()), |probe| self::probe(keys, probe, check, platform))?;
    let ways = platform.llc.ways.value;
    mask(check, "co_runner.way_mask", keys.way_mask.unwrap_or(1), ways)
}

fn probe(
    keys: &CoRunnerKeys,
    probe: &ProbeKeys,
    check: &Check<'_>,
    platform: &Platform,
) -> Result<(), InputError> {
    if keys.kernel.slice_choice().is_some() {
        let allowed = "only without co_runner.slices and co_runner.nearest_slices";
        return Err(check.refuse("co_runner.probe", &"set", allowed.into()));
    }
    let llc = &platform.llc;
    if llc.inclusion.value != InclusionName::Inclusive {
        let allowed = "a platform with an inclusive LLC: what a core loads does not reach others";
        return Err(check.refuse("co_runner.probe", &"set", allowed.into()));
    }
    let sets = llc.slices.value * llc.sets_per_slice.value;
    check.whole("co_runner.probe.watched_sets", probe.watched_sets, (1, sets), "sets")?;
    check.number("co_runner.probe.wait_us", probe.wait_us, (0.1, 1e6))?;
    let least = 2 * u64::from(sets) * u64::from(llc.ways.value) * LINE_BYTES;
    let what = "bytes, twice the LLC: every set needs as many lines as ways";
    let bytes = keys.kernel.working_set_bytes;
    check.whole("co_runner.working_set_bytes", bytes, (least, 4 << 30), what)
}

fn run(run: &RunKeys, check: &Check<'_>) -> Result<(), InputError> {
    check.whole("run.batch_packets", run.batch_packets, (256, 1 << 24), "packets")?;
    check.whole("run.min_batches", run.min_batches, (10, 1000), "batches")?;
    let what = "batches, no fewer than run.min_batches";
    check.whole("run.max_batches", run.max_batches, (run.min_batches, 1000), what)?;
    let points = run.hit_rate_interval_points;
    check.number("run.hit_rate_interval_points", points, (1e-3, 100.0))?;
    let percent = run.throughput_interval_percent;
    check.number("run.throughput_interval_percent", percent, (1e-3, 100.0))
}
