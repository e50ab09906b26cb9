//! Which writes are refused, and with which number?

use crate::{Machine, PART};
use dsa::hardware::capabilities::{Capabilities, gencap, grpcap, wqcap};
use idxd::{Errno, Part};

type Row = (&'static str, &'static str, &'static str, Errno);

/// Each write of a table is refused with its number and changes nothing.
fn all_refused(machine: &mut Machine, rows: &[Row]) {
    for &(node, attribute, text, errno) in rows {
        let before = (machine.read(node, attribute), machine.0.devices()[0].generation());
        assert_eq!(machine.write(node, attribute, text), Err(errno), "{node}/{attribute} = {text}");
        let after = (machine.read(node, attribute), machine.0.devices()[0].generation());
        assert_eq!(before, after, "{node}/{attribute}");
    }
}

#[test]
fn values_out_of_range_are_invalid() {
    let mut machine = Machine::with_queue(Part::new(PART), "shared");
    let most_transfer = "2147483649";
    all_refused(
        &mut machine,
        &[
            ("wq0.0", "group_id", "4", Errno::EINVAL),
            ("wq0.0", "group_id", "-2", Errno::EINVAL),
            ("wq0.0", "group_id", "", Errno::EINVAL),
            ("wq0.0", "mode", "exclusive", Errno::EINVAL),
            ("wq0.0", "size", "129", Errno::EINVAL),
            ("wq0.1", "size", "113", Errno::EINVAL),
            ("wq0.0", "size", "-1", Errno::EINVAL),
            ("wq0.0", "size", "0x10", Errno::EINVAL),
            ("wq0.0", "size", "16 ", Errno::EINVAL),
            ("wq0.0", "priority", "16", Errno::EINVAL),
            ("wq0.0", "threshold", "0", Errno::EINVAL),
            ("wq0.0", "threshold", "17", Errno::EINVAL),
            ("wq0.0", "block_on_fault", "2", Errno::EINVAL),
            ("wq0.0", "type", "mdev", Errno::EINVAL),
            ("wq0.0", "name", "", Errno::EINVAL),
            ("wq0.0", "driver_name", " ", Errno::EINVAL),
            ("wq0.0", "max_transfer_size", "0", Errno::EINVAL),
            ("wq0.0", "max_transfer_size", most_transfer, Errno::EINVAL),
            ("wq0.0", "max_batch_size", "1025", Errno::EINVAL),
            ("wq0.0", "max_batch_size", "0", Errno::EINVAL),
            ("wq0.0", "ats_disable", "x", Errno::EINVAL),
            ("wq0.0", "enqcmds_retries", "-1", Errno::EINVAL),
            ("engine0.0", "group_id", "4", Errno::EINVAL),
            ("engine0.0", "group_id", "one", Errno::EINVAL),
            ("dsa0", "read_buffer_limit", "97", Errno::EINVAL),
            ("group0.0", "read_buffers_reserved", "97", Errno::EINVAL),
            // One engine needs four.
            ("group0.0", "read_buffers_allowed", "3", Errno::EINVAL),
            ("group0.0", "read_buffers_allowed", "97", Errno::EINVAL),
            ("group0.0", "use_read_buffer_limit", "1", Errno::EPERM),
            ("group0.0", "traffic_class_a", "1", Errno::EPERM),
            ("group0.0", "traffic_class_b", "0", Errno::EPERM),
        ],
    );
}

#[test]
fn names_have_their_lengths() {
    let mut machine = Machine::new();
    for (attribute, most) in [("name", 1024), ("driver_name", 128)] {
        machine.set("wq0.0", attribute, &"n".repeat(most));
        let refused = machine.write("wq0.0", attribute, &"n".repeat(most + 1));
        assert_eq!(refused, Err(Errno::EINVAL), "{attribute}");
    }
    machine.set("wq0.0", "driver_name", "  user ");
    assert_eq!(machine.get("wq0.0", "driver_name"), "user");
}

#[test]
fn what_is_for_reading_cannot_be_written() {
    let mut machine = Machine::new();
    for node in ["dsa0", "wq0.0", "group0.0", "engine0.0"] {
        for attribute in machine.0.attributes(crate::named(node)) {
            let refused = machine.write(node, attribute.name, "0") == Err(Errno::EACCES);
            assert_ne!(refused, attribute.writable, "{node}/{}", attribute.name);
        }
    }
    assert_eq!(machine.write("dsa0", "colour", "red"), Err(Errno::ENOENT));
    assert_eq!(machine.write("dsa1", "cmd_status", "1"), Err(Errno::ENOENT));
    assert_eq!(machine.write("wq0.8", "size", "1"), Err(Errno::ENOENT));
}

#[test]
fn an_enabled_device_and_queue_keep_their_configuration() {
    let mut machine = Machine::enabled("shared");
    all_refused(
        &mut machine,
        &[
            ("dsa0", "read_buffer_limit", "8", Errno::EPERM),
            ("wq0.0", "group_id", "-1", Errno::EPERM),
            ("wq0.0", "mode", "dedicated", Errno::EPERM),
            ("wq0.0", "size", "8", Errno::EPERM),
            // The device is on, though this queue is not.
            ("wq0.1", "size", "8", Errno::EPERM),
            ("wq0.0", "priority", "1", Errno::EPERM),
            ("wq0.0", "threshold", "8", Errno::ENXIO),
            ("wq0.0", "block_on_fault", "1", Errno::ENXIO),
            ("wq0.0", "type", "none", Errno::EPERM),
            ("wq0.0", "name", "other", Errno::EPERM),
            ("wq0.0", "driver_name", "dmaengine", Errno::EPERM),
            ("wq0.0", "max_transfer_size", "4096", Errno::EPERM),
            ("wq0.0", "max_batch_size", "1", Errno::EPERM),
            ("wq0.0", "ats_disable", "1", Errno::EPERM),
            ("group0.0", "read_buffers_reserved", "8", Errno::EPERM),
            ("group0.0", "read_buffers_allowed", "8", Errno::EPERM),
            ("group0.0", "use_read_buffer_limit", "1", Errno::EPERM),
        ],
    );
    // In any state; and the driver does not look at the state for an engine.
    machine.set("wq0.0", "enqcmds_retries", "1000");
    assert_eq!(machine.get("wq0.0", "enqcmds_retries"), "64");
    machine.set("engine0.0", "group_id", "-1");
    machine.set("wq0.1", "group_id", "2");
}

#[test]
fn a_dedicated_queue_has_no_threshold_and_no_retries() {
    let mut machine = Machine::with_queue(Part::new(PART), "shared");
    machine.set("wq0.0", "mode", "dedicated");
    assert_eq!(machine.get("wq0.0", "threshold"), "0");
    assert_eq!(machine.write("wq0.0", "threshold", "4"), Err(Errno::EINVAL));
    assert_eq!(machine.write("wq0.0", "enqcmds_retries", "4"), Err(Errno::EOPNOTSUPP));
    assert_eq!(machine.read("wq0.0", "enqcmds_retries"), Err(Errno::EOPNOTSUPP));
}

#[test]
fn parts_refuse_what_they_do_not_have() {
    let plain = Capabilities {
        gen_cap: PART.gen_cap & !gencap::BLOCK_ON_FAULT,
        group_features: grpcap::BUFFER_CONTROL,
        ..PART
    };
    let mut machine = Machine::of(Part::new(plain));
    let unsupported = machine.write("wq0.0", "block_on_fault", "0");
    assert_eq!(unsupported, Err(Errno::EOPNOTSUPP));
    assert_eq!(machine.write("dsa0", "read_buffer_limit", "8"), Err(Errno::EPERM));

    let fixed = Capabilities { gen_cap: PART.gen_cap & !gencap::CONFIGURABLE, ..PART };
    let mut machine = Machine::of(Part::new(fixed));
    for node in ["wq0.0", "group0.0", "engine0.0"] {
        for attribute in machine.0.attributes(crate::named(node)) {
            let expected = if attribute.writable { Errno::EPERM } else { Errno::EACCES };
            assert_eq!(machine.write(node, attribute.name, "1"), Err(expected));
        }
    }
    machine.set("dsa0", "cmd_status", "1");
}

#[test]
fn a_queue_without_page_requests_needs_an_event_log() {
    for (log, expected) in [(0, Err(Errno::ENXIO)), (1 << gencap::EVENT_LOG_SHIFT, Ok(()))] {
        let part = Capabilities {
            gen_cap: PART.gen_cap | log,
            queue_features: PART.queue_features | wqcap::PRS,
            ..PART
        };
        let mut machine = Machine::with_queue(Part::new(part), "dedicated");
        machine.set("wq0.0", "prs_disable", "1");
        machine.bind("idxd", "dsa0").expect("all checks hold");
        assert_eq!(machine.bind("user", "wq0.0"), expected);
        let status = if expected.is_ok() { "0" } else { "0x2e" };
        assert_eq!(machine.get("dsa0", "cmd_status"), status);
    }
}

#[test]
fn an_event_log_has_the_size_that_it_was_given_until_its_device_is_off() {
    let gen_cap = PART.gen_cap | 1 << gencap::EVENT_LOG_SHIFT;
    let part = Capabilities { gen_cap, ..PART };
    let mut machine = Machine::with_queue(Part::new(part), "dedicated");
    for size in ["65535", "64", "100"] {
        machine.set("dsa0", "event_log_size", size);
        assert_eq!(machine.get("dsa0", "event_log_size"), size);
    }
    machine.bind("idxd", "dsa0").expect("all checks hold");
    assert_eq!(machine.write("dsa0", "event_log_size", "100"), Err(Errno::EPERM));
    assert_eq!(machine.get("dsa0", "event_log_size"), "100");
    machine.unbind("idxd", "dsa0").expect("it is bound");
    assert_eq!(machine.get("dsa0", "event_log_size"), "64", "as after a boot");
}

#[test]
fn options_of_later_parts_have_their_limits() {
    let later = Capabilities {
        version: 0x300,
        gen_cap: PART.gen_cap | 2 << gencap::EVENT_LOG_SHIFT,
        queue_features: PART.queue_features | wqcap::OPERATIONS | wqcap::PRS,
        group_features: PART.group_features | grpcap::PROGRESS_LIMIT,
        ..PART
    };
    let mut machine = Machine::with_queue(Part::new(later), "shared");
    all_refused(
        &mut machine,
        &[
            ("dsa0", "event_log_size", "63", Errno::EINVAL),
            ("dsa0", "event_log_size", "65536", Errno::EINVAL),
            ("group0.0", "traffic_class_a", "8", Errno::EINVAL),
            ("group0.0", "traffic_class_b", "-1", Errno::EINVAL),
            ("group0.0", "desc_progress_limit", "4", Errno::EINVAL),
            // Operation 11 is none that this part has.
            ("wq0.0", "op_config", "800", Errno::EINVAL),
            ("wq0.0", "op_config", "1,00000000,00000000", Errno::EINVAL),
            ("wq0.0", "op_config", "g", Errno::EINVAL),
        ],
    );
    machine.set("wq0.0", "op_config", "00000001,00000008");
    assert!(machine.get("wq0.0", "op_config").ends_with(",00000001,00000008"));
    machine.set("wq0.0", "block_on_fault", "1");
    machine.set("wq0.0", "prs_disable", "1");
    assert_eq!(machine.get("wq0.0", "block_on_fault"), "0");
    assert_eq!(machine.write("wq0.0", "block_on_fault", "1"), Err(Errno::EOPNOTSUPP));
    machine.bind("idxd", "dsa0").expect("all checks hold");
    machine.set("group0.0", "batch_progress_limit", "3");
    assert_eq!(machine.write("dsa0", "event_log_size", "128"), Err(Errno::EPERM));
    assert_eq!(machine.write("group0.0", "traffic_class_a", "2"), Err(Errno::EPERM));
}

#[test]
fn version_1_never_configures_batches() {
    let part = Capabilities { queue_features: PART.queue_features | wqcap::OPERATIONS, ..PART };
    let mut machine = Machine::of(Part::new(part));
    assert!(machine.get("wq0.0", "op_config").ends_with("003f03fd"));
    assert_eq!(machine.write("wq0.0", "op_config", "2"), Err(Errno::EINVAL));
    let second = Capabilities { version: 0x200, ..part };
    Machine::of(Part::new(second)).set("wq0.0", "op_config", "2");
}

#[test]
fn accepted_texts_read_back_in_the_kernels_form() {
    let mut machine = Machine::with_queue(Part::new(PART), "shared");
    let rows = [
        ("wq0.0", "max_transfer_size", "4097", "8192"),
        ("wq0.0", "max_transfer_size", "0x1000", "4096"),
        ("wq0.0", "max_batch_size", "33", "64"),
        ("wq0.0", "block_on_fault", "on", "1"),
        ("wq0.0", "block_on_fault", "No", "0"),
        ("wq0.0", "ats_disable", "Y", "1"),
        ("wq0.0", "priority", "+0", "0"),
        ("wq0.0", "type", "kernel", "kernel"),
        ("dsa0", "token_limit", "8", "8"),
        ("group0.0", "use_token_limit", "1", "1"),
        ("group0.0", "tokens_reserved", "10", "10"),
        ("group0.1", "read_buffers_reserved", "86", "86"),
        ("group0.0", "tokens_allowed", "10", "10"),
    ];
    for (node, attribute, text, shown) in rows {
        machine.set(node, attribute, text);
        assert_eq!(machine.get(node, attribute), shown, "{attribute}");
    }
    // The new type has cleared the name. All 96 buffers are reserved.
    assert_eq!(machine.get("wq0.0", "name"), "");
    assert_eq!(machine.write("group0.2", "read_buffers_reserved", "1"), Err(Errno::EINVAL));
    assert_eq!(machine.write("group0.0", "read_buffers_allowed", "11"), Err(Errno::EINVAL));
}

#[test]
fn a_kernel_queue_has_no_name_while_the_kernel_has_a_pasid() {
    let mut machine = Machine::of(Part { kernel_pasid: true, ..Part::new(PART) });
    machine.set("wq0.0", "type", "kernel");
    assert_eq!(machine.write("wq0.0", "name", "copies"), Err(Errno::EOPNOTSUPP));
    machine.set("wq0.0", "type", "user");
    machine.set("wq0.0", "name", "copies");
}
