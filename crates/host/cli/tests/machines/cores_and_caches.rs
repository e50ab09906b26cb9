//! Are cores counted by their siblings, and is the last-level cache the same one for every CPU?

use std::fs;

use crate::on_machine::OnMachine;

fn cpu_file(cpu: u32, name: &str) -> String {
    format!("sys/devices/system/cpu/cpu{cpu}/{name}")
}

#[test]
fn cores_whose_numbers_repeat_in_each_cluster_are_all_counted() {
    let machine = OnMachine::new("clusters", &[]);
    let status = machine.run(&["status"]);
    let first = status.out.lines().next().unwrap_or_default();
    let sizes = ["sockets, ", "socket, "].iter().find_map(|it| first.split(it).nth(1));
    let expected = fs::read_to_string(machine.path().join("proc/cpuinfo")).expect("CPUs");
    let cpus = expected.matches("processor").count();
    assert_eq!(sizes, Some(format!("{} cores", cpus / 2).as_str()), "{first}");
}

#[test]
fn cores_of_two_dies_with_the_same_numbers_are_counted_once_each() {
    let machine = OnMachine::new("skylake", &[]);
    // Kernels before sibling lists had that name, and after it: the second one alone, and neither.
    for number in 0..36 {
        let (die, core) = (number % 18 / 9, number % 9);
        machine.put(&cpu_file(number, "topology/core_id"), &core.to_string());
        machine.put(&cpu_file(number, "topology/die_id"), &die.to_string());
    }
    let names = ["core_cpus_list", "thread_siblings_list"];
    for name in names {
        let status = machine.run(&["status"]);
        assert!(status.out.contains("2 sockets, 36 cores"), "{}", status.out);
        for number in 0..36 {
            let path = machine.path().join(cpu_file(number, &format!("topology/{name}")));
            fs::remove_file(path).expect("a list");
        }
    }
    let status = machine.run(&["status"]);
    assert!(status.out.contains("2 sockets, 36 cores"), "{}", status.out);
}

#[test]
fn a_list_that_leaves_out_its_own_cpu_is_not_believed() {
    let machine = OnMachine::new("skylake", &[]);
    for number in 0..36 {
        machine.put(&cpu_file(number, "topology/core_cpus_list"), "40");
    }
    let status = machine.run(&["status"]);
    assert!(status.out.contains("2 sockets, 36 cores"), "{}", status.out);
}

/// Asserts that a change of the ways is refused for a reason, that nothing is written, and that `status`
/// tells the reason.
fn assert_refused(machine: &OnMachine, reason: &str) {
    let before = machine.content();
    for arguments in [
        &["tune", "ddio-ways", "4", "--apply"][..],
        &["tune", "ddio-mask", "0x700", "--socket", "0", "--apply"],
        &["run", "--ddio-ways", "4", "--apply", "--", "true"],
        &["steer", "--windows", "1", "--apply"],
    ] {
        let run = machine.run(arguments);
        assert_eq!(run.code, Some(3), "{arguments:?}: {}{}", run.out, run.err);
        assert!(run.err.contains(reason), "{arguments:?}: {}", run.err);
    }
    assert!(machine.content() == before);
    let status = machine.run(&["status", "--format", "json"]);
    assert!(status.out.contains(reason), "{}", status.out);
}

#[test]
fn a_cache_of_level_4_or_2_is_not_taken_for_the_last_level() {
    let machine = OnMachine::new("skylake", &[]);
    let put_level = |index: u32, level: u32, ways: u32| {
        for cpu in 0..36 {
            let file = |name: &str| cpu_file(cpu, &format!("cache/index{index}/{name}"));
            let shared = if cpu < 18 { "0-17" } else { "18-35" };
            for (name, text) in [
                ("level", level.to_string()),
                ("type", "Unified".into()),
                ("size", "131072K".into()),
                ("id", (cpu / 18).to_string()),
                ("ways_of_associativity", ways.to_string()),
                ("shared_cpu_list", shared.into()),
            ] {
                machine.put(&file(name), &text);
            }
        }
    };
    put_level(4, 4, 16);
    let run = machine.run(&["tune", "ddio-ways", "4", "--apply"]);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    assert!(run.out.contains("of 11 ways"), "{}", run.out);
    assert_eq!(machine.run(&["restore"]).code, Some(0));
    for cpu in 0..36 {
        let folder = machine.path().join(cpu_file(cpu, "cache/index3"));
        fs::remove_dir_all(folder).expect("the cache");
    }
    put_level(4, 2, 16);
    assert_refused(&machine, "does not say how many ways the LLC");
}

#[test]
fn cpus_that_do_not_describe_the_cache_of_the_others_stop_a_change() {
    let machine = OnMachine::new("skylake", &[]);
    fs::remove_dir_all(machine.path().join(cpu_file(5, "cache"))).expect("caches of CPU 5");
    assert_refused(&machine, "none is described at CPUs 5");
    let machine = OnMachine::new("skylake", &[]);
    machine.put(&cpu_file(20, "cache/index3/ways_of_associativity"), "12");
    assert_refused(&machine, "CPUs 20 contradict the others");
    let machine = OnMachine::new("skylake", &[]);
    machine.put(&cpu_file(7, "cache/index3/shared_cpu_list"), "7");
    assert_refused(&machine, "CPUs 7 contradict the others");
    machine.put(&cpu_file(7, "cache/index3/id"), "9");
    assert_refused(&machine, "socket 0 has 2 dies");
}

#[test]
fn sockets_with_different_caches_stop_a_change() {
    for (name, value) in [("ways_of_associativity", "20"), ("size", "45056K")] {
        let machine = OnMachine::new("skylake", &[]);
        for cpu in 18..36 {
            machine.put(&cpu_file(cpu, &format!("cache/index3/{name}")), value);
        }
        assert_refused(&machine, "last-level caches of this machine differ");
    }
}

#[test]
fn cpuinfo_of_two_thousand_cpus_is_read() {
    let machine = OnMachine::new("skylake", &[]);
    let path = machine.path().join("proc/cpuinfo");
    let text = fs::read_to_string(&path).expect("CPUs");
    let one = text.split_inclusive("\n\n").next().unwrap_or_default();
    let one = one.replace("flags\t\t: fpu", &format!("flags\t\t: fpu {}", "x ".repeat(1500)));
    let large = one.repeat(2000);
    assert!(large.len() > 4 << 20);
    fs::write(&path, large).expect("CPUs");
    let run = machine.run(&["tune", "ddio-ways", "4"]);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    let status = machine.run(&["status"]);
    assert!(status.out.starts_with("Intel(R) Xeon(R) Gold 6140"), "{}", status.out);
}
