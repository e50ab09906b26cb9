//! The virtual switch: are packets conserved and in order, and who does the copies?

use crate::job_of;
use crate::overload::{run_on, value};
use model::tracer::NoTrace;
use scenario::{Job, ScenarioMachine};
use soak::amount;
use units::Picos;

const PLATFORM: &str = "sapphire-rapids-56";
const SHORT: &str = "run.batch_packets = 1024\nrun.min_batches = 10\nrun.max_batches = 10\n";

fn text(keys: &str) -> String {
    format!("application = \"vhost-switch\"\n{SHORT}{keys}")
}

fn job(keys: &str) -> Result<Job, String> {
    let whole = format!("platform = \"{PLATFORM}\"\n{}", text(keys));
    job_of(&whole, 11).map_err(|error| error.to_string())
}

fn ran(keys: &str, packets: u64) -> ScenarioMachine<NoTrace> {
    let mut machine = job(keys).expect("it is not refused").machine(NoTrace);
    assert!(machine.run(packets, Picos::NEVER), "it goes on");
    machine
}

/// Three queues with an engine each: bursts of either direction use all of them in turn.
const THREE_GROUPS: &str = "vhost_switch.by = \"dsa\"\nvhost_switch.queues = 3\n\
    dsa.groups = [{ engines = [0], queues = [{ entries = 16 }] }, \
    { engines = [1], queues = [{ entries = 16 }] }, \
    { engines = [2], queues = [{ entries = 16 }] }]\n";

/// Packets received = sent + dropped + in flight, and none arrives at the guest out of order.
fn assert_conserved(machine: &ScenarioMachine<NoTrace>, what: &str) {
    let nic = machine.devices[0].as_nic().expect("a NIC");
    let now = machine.now();
    let accounts: Vec<_> = machine.software.iter().map(|it| it.account(now)).collect();
    let dropped: u64 = accounts.iter().map(|it| it.packets_consumed).sum();
    assert_eq!(dropped, accounts.iter().map(|it| it.switch.dropped).sum::<u64>(), "{what}");
    let in_work: usize = accounts.iter().map(|it| it.packets_in_work).sum();
    let levels = machine.levels();
    let in_flight = in_work + levels.packets_unseen + levels.packets_to_send;
    let sent = nic.egress.packets;
    assert_eq!(nic.port.counters.packets, sent + dropped + in_flight as u64, "{what}");
    assert_eq!(accounts.iter().map(|it| it.switch.disordered).sum::<u64>(), 0, "{what}");
    assert_eq!(machine.check_invariants(), Ok(()), "{what}");
}

#[test]
fn packets_are_conserved_and_in_order_whoever_copies() {
    let random =
        "traffic.pattern = \"random\"\ntraffic.sizes = \"imix\"\ntraffic.arrivals = \"poisson\"\n";
    let cases = [
        "".to_owned(),
        "vhost_switch.guest_descriptors = 32\nrx_descriptors = 64\n".into(),
        "cores = 5\nvhost_switch.guest_cores = 2\n".into(),
        format!("{random}{THREE_GROUPS}"),
        format!(
            "{random}vhost_switch.by = \"dsa\"\ncores = 4\ndsa.queue_mode = \"shared\"\n\
             dsa.queue_entries = 2\ndsa.threshold = 1\n"
        ),
    ];
    for keys in cases {
        for packets in [1, 777, amount(6_000, 100_000)] {
            assert_conserved(&ran(&keys, packets), &keys);
        }
    }
}

#[test]
fn bursts_overtake_each_other_on_three_engines_and_the_guest_does_not_see_it() {
    // At a low load bursts have few packets and their sizes differ: a small one ends before a large one.
    let keys = format!(
        "traffic.pattern = \"random\"\ntraffic.sizes = \"imix\"\ntraffic.arrivals = \"poisson\"\n\
         offered_gbps = 5.0\n{THREE_GROUPS}"
    );
    let machine = ran(&keys, 10_000);
    let switch = machine.software[0].account(machine.now()).switch;
    assert!(switch.overtaking > 100, "{switch:?}");
    let guest = machine.software[1].account(machine.now()).switch;
    assert_eq!(guest.disordered, 0);
}

#[test]
fn engines_copy_what_the_core_copied_and_relieve_it() {
    let rate = |keys: &str| {
        let result = run_on(PLATFORM, &text(keys), 3);
        (value(&result, "tx_mpps"), value(&result, "switch_copying_percent"))
    };
    let large = "packet_bytes = 1500\noffered_gbps = 99.0\n";
    let (by_core, share) = rate(large);
    let (by_engines, none) = rate(&format!("{large}vhost_switch.by = \"dsa\"\n"));
    assert!(share > 30.0, "{share} % of the core's time are copies");
    assert!(none.abs() < 1e-9, "the core copies nothing: {none} %");
    assert!(by_engines > 1.1 * by_core, "{by_engines} by engines, {by_core} by the core");
}

#[test]
fn each_packet_is_copied_twice() {
    let machine = ran("packet_bytes = 700\n", 5_000);
    let account = machine.software[0].account(machine.now());
    let in_flight = account.packets_in_work as u64;
    let copies = account.copies.copies;
    let forwarded = account.work;
    assert!(copies >= 2 * forwarded && copies <= 2 * (forwarded + in_flight), "{account:?}");
    assert_eq!(account.copies.bytes, 700 * copies);
}

#[test]
fn impossible_switches_are_refused() {
    let cases = [
        ("cores = 1\n", "`cores` = 1: allowed: more than vhost_switch.guest_cores (1)"),
        ("cores = 3\nvhost_switch.guest_cores = 2\n", "no more than cores of the switch"),
        ("vhost_switch.guest_descriptors = 100\n", "allowed: 8, 16, 32, 64, 128, 256, 512, 1024"),
        ("vhost_switch.queues = 2\n", "the cores copy themselves"),
        ("vhost_switch.by = \"dsa\"\nvhost_switch.queues = 9\n", "allowed: 1 to 8"),
        ("vhost_switch.by = \"dsa\"\ncores = 4\n", "dsa.queue_mode = \"shared\""),
    ];
    for (keys, said) in cases {
        let refusal = job(keys).map(drop).expect_err(keys);
        assert!(refusal.contains(said), "{keys}: {refusal}");
    }
}
