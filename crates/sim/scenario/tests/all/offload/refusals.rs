//! What engines cannot do is refused with file, key, value and rule.

use super::{PLATFORM, job};
use crate::job_of;

/// Each of these keys is refused: the key that is named, its value, and a part of the rule.
fn assert_refused(cases: &[(&str, &str, &str, &str)]) {
    for (keys, key, told_value, rule) in cases {
        let told = job(keys).err().unwrap_or_else(|| panic!("{keys} is accepted")).to_string();
        for expected in ["a.toml", &format!("`{key}`"), told_value, rule] {
            assert!(told.contains(expected), "{keys}: {told}");
        }
    }
}

#[test]
fn no_instance_has_such_groups() {
    let of = |groups: &str| format!("dsa.groups = [{groups}]");
    let one = "{ engines = [0], queues = [{ entries = 16 }] }";
    let refused = [
        ("dsa.engines = 5".into(), "dsa.engines", "5", "1 to 4"),
        ("dsa.queues = 9".into(), "dsa.queues", "9", "1 to 8"),
        ("dsa.queues = 8\ndsa.queue_entries = 17".into(), "dsa.queue_entries", "17", "128 of all"),
        (of(&format!("{one}, {one}")), "dsa.groups.1.engines", "0", "an engine serves one"),
        (
            of("{ engines = [0], queues = [{ entries = 100 }, { entries = 29 }] }"),
            "dsa.groups.0.queues.1.entries",
            "29",
            "128 of all",
        ),
        (of("{ engines = [0], queues = [] }"), "dsa.groups.0.queues", "0", "1 to 8"),
        (
            of("{ engines = [], queues = [{ entries = 16 }] }"),
            "dsa.groups.0.engines",
            "0",
            "1 to 4",
        ),
        (
            of("{ engines = [4], queues = [{ entries = 16 }] }"),
            "dsa.groups.0.engines",
            "4",
            "0 to 3",
        ),
        (
            of("{ engines = [0], queues = [{ entries = 16, priority = 16 }] }"),
            "dsa.groups.0.queues.0.priority",
            "16",
            "1 to 15",
        ),
        (
            of("{ engines = [0], queues = [{ entries = 16, threshold = 2 }] }"),
            "dsa.groups.0.queues.0.threshold",
            "2",
            "only of shared queues",
        ),
        (
            of("{ engines = [0], queues = [{ mode = \"shared\", entries = 16, threshold = 17 }] }"),
            "dsa.groups.0.queues.0.threshold",
            "17",
            "1 to 16",
        ),
        (
            of("{ engines = [0, 1], queues = [{ entries = 16 }], read_buffers = 7 }"),
            "dsa.groups.0.read_buffers",
            "7",
            "four for each engine",
        ),
        (
            of(&format!(
                "{{ engines = [1], queues = [{{ entries = 16 }}], read_buffers_reserved = 93 }}, {one}"
            )),
            "dsa.groups.1.read_buffers",
            "",
            "",
        ),
    ];
    for (keys, key, told_value, rule) in refused as [(String, &str, &str, &str); 13] {
        assert_refused(&[(&keys, key, told_value, rule)]);
    }
}

#[test]
fn no_client_has_such_queues() {
    assert_refused(&[
        ("offload.batch = 1025", "offload.batch", "1025", "1 to 1024"),
        ("offload.offset_bytes = 32", "offload.offset_bytes", "32", "multiples of a line"),
        ("cores = 2", "cores", "2", "offload.lock"),
        (
            "cores = 3\noffload.lock = true\ndsa.queue_entries = 2",
            "cores",
            "3",
            "one for each of its entries",
        ),
        ("offload.queues_per_core = 2", "offload.queues_per_core", "2", "1 to 1"),
        ("dsa.threshold = 2", "dsa.threshold", "", "credits"),
        ("offload.back_off = \"pause\"", "offload.back_off", "", "no queue is shared"),
    ]);
}

#[test]
fn no_operation_has_such_data() {
    assert_refused(&[
        ("offload.faults = \"touch\"", "offload.faults", "", "all pages are present"),
        (
            "iommu = \"off\"\noffload.absent_percent = 1",
            "offload.absent_percent",
            "1",
            "physical pages are present",
        ),
        (
            "offload.absent_percent = 1\noffload.faults = \"resubmit\"\noffload.batch = 2",
            "offload.faults",
            "resubmit",
            "offload.batch",
        ),
        (
            "offload.absent_percent = 1\noffload.faults = \"software\"\n\
             offload.operation = \"dif-insert\"",
            "offload.faults",
            "software",
            "block or touch",
        ),
        (
            "offload.operation = \"dif-check\"\noffload.transfer_bytes = 1000",
            "offload.transfer_bytes",
            "1000",
            "multiples of a block",
        ),
        ("offload.transfer_bytes = 4194304", "offload.transfer_bytes", "4194304", "page_size"),
        (
            "offload.by = \"core\"\noffload.kernel = \"rep-movsb\"\noffload.operation = \"crc\"",
            "offload.kernel",
            "rep-movsb",
            "copy and fill",
        ),
        ("packet_bytes = 64", "packet_bytes", "", "no other device"),
    ]);
}

#[test]
fn tenants_of_a_socket_have_four_instances_together() {
    let of = |keys: &str| {
        let text = format!(
            "platform = \"{PLATFORM}\"\napplication = \"offload\"\ndsa.instances = 3\n\
             [[tenant]]\nname = \"b\"\napplication = \"offload\"\n{keys}\n"
        );
        job_of(&text, 1)
    };
    let told = of("dsa.instances = 2").expect_err("they are more than four").to_string();
    for expected in
        ["a.toml", "`dsa.instances`", "2", "tenant `b` make 5 on socket 0", "allowed: 4"]
    {
        assert!(told.contains(expected), "{told}");
    }
    assert!(of("dsa.instances = 1").is_ok());
    assert!(of("dsa.instances = 4\nsocket = 1").is_ok());
}
