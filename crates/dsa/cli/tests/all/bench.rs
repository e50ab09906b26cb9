//! `skipline-dsa bench` and `tune` as processes: the device in software, exit codes, files. What the model
//! says, and what each option refuses, is in the tests of `dsa-bench`.

use crate::runs::{Place, ended};

/// The answers of a file of `bench --json`, of one point.
fn answers(place: &Place, file: &str) -> serde_json::Value {
    let text = std::fs::read_to_string(place.path().join(file)).expect("is written");
    let document: serde_json::Value = serde_json::from_str(&text).expect("is JSON");
    document["points"][0]["answers"].clone()
}

/// One process asks three targets by one command line.
#[test]
fn dsa_28_one_command_line_asks_the_device_in_software_the_cpu_and_the_model() {
    let place = Place::new();
    let line = "bench --on software,cpu,model:sapphire-rapids-56 -n8 -s4k -j -c -f -i5 -w0 -o3 -v1 --phases \
                --json a.json --plot a.svg";
    let words: Vec<&str> = line.split_whitespace().collect();
    let out = ended(&mut place.command(&words)).with(0);
    let heads: Vec<&str> = out.lines().take(3).collect();
    for (target, owner) in [
        ("software", "this machine's CPUs as devices"),
        ("cpu", "this machine's CPUs"),
        ("model:sapphire-rapids-56", "engines of a simulated sapphire-rapids-56"),
    ] {
        assert!(heads[0].contains(target) && heads[1].contains(owner), "{out}");
        assert_eq!(heads[2].matches("GB/s  cpu %").count(), 3, "{out}");
        let answer = &answers(&place, "a.json")[target];
        assert!(
            answer["gbytes_per_s"].as_f64().is_some_and(|rate| rate > 0.0),
            "{target}: {answer}"
        );
    }
    let software = &answers(&place, "a.json")["software"];
    assert_eq!(software["operations"], 40);
    // A device in software may be done before it is waited for, the modelled one never is.
    for (target, phases) in [
        ("software", &["allocate", "prepare", "submit"][..]),
        ("cpu", &["work"]),
        ("model:sapphire-rapids-56", &["allocate", "prepare", "submit", "wait"]),
    ] {
        let answer = &answers(&place, "a.json")[target];
        let took = |phase: &str| answer["phases_ns"][phase].as_f64();
        assert!(phases.iter().all(|phase| took(phase) > Some(0.0)), "{target}: {answer}");
        assert!(took("wait") >= Some(0.0), "{target}: {answer}");
    }
    let picture = std::fs::read_to_string(place.path().join("a.svg")).expect("is written");
    assert!(picture.starts_with("<svg") && picture.contains(">software</text>"), "{picture}");
    assert_eq!(place.left(), [""; 0]);
}

#[test]
fn each_operation_of_each_kind_of_queue_leaves_what_the_cpu_does() {
    let place = Place::new();
    // One run with both kinds of queues: the device is found, and not started for each operation.
    let script = "for w in '0 -c -f -Y -x 0x80 -O 8,64 -t 64K' '1 -z F,F'; do \
                  for o in no-op copy fill compare compare-pattern create-delta apply-delta \
                  dualcast crc copy-crc dif-check dif-insert dif-strip dif-update cache-flush; do \
                  \"$0\" bench --quiet -w $w -o $o -s 4K -n 3 -b 1,2 -i 2 -v 1 || exit 1; done; done";
    let command = crate::runs::command().to_str().expect("is text");
    let out = place.run(&["--quiet", "--part", "generous"], &["sh", "-c", script, command]).with(0);
    assert_eq!(out.lines().filter(|line| line.starts_with("GB per sec = ")).count(), 60, "{out}");
}

#[test]
fn a_descriptor_that_fails_ends_the_measurement_with_its_status_in_words() {
    let place = Place::new();
    let plan = "seed = 1\npage_faults.rate = 1.0\n";
    std::fs::write(place.path().join("plan.toml"), plan).expect("is written");
    let command = crate::runs::command().to_str().expect("is text");
    let bench = [command, "bench", "-i", "2", "-n", "2"];
    let ended = place.run(&["--quiet", "--inject", "plan.toml"], &bench);
    assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""), "{ended:?}");
    for word in ["wq0.0", "memory move", "status 0x", "a page is not present"] {
        assert!(ended.errors.contains(word), "{word}: {ended:?}");
    }
}

