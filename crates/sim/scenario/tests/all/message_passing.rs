//! Message passing: do messages arrive, at what cost, and what do engines change?

use crate::job_of;
use model::tracer::NoTrace;
use scenario::Job;
use units::Picos;

const PLATFORM: &str = "sapphire-rapids-56";

fn text(keys: &str) -> String {
    format!(
        "application = \"message-passing\"\n\
         run.batch_packets = 256\nrun.min_batches = 10\nrun.max_batches = 10\n{keys}"
    )
}

fn job(keys: &str) -> Result<Job, String> {
    let whole = format!("platform = \"{PLATFORM}\"\n{}", text(keys));
    job_of(&whole, 11).map_err(|error| error.to_string())
}

/// Messages, and bytes copied, of all ranks when so many messages have arrived.
fn copied(keys: &str, messages: u64) -> (u64, u64) {
    let mut machine = job(keys).expect("it is not refused").machine(NoTrace);
    assert!(machine.run(messages, Picos::NEVER), "it goes on");
    assert_eq!(machine.check_invariants(), Ok(()));
    let accounts = machine.software.iter().map(|it| it.account(machine.now()));
    accounts.fold((0, 0), |(work, bytes), it| (work + it.work, bytes + it.copies.bytes))
}

#[test]
fn a_message_is_copied_into_bounce_buffers_and_out_or_once_if_it_is_written_remotely() {
    const BYTES: u64 = 256 << 10;
    let size = format!("message_passing.message_bytes = {BYTES}\n");
    for by in ["core", "dsa"] {
        let keys = format!("{size}message_passing.by = \"{by}\"\n");
        let (messages, bytes) = copied(&keys, 40);
        let twice = 2 * BYTES * messages;
        assert!((twice..twice + 2 * BYTES).contains(&bytes), "{by}: {bytes} for {messages}");
        let remote = format!("{keys}message_passing.pattern = \"remote-write\"\n");
        let (messages, bytes) = copied(&remote, 40);
        assert!((BYTES * messages..BYTES * (messages + 2)).contains(&bytes), "{by}: {bytes}");
    }
}

#[test]
fn a_ring_of_n_ranks_moves_a_chunk_twice_n_minus_1_times() {
    const BYTES: u64 = 512 << 10;
    for ranks in [2, 4, 8] {
        let keys = format!(
            "cores = {ranks}\nmessage_passing.pattern = \"all-reduce\"\n\
             message_passing.message_bytes = {BYTES}\n"
        );
        // All ranks finish a reduction together, but for the steps that they may be apart.
        let (done, bytes) = copied(&keys, 10 * ranks);
        let of_each = 2 * 2 * (ranks - 1) * (BYTES / ranks);
        let expected = of_each * done;
        let apart = of_each * ranks;
        assert!(bytes >= expected && bytes <= expected + apart, "{ranks}: {bytes} {expected}");
    }
}

/// Simulated time until so many messages have arrived.
fn time(keys: &str, messages: u64) -> Picos {
    let mut machine = job(keys).expect("it is not refused").machine(NoTrace);
    assert!(machine.run(messages, Picos::NEVER), "it goes on");
    machine.now()
}

#[test]
fn engines_pass_large_messages_faster_and_small_ones_not() {
    let by_engines = "message_passing.by = \"dsa\"\ndsa.engines = 2\n";
    let large = "message_passing.message_bytes = 1048576\n";
    let (core, engines) = (time(large, 20), time(&format!("{large}{by_engines}"), 20));
    assert!(11 * engines.0 < 10 * core.0, "1 MiB: {core:?} by cores, {engines:?} by engines");
    let small = "message_passing.message_bytes = 256\n";
    let (core, engines) = (time(small, 200), time(&format!("{small}{by_engines}"), 200));
    assert!(engines > core, "256 B: {core:?} by cores, {engines:?} by engines");
}

#[test]
fn ranks_without_a_partner_and_broken_lines_are_refused() {
    let cases = [
        ("cores = 3\n", "allowed: even numbers, because ranks are paired"),
        ("cores = 1\nmessage_passing.pattern = \"all-reduce\"\n", "two and more ranks"),
        ("message_passing.message_bytes = 100\n", "multiples of a line of 64 bytes"),
        ("message_passing.depth = 4\n", "the cores copy themselves"),
        (
            "message_passing.pattern = \"remote-write\"\nmessage_passing.segments = 4\n",
            "remote writes need no bounce buffers",
        ),
    ];
    for (keys, said) in cases {
        let refusal = job(keys).map(drop).expect_err(keys);
        assert!(refusal.contains(said), "{keys}: {refusal}");
    }
}
