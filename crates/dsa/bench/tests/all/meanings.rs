//! Does a line of dsa-perf-micros mean here what it means there? Each line becomes the scenario that it asks
//! for, or is refused by the name of its option, with what to use instead.

use crate::measurements::{CORES, MODEL, answers, options, refusal};
use dsa_bench::model::scenario_of;
use dsa_bench::option_values::{OperandPlacement, WaitMethod};

/// The tool's samples for the bandwidth of a shared queue, and of batches.
const SHARED_QUEUE: &str = "-n128 -s4k -j -f -i1000 -k5-8 -w1 -zF,F -o3";
const BATCHES: &str = "-n512 -b4 -s4k -j -f -k5 -w1 -zF,F";

/// The scenario of a line on the model, as its text.
fn scenario(line: &str) -> String {
    let options = options(&format!("--on {MODEL} {line}"))
        .unwrap_or_else(|failure| panic!("{line}: {failure}"));
    let points = options.points().unwrap_or_else(|failure| panic!("{line}: {failure}"));
    scenario_of(&options, &points[0], "sapphire-rapids-56", options.by_cpu).expect("there is one")
}

/// Lines, with lines of their scenarios; one that begins with `!` is a key that the scenario does not have.
const SCENARIOS: [(&str, &[&str]); 27] = [
    // Asynchronous: all of -n in flight, up to the entries of the queue; -q sets the depth.
    ("", &["offload.depth = 32", "offload.batch = 1", "dsa.queues = 1", "cores = 1"]),
    ("-n8", &["offload.depth = 8", "offload.buffers = 8"]),
    ("-n128", &["offload.depth = 32", "offload.buffers = 128"]),
    ("-n128 --queue-entries 128", &["offload.depth = 128", "dsa.queue_entries = 128"]),
    ("-n128 -q1", &["offload.depth = 1"]),
    ("-n128 -q16", &["offload.depth = 16"]),
    ("-n1", &["offload.depth = 1"]),
    (
        SHARED_QUEUE,
        &[
            "offload.depth = 32",
            "offload.buffers = 128",
            "offload.transfer_bytes = 4096",
            "offload.cache_control = 1",
            "offload.data = \"flushed\"",
            "dsa.queue_mode = \"shared\"",
            "cores = 4",
            "dsa.queues = 1",
            "!offload.portal_addresses",
        ],
    ),
    (
        BATCHES,
        &["offload.depth = 32", "offload.batch = 4", "dsa.queue_mode = \"shared\"", "cores = 1"],
    ),
    // -c moves the address of the portal, and changes nothing else.
    ("-c", &["offload.portal_addresses = 64", "offload.depth = 32"]),
    ("-c -q1", &["offload.portal_addresses = 64", "offload.depth = 1"]),
    ("-s4k", &["!offload.portal_addresses", "offload.cache_control = 0"]),
    ("-c -w1", &["!offload.portal_addresses"]),
    ("-f", &["offload.cache_control = 1", "offload.depth = 32"]),
    ("--flags 0x100", &["offload.cache_control = 1"]),
    ("-v0", &["offload.depth = 32"]),
    ("-i -1 -T 10 -t4k", &["offload.transfer_bytes = 4096", "cores = 1"]),
    ("-l0", &["iommu = \"2M\""]),
    ("-l 1", &["iommu = \"1G\""]),
    ("-S1,0", &["offload.source_node = \"other-socket\"", "!offload.destination_node"]),
    ("-S 0,1", &["offload.destination_node = \"other-socket\"", "!offload.source_node"]),
    ("-x 0x100", &["offload.wait = \"umwait\"", "offload.cache_control = 0"]),
    ("-zD,D", &["offload.data = \"llc\"", "initial_content = \"empty\""]),
    ("-s 64K", &["offload.data = \"core\"", "!initial_content"]),
    ("-O 64,64", &["offload.offset_bytes = 64"]),
    ("-m -o3", &["offload.by = \"core\"", "!offload.depth"]),
    ("-o 0x10 -k5,7", &["offload.operation = \"crc\"", "cores = 2", "dsa.queues = 2"]),
];