#[test]
fn options_choose_queues_engines_threads_and_a_lock() {
    let place = Place::new();
    for line in [
        "-n 4 -i 5 -w 1 --threads 3 --queue-entries 4 -b 2",
        "-n 4 -i 5 -w 0 --threads 3 --queues 3 --engines 4 -c",
        "-n 4 -i 5 -w 0 --threads 2 --lock -x 0x100",
        "-n 4 -i 5 --instances 2 --descriptors filled-in -x 0x80",
        "-n 4 -i 5 -q 1 -zP,D -t 8k -O 0,64 -W 2",
        "-n 8 -i 5 -Y",
        "-n 4 -T 1 -i -1",
    ] {
        let line = format!("bench --on software {line}");
        let words: Vec<&str> = line.split_whitespace().collect();
        let out = ended(&mut place.command(&words)).with(0);
        assert!(out.starts_with("GB per sec = "), "{line}: {out}");
        assert_eq!(out.contains("latency(cycles) = "), line.contains("-q 1 "), "{line}: {out}");
    }
}

/// A line of dsa-perf-micros that is not built here ends with code 2 on every target, before it starts.
#[test]
fn options_of_dsa_perf_micros_that_are_not_built_end_with_code_2() {
    let place = Place::new();
    for (option, words) in [
        ("-u", ["-u:", "kernel's driver"]),
        ("-K 5@dsa0/wq0.0", ["-K 5@dsa0/wq0.0", "use -k"]),
        ("-P 2", ["-P 2", "--threads"]),
        ("-x 1", ["-x <MASK>", "IOTLB"]),
    ] {
        let line = format!("bench --on software -n128 -s4k -j -i10 {option}");
        let words_of_line: Vec<&str> = line.split_whitespace().collect();
        let said = ended(&mut place.command(&words_of_line)).refused();
        assert!(words.iter().all(|word| said.contains(word)), "{option}: {said}");
    }
}

/// The last descriptor is a drain, which is no operation: its operands stay as they are.
#[test]
fn the_last_descriptor_of_a_round_is_a_drain() {
    let place = Place::new();
    for (batch, operations) in [("1", 14), ("2", 28)] {
        let line = format!("bench --on software -n 8 -i 2 -Y -w 1 -b {batch} --json y.json");
        let words: Vec<&str> = line.split_whitespace().collect();
        ended(&mut place.command(&words)).with(0);
        assert_eq!(answers(&place, "y.json")["software"]["operations"], operations, "{line}");
    }
}

#[test]
fn wrong_options_end_with_code_2_and_say_what_is_allowed() {
    let place = Place::new();
    let refused = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        ended(&mut place.command(&words)).refused()
    };
    let said = refused("bench --on cpu -s 4X");
    assert!(said.contains("'4X'") && said.contains("--size") && said.contains("allowed"), "{said}");
    let said = refused("bench --on software --threads 9");
    assert!(said.contains("--threads 9") && said.contains("8 queues"), "{said}");
    for option in ["--json", "--plot"] {
        let said = refused(&format!("bench --on cpu {option} no/such.file"));
        assert!(
            said.contains(&format!("{option} no/such.file: cannot be written: No such file")),
            "{said}"
        );
    }
    let said = refused("tune --on cpu");
    assert!(said.contains("--on cpu") && said.contains("model:PLATFORM"), "{said}");
    let said = refused("tune --on model:sapphire-rapids-56 --operations no-op");
    assert!(said.contains("--operations no-op"), "{said}");
    // The message names the queues of the run.
    let run = |arguments: &[&str]| {
        let command = crate::runs::command().to_str().expect("is text");
        place.run(&["--quiet"], &[&[command, "bench"], arguments].concat()).refused()
    };
    let said = run(&["-w", "0", "--engines", "2"]);
    for word in [
        "engines 2;",
        "wq0.0 (dedicated, entries 16, engines 1,",
        "wq0.1 (shared, entries 16, engines 3,",
    ] {
        assert!(said.contains(word), "{word}: {said}");
    }
}

#[test]
fn a_file_of_thresholds_is_what_the_library_reads() {
    let place = Place::new();
    let line = "tune --on model:sapphire-rapids-56 --operations copy,compare --sizes 64-16K -o t.toml --quiet";
    let words: Vec<&str> = line.split_whitespace().collect();
    let out = ended(&mut place.command(&words)).with(0);
    assert!(out.contains("copy ") && out.contains("written: t.toml"), "{out}");
    let text = std::fs::read_to_string(place.path().join("t.toml")).expect("is written");
    let read = dsa_client::thresholds::Thresholds::parse(&text).expect("is read");
    let copy = dsa::hardware::Opcode::Move;
    // dsa-04 and dsa-05 with the larger size of both kinds of queues.
    assert!((4096..=10240).contains(&read.synchronous_bytes(copy)), "{text}");
    assert!((128..=1024).contains(&read.asynchronous_bytes(copy)), "{text}");
    assert!(read.source.contains("tune --on model:sapphire-rapids-56"), "{text}");
    assert!(read.source.contains("simulated"), "{text}");
    // Operations that are not measured keep the published sizes.
    assert_eq!(read.synchronous_bytes(dsa::hardware::Opcode::Fill), 4096);
}
