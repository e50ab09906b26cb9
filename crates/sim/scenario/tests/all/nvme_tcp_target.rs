//! The NVMe/TCP target: are requests conserved, what is sent, and what do digests cost?

use crate::job_of;
use crate::overload::{run_on, value};
use model::software::TargetCounts;
use model::tracer::NoTrace;
use scenario::result::Numbers;
use scenario::{Job, ScenarioMachine};
use soak::amount;
use units::Picos;
use workload::app::nvme_tcp_target::answer::TargetAnswer;

const PLATFORM: &str = "sapphire-rapids-56";
const SHORT: &str = "ssd = \"p4800x\"\nrx_descriptors = 512\n\
    run.batch_packets = 2400\nrun.min_batches = 10\nrun.max_batches = 10\n";

fn text(keys: &str) -> String {
    format!("application = \"nvme-tcp-target\"\n{SHORT}{keys}")
}

fn job(keys: &str) -> Result<Job, String> {
    let whole = format!("platform = \"{PLATFORM}\"\n{}", text(keys));
    job_of(&whole, 11).map_err(|error| error.to_string())
}

fn ran(keys: &str, segments: u64) -> ScenarioMachine<NoTrace> {
    let mut machine = job(keys).expect("it is not refused").machine(NoTrace);
    assert!(machine.run(segments, Picos::NEVER), "it goes on");
    machine
}

fn digest(by: &str) -> String {
    format!("nvme_tcp_target.digest = \"{by}\"\n")
}

/// Requests in = answered + in flight; every packet and every buffer of the pool is somewhere.
fn assert_conserved(
    machine: &ScenarioMachine<NoTrace>,
    answer: TargetAnswer,
    in_flight: u64,
    what: &str,
) {
    let nic = machine.devices[0].as_nic().expect("a NIC");
    let now = machine.now();
    let accounts: Vec<_> = machine.software.iter().map(|it| it.account(now)).collect();
    let sum = |of: fn(&model::software::Account) -> u64| accounts.iter().map(of).sum::<u64>();
    let rx = &nic.port.counters;
    assert_eq!(rx.dropped(), 0, "{what}");
    let initiators = nic.port.source().as_initiators().expect("requests are theirs");
    let outstanding = initiators.in_flight() as u64;
    assert_eq!(rx.offered_packets, initiators.answers() + outstanding, "{what}");
    assert!(outstanding <= in_flight, "{what}: {outstanding} of {in_flight} requests in flight");
    let taken = sum(|it| it.target.requests);
    let answered = sum(|it| it.work);
    assert!(answered >= initiators.answers() && taken >= answered, "{what}");
    assert!(taken - answered <= outstanding, "{what}: {taken} taken, {answered} answered");
    assert_eq!(sum(|it| it.target.answered_bytes), answered * answer.read_bytes, "{what}");
    // Segments that have left or are on their way belong to answers that are done, or to one of each core.
    let levels = machine.levels();
    let segments = nic.egress.packets + levels.packets_to_send as u64;
    let cores = machine.software.len() as u64;
    assert!(segments <= (answered + cores) * answer.segments(), "{what}: {segments}");
    let held: usize = accounts.iter().map(|it| it.packets_in_work + it.packets_in_ring).sum();
    let held = held + levels.buffers_posted + levels.packets_unseen;
    assert_eq!(accounts[0].buffers_free + held, 65_535, "{what}: packet buffers");
    assert_eq!(machine.check_invariants(), Ok(()), "{what}");
}

#[test]
fn requests_are_answered_or_in_flight_whoever_computes_digests() {
    let answer = TargetAnswer { read_bytes: 16 << 10, has_digest: true, mtu_bytes: 1500 };
    let plain = TargetAnswer { has_digest: false, ..answer };
    let large = TargetAnswer { read_bytes: 128 << 10, mtu_bytes: 9000, ..answer };
    let large_keys = "nvme_tcp_target.read_bytes = 131072\nnvme_tcp_target.mtu_bytes = 9000\n\
        nvme_tcp_target.order = \"sequential\"\n";
    let cases = [
        (String::new(), plain, 32),
        (digest("core"), answer, 32),
        (digest("dsa"), answer, 32),
        (format!("cores = 3\n{}{large_keys}", digest("dsa")), large, 32),
        (
            format!("{}nvme_tcp_target.digests = 1\ndsa.queue_entries = 1\n", digest("dsa")),
            answer,
            32,
        ),
        // Buffers for few answers, and a send queue for few segments.
        (
            format!("{}nvme_tcp_target.buffers = 32\ninternal_queue = 32\n", digest("core")),
            answer,
            32,
        ),
        (
            "cores = 2\nnvme_tcp_target.connections = 2\nnvme_tcp_target.depth = 200\n".into(),
            plain,
            400,
        ),
    ];
    for (keys, answer, in_flight) in cases {
        for segments in [1, 777, amount(6_000, 100_000)] {
            assert_conserved(&ran(&keys, segments), answer, in_flight, &keys);
        }
    }
}

#[test]
fn every_answer_has_its_data_and_a_digest_of_four_bytes() {
    for (by, has_digest) in [("none", false), ("core", true), ("dsa", true)] {
        let answer = TargetAnswer { read_bytes: 16 << 10, has_digest, mtu_bytes: 1500 };
        // One request at a time: every segment that has left belongs to an answer that has left, or the last.
        let one = "nvme_tcp_target.connections = 1\nnvme_tcp_target.depth = 1\n";
        let machine = ran(&format!("{}{one}", digest(by)), 50 * answer.segments());
        let egress = &machine.devices[0].as_nic().expect("a NIC").egress;
        assert_eq!(egress.bytes, 50 * answer.wire_bytes(), "{by}");
        assert_eq!(answer.wire_bytes(), 24 + 16_384 + 12 * 66 + if has_digest { 4 } else { 0 });
    }
}