#[test]
fn a_line_becomes_the_scenario_that_it_asks_for() {
    for (line, wanted) in SCENARIOS {
        let text = scenario(line);
        for wanted in wanted {
            match wanted.strip_prefix('!') {
                Some(key) => assert!(!text.contains(key), "{line}: {key} is in\n{text}"),
                None => assert!(
                    text.lines().any(|own| own == *wanted),
                    "{line}: {wanted} is not in\n{text}"
                ),
            }
        }
    }
}

#[test]
fn a_line_sets_what_only_this_machine_can_do() {
    let on_device =
        |line: &str| options(line).unwrap_or_else(|failure| panic!("{line}: {failure}"));
    let defaults = on_device("");
    assert!(defaults.descriptor.verify && !defaults.descriptor.drain);
    assert_eq!((defaults.rounds(), defaults.wait_method()), (Some(1000), WaitMethod::Poll));
    assert!(!on_device("-v0").descriptor.verify && on_device("-v1").descriptor.verify);
    assert_eq!(on_device("-x 0x80").wait_method(), WaitMethod::Pause);
    assert_eq!(on_device("-x 0x100").wait_method(), WaitMethod::Umwait);
    let prefetched = on_device("-zP,F").operands();
    assert_eq!(prefetched.source, OperandPlacement::Prefetched);
    assert_eq!(prefetched.destination, OperandPlacement::Flushed);
    assert!(on_device("-Y").descriptor.drain);
    assert_eq!(on_device("-i-1 -T 5").rounds(), None);
    assert_eq!(on_device("-T 5").rounds(), None);
    assert_eq!(on_device("-T 5 -i 7").rounds(), Some(7));
    let all = on_device("-t8k -W 3 -S0,1 -O1,3");
    assert_eq!((all.memory.stride, all.length.warm_up), (Some(8192), 3));
    assert_eq!(all.memory.nodes.map(|nodes| nodes.0), Some([0, 1]));
    assert_eq!(all.memory.offsets.0, [1, 3]);
    // None of these are threads.
    assert_eq!(all.points().expect("are valid")[0].threads, 1);
}

#[test]
fn what_is_not_built_is_refused_by_name_with_what_to_use() {
    let on = |target: &str, line: &str, words: &[&str]| {
        let refused = refusal(&format!("--on {target} {line}"));
        for word in words {
            assert!(refused.contains(word), "{line}: {word:?} is not in: {refused}");
        }
    };
    for (line, words) in [
        ("-u", &["-u:", "driver in user mode", "-x 0x100"][..]),
        ("-K 5@dsa0/wq0.0", &["-K 5@dsa0/wq0.0", "-k", "-w"]),
        ("-e 0", &["-e 0", "512 bytes"]),
        ("-y 1", &["-y 1", "-z P, D or F"]),
        ("-P 4", &["-P 4", "--threads"]),
        ("-F 0x8", &["-F 0x8", "--flags", "-f"]),
        ("-B 1", &["-B 1", "MMIO"]),
        ("-B", &["-B:", "MMIO"]),
        ("-i -1", &["-i -1", "-T SECONDS"]),
        ("-Y -n1", &["-n 1", "-Y", "-n 2"]),
        ("-t 1k -s4k", &["-t 1K", "overlap", "4096"]),
        ("-t 5000 -s4k", &["-t 5000", "multiples of 64"]),
        ("-t 4k -o dualcast -s4160", &["-t 4K", "multiples of 4096", "8192"]),
        ("-O 4 -o create-delta", &["-O 4,4", "multiples of 8"]),
    ] {
        on("cpu", line, words);
        on(MODEL, line, words);
    }
    for (line, words) in [
        ("-zP,P", &["-z or --operands prefetched,prefetched", "D,D or F,F"][..]),
        ("-zF,D", &["flushed,llc", "F,F"]),
        ("-x 0x80", &["-x 0x80", "without PAUSE", "0x100"]),
        ("-Y", &["-Y", MODEL, "device and software"]),
        ("-t 8k -s4k", &["-t 8K", "without gaps", "4096"]),
        ("-O 0,64", &["-O 0,64", "64,64"]),
        ("-O 1", &["-O 1,1", "multiples of 64"]),
        ("-S 2", &["-S 2", "--source-node cxl"]),
    ] {
        on(MODEL, line, words);
    }
    on(CORES, "-Y", &["-Y", CORES]);
    on("cpu", "-Y", &["-Y", "device and software"]);
    on("cpu -n1 -i1", "-S 63", &["-S 63", "allowed: "]);
}

