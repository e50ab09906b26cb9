//! Does each attribute read as the kernel prints it, and is it there on the parts that have it?

use crate::{Machine, Noting, PART, named};
use dsa::hardware::capabilities::{Capabilities, gencap, grpcap, wqcap};
use idxd::{BusNode, CommandStatus, Driver, Errno, IdleHardware, Part};
use std::collections::BTreeSet;

#[test]
fn a_device_that_was_not_touched_reads_as_posted() {
    let machine = Machine::new();
    let expected = [
        ("version", "0x100"),
        ("gen_cap", "0x40915f010f"),
        ("max_groups", "4"),
        ("max_work_queues", "8"),
        ("max_work_queues_size", "128"),
        ("max_engines", "4"),
        ("max_batch_size", "1024"),
        ("max_transfer_size", "2147483648"),
        ("max_read_buffers", "96"),
        ("max_tokens", "96"),
        ("numa_node", "0"),
        ("clients", "0"),
        ("configurable", "1"),
        ("pasid_enabled", "1"),
        ("errors", "00000000,00000000,00000000,00000000,00000000,00000000,00000000,00000000"),
        ("state", "disabled"),
        ("cmd_status", "0"),
        ("read_buffer_limit", "0"),
        ("token_limit", "0"),
        // Batches are hidden on version 1: 003f03fd, not 003f03ff.
        ("op_cap", "00000000,00000000,00000000,00000000,00000000,00000000,00000001,003f03fd"),
    ];
    for (attribute, text) in expected {
        assert_eq!(machine.get("dsa0", attribute), text, "{attribute}");
    }
}

#[test]
fn queues_groups_and_engines_have_the_documented_defaults() {
    let machine = Machine::new();
    let expected = [
        ("wq0.7", "state", "disabled"),
        ("wq0.7", "clients", "0"),
        ("wq0.7", "occupancy", "0"),
        ("wq0.7", "group_id", "-1"),
        ("wq0.7", "mode", "shared"),
        ("wq0.7", "size", "0"),
        ("wq0.7", "priority", "0"),
        ("wq0.7", "threshold", "0"),
        ("wq0.7", "block_on_fault", "0"),
        ("wq0.7", "type", "none"),
        ("wq0.7", "name", ""),
        ("wq0.7", "driver_name", ""),
        ("wq0.7", "max_transfer_size", "2097152"),
        ("wq0.7", "max_batch_size", "32"),
        ("wq0.7", "ats_disable", "0"),
        ("wq0.7", "enqcmds_retries", "32"),
        ("group0.3", "read_buffers_reserved", "0"),
        ("group0.3", "tokens_reserved", "0"),
        ("group0.3", "read_buffers_allowed", "96"),
        ("group0.3", "tokens_allowed", "96"),
        ("group0.3", "use_read_buffer_limit", "0"),
        ("group0.3", "use_token_limit", "0"),
        ("group0.3", "traffic_class_a", "1"),
        ("group0.3", "traffic_class_b", "1"),
        ("engine0.3", "group_id", "-1"),
    ];
    for (node, attribute, text) in expected {
        assert_eq!(machine.get(node, attribute), text, "{node}/{attribute}");
    }
    assert_eq!(machine.read("wq0.7", "cdev_minor"), Err(Errno::ENXIO));
}

#[test]
fn members_of_a_group_are_names_separated_by_blanks() {
    let mut machine = Machine::new();
    assert_eq!(machine.read("group0.1", "work_queues"), Ok(String::new()));
    assert_eq!(machine.read("group0.1", "engines"), Ok(String::new()));
    for node in ["wq0.4", "wq0.2", "engine0.3", "engine0.0"] {
        machine.set(node, "group_id", "1");
    }
    assert_eq!(machine.get("group0.1", "work_queues"), "wq0.2 wq0.4");
    assert_eq!(machine.get("group0.1", "engines"), "engine0.0 engine0.3");
    machine.set("wq0.2", "group_id", "-1");
    assert_eq!(machine.get("group0.1", "work_queues"), "wq0.4");
}

#[test]
fn live_values_come_from_the_device() {
    let driver = Driver::new(vec![Part::new(PART), Part::new(PART)]);
    let device = Noting::default();
    assert_eq!(driver.read(named("wq1.3"), "occupancy", &device), Ok("13\n".to_owned()));
    let errors = "77770000,00008888,00000000,00000006,00000000,00000005,11112222,33334444\n";
    assert_eq!(driver.read(named("dsa1"), "errors", &device), Ok(errors.to_owned()));
}