/// Counts of the first core after so many segments.
fn counts(keys: &str, segments: u64) -> (TargetCounts, u64) {
    let machine = ran(keys, segments);
    let account = machine.software[0].account(machine.now());
    (account.target, account.work)
}

#[test]
fn the_core_spends_more_on_digests_than_engines_make_it_spend_and_nothing_without() {
    let per_answer = |by: &str| {
        let (counts, answers) = counts(&digest(by), 6_000);
        counts.digesting.as_ns() / answers as f64
    };
    let [none, core, dsa] = ["none", "core", "dsa"].map(per_answer);
    assert!(none < 1.0, "{none} ns without digests");
    // 256 lines of 8 cycles at 2 GHz, beside a call.
    assert!(core > 256.0 * 4.0, "{core} ns by the core");
    assert!(dsa > 100.0 && 2.0 * dsa < core, "{dsa} ns by engines, {core} ns by the core");
}

#[test]
fn a_busy_core_answers_more_reads_the_less_it_digests_and_answers_them_sooner() {
    let run = |by: &str| {
        let result = run_on(PLATFORM, &text(&digest(by)), 3);
        let Numbers::Parts(latency) = &result.metrics["latency_ns"].value else {
            panic!("has parts")
        };
        (value(&result, "target_reads_per_s"), latency["mean"])
    };
    let [(none, soon), (core, late), (dsa, between)] = ["none", "core", "dsa"].map(run);
    assert!(core < 0.95 * dsa && dsa < none, "{core} {dsa} {none} reads");
    assert!(soon < between && between < 0.95 * late, "{soon} {between} {late} ns");
    // A closed loop: requests in flight are rate times latency, the initiators' part included.
    for (rate, latency) in [(none, soon), (core, late), (dsa, between)] {
        let in_flight = rate * (latency + 20_000.0) * 1e-9;
        assert!((in_flight / 32.0 - 1.0).abs() < 0.05, "{in_flight} requests in flight");
    }
}

#[test]
fn the_wire_limits_many_cores_and_the_core_one() {
    // An answer counts when its last segment is handed over: batches are long for what queues hold.
    let large = "nvme_tcp_target.read_bytes = 131072\nnvme_tcp_target.ssds = 8\n\
        nvme_tcp_target.depth = 6\n";
    let rate = |cores: u32| {
        let keys = format!("cores = {cores}\n{large}");
        let text = text(&keys).replace("batch_packets = 2400", "batch_packets = 24000");
        value(&run_on(PLATFORM, &text, 3), "target_gbytes_per_s")
    };
    let (one, four) = (rate(1), rate(4));
    // 131,096 bytes in 91 segments with 90 bytes of headers, FCS, preamble and gap each.
    let wire = 12.5 * 131_072.0 / (131_096.0 + 91.0 * 90.0);
    assert!(four <= 1.001 * wire && four > 0.97 * wire, "{four} of {wire} GB/s");
    assert!(one < 0.9 * wire, "{one} GB/s by one core");
}

#[test]
fn impossible_targets_are_refused() {
    let cases = [
        ("nvme_tcp_target.read_bytes = 5000\n", "allowed: multiples of 4096 bytes"),
        ("nvme_tcp_target.ssds = 17\n", "allowed: 1 to 16"),
        ("nvme_tcp_target.mtu_bytes = 100\n", "allowed: 576 to 9000"),
        ("nvme_tcp_target.digests = 4\n", "answers have no digest"),
        ("nvme_tcp_target.digest = \"core\"\ndsa.engines = 2\n", "the cores compute digests"),
        (
            "cores = 5\nnvme_tcp_target.connections = 4\n",
            "allowed: 5 to 512 connections, one for each",
        ),
        ("nvme_tcp_target.depth = 300\n", "1023 of a core"),
        ("nvme_tcp_target.depth = 200\n", "allowed: 864 and more"),
        ("nvme_tcp_target.buffers = 8\n", "allowed: 32 to"),
        ("packet_bytes = 100\n", "initiators keep requests in flight"),
        ("flow_control = true\n", "initiators keep requests in flight"),
        ("placement.header_slices = 1\ncbdma.channels = 2\n", "uses no CBDMA"),
    ];
    for (keys, said) in cases {
        let refusal = job(keys).map(drop).expect_err(keys);
        assert!(refusal.contains(said), "{keys}: {refusal}");
    }
    let without = text("").replace("ssd = \"p4800x\"\n", "");
    let whole = format!("platform = \"{PLATFORM}\"\n{without}");
    let refusal = job_of(&whole, 11).expect_err("it has no SSD");
    assert!(refusal.to_string().contains("nvme-tcp-target needs a device"), "{refusal}");
    let elsewhere = text(&digest("core"));
    let refusal = job_of(&format!("platform = \"skylake-gold-6140\"\n{elsewhere}"), 11);
    let refusal = refusal.expect_err("the platform has no loops of a core").to_string();
    assert!(refusal.contains("`nvme_tcp_target.digest` = core: needs"), "{refusal}");
}