#[test]
fn values_that_are_not_built_are_refused_with_their_bits_and_letters() {
    for (line, words) in [
        ("-x 1", &["'1'", "-x <MASK>", "IOTLB", "0x80"][..]),
        ("-x 0x3e", &["'0x3e'", "-x <MASK>", "rate of submissions", "-q"]),
        ("-zC,C", &["'C,C'", "-z <S,D>", "P (prefetch)"]),
        ("-zL,L", &["'L,L'", "-z <S,D>", "D (demote"]),
        ("-l 2M", &["'2M'", "-l", "0 (2 MiB) or 1 (1 GiB)", "--pages"]),
        ("-S a", &["'a'", "--nodes", "0 to 63"]),
        ("-v2", &["'2'", "--verify", "0 (off) or 1 (on)"]),
        ("-T 0", &["0", "--seconds"]),
        ("-O 4096", &["'4096'", "--offsets", "0 to 4095"]),
        ("-i 0", &["'0'", "--iterations", "-1 with -T"]),
        ("-x 0x100 --wait poll", &["--wait", "-x"]),
        ("-l0 --pages 1G", &["--pages", "-l"]),
        ("-S0 --source-node cxl", &["--source-node", "--nodes"]),
        ("-p 2M", &["-p"]),
    ] {
        let refused = match options(line) {
            Err(failure) => failure.to_string(),
            Ok(options) => panic!("{line}: {options:?}"),
        };
        for word in words {
            assert!(refused.contains(word), "{line}: {word:?} is not in: {refused}");
        }
    }
}

#[test]
fn by_default_and_with_the_samples_for_bandwidth_a_device_is_busy() {
    let rate = |line: &str| answers(&format!("--on {MODEL} {line}"))[0].gbytes_per_s;
    for line in ["", "-zF,F", SHARED_QUEUE, BATCHES] {
        let rate = rate(line);
        assert!((28.5..=31.5).contains(&rate), "{line}: {rate}");
    }
    assert!(rate("-q 1 -zF,F") < 5.0);
}

#[test]
fn a_line_of_one_descriptor_in_flight_ends_with_its_latency() {
    let options_of = |line: &str| options(line).expect("is valid");
    let line = format!("--on {MODEL} -zF,F");
    let printed = |line: &str| {
        let point = options_of(line).points().expect("are valid")[0];
        answers(line)[0].line(&point)
    };
    assert!(!printed(&line).contains("latency"), "{}", printed(&line));
    for alone in ["-q 1", "-n 1", "-q 1 -b 2"] {
        let line = format!("{line} {alone}");
        let answer = &answers(&line)[0];
        let text = printed(&line);
        let (_, cycles) = text.split_once(" latency(cycles) = ").expect(&text);
        let cycles: f64 = cycles.parse().expect("is a number");
        // The thread does little beside waiting.
        let latency_ns = answer.latency_p50_ns.expect("is known");
        let ns = cycles / answer.further["clock_ghz"];
        assert!((0.9..=1.25).contains(&(ns / latency_ns)), "{alone}: {ns} and {latency_ns} ns");
    }
    let on_cpu = printed("--on cpu -n 1 -i 2");
    assert!(!on_cpu.contains("latency"), "{on_cpu}");
}