/// Attributes that only some parts have: with the part's feature and without.
#[test]
fn attributes_follow_capabilities() {
    let event_log = 1 << gencap::EVENT_LOG_SHIFT;
    let more = Capabilities {
        version: 0x300,
        gen_cap: PART.gen_cap | event_log,
        queue_features: PART.queue_features | wqcap::OPERATIONS | wqcap::PRS,
        group_features: PART.group_features | grpcap::PROGRESS_LIMIT,
        dsa_caps: [0x1, 0xab, 0xcd],
        ..PART
    };
    let less = Capabilities { queue_features: wqcap::SHARED, ..PART };
    let (sapphire, more, less) =
        (Machine::new(), Machine::of(Part::new(more)), Machine::of(Part::new(less)));
    let only_more = [
        ("dsa0", "event_log_size", "64"),
        ("dsa0", "dsacaps", "00000000000000cd,00000000000000ab,0000000000000001"),
        ("wq0.0", "prs_disable", "0"),
        ("wq0.0", "op_config", &more.get("dsa0", "op_cap")),
        ("group0.0", "desc_progress_limit", "0"),
        ("group0.0", "batch_progress_limit", "0"),
        ("group0.0", "traffic_class_a", "-1"),
    ];
    for (node, attribute, text) in only_more {
        assert_eq!(more.get(node, attribute), text, "{node}/{attribute}");
        if attribute != "traffic_class_a" {
            assert!(!sapphire.names(node).contains(&attribute), "{attribute}");
            assert_eq!(sapphire.read(node, attribute), Err(Errno::ENOENT), "{attribute}");
        }
    }
    // A later version shows batches.
    assert!(more.get("dsa0", "op_cap").ends_with("003f03ff"));
    assert!(sapphire.names("wq0.0").contains(&"ats_disable"));
    assert!(!less.names("wq0.0").contains(&"ats_disable"));
    assert_eq!(less.read("wq0.0", "occupancy"), Err(Errno::EOPNOTSUPP));
}

#[test]
fn each_listed_attribute_reads_or_says_why_not() {
    for part in [PART, Capabilities::VERSION_2] {
        let driver = Driver::new(vec![Part::new(part); 2]);
        for node in driver.nodes() {
            let attributes = driver.attributes(node);
            let names: BTreeSet<_> = attributes.iter().map(|attribute| attribute.name).collect();
            assert_eq!(names.len(), attributes.len(), "{node} names an attribute twice");
            for name in names {
                let known = match (name, driver.read(node, name, &IdleHardware)) {
                    ("cdev_minor", read) => read == Err(Errno::ENXIO),
                    ("work_queues" | "engines", read) => read == Ok(String::new()),
                    (_, read) => read.is_ok_and(|text| text.ends_with('\n')),
                };
                assert!(known, "{node}/{name}");
            }
        }
    }
}

#[test]
fn names_are_read_back_and_no_others_are_read() {
    let driver = Driver::new(vec![Part::new(PART); 3]);
    for node in driver.nodes() {
        assert_eq!(node.to_string().parse(), Ok(node));
    }
    for bad in ["dsa", "dsa-1", "dsa00", "wq0", "wq0.", "wq0.+1", "wq0.01", "wq0.1 ", "iax0", ""] {
        assert!(bad.parse::<BusNode>().is_err(), "{bad:?}");
    }
}

#[test]
fn codes_of_cmd_status_are_in_order_and_have_sentences() {
    let codes = CommandStatus::ALL;
    assert!(codes.windows(2).all(|pair| pair[0].0 < pair[1].0));
    let sentences: BTreeSet<_> = codes.iter().map(|code| code.sentence()).collect();
    assert!(!sentences.contains(&None));
    assert_eq!(CommandStatus(0x8003_0000).sentence(), CommandStatus::DRIVER_NO_GROUP.sentence());
    assert_eq!(CommandStatus(0x99).sentence(), None);
    let unknown = CommandStatus(0x99).to_string();
    assert_eq!(unknown, "cmd_status 0x99: a code that is not known");
}

#[test]
fn devices_of_a_machine_have_addresses_of_their_own() {
    let parts = Part::for_machine(&[PART; 20]);
    let addresses: BTreeSet<_> = parts.iter().map(|part| part.pci_address.as_str()).collect();
    assert_eq!(addresses.len(), 20);
    assert_eq!(
        (addresses.first(), addresses.last()),
        (Some(&"0000:6a:01.0"), Some(&"0002:79:01.0"))
    );
}
