//! Trees as kernels show them: links and all, other accelerators beside, old names, no right to write.

use super::TWO_QUEUES;
use crate::runs::{Ended, Place, command, ended};
use dsa::hardware::capabilities::Capabilities;
use idxd::{BusNode, Driver, IdleHardware, Part, former_name};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// How a kernel shows its devices.
#[derive(Clone, Copy, Default)]
struct Kernel {
    /// Read buffers are tokens, and queues have no name of a driver: Linux 5.16.
    is_old: bool,
    /// Other accelerators have taken numbers.
    has_others: bool,
}

/// Files below `root`, of devices without configuration.
fn make(root: &Path, kernel: Kernel) -> Driver {
    let part = || Part {
        without: if kernel.is_old { vec!["driver_name", "enqcmds_retries"] } else { Vec::new() },
        ..Part::new(Capabilities::VERSION_1)
    };
    let mut parts = vec![part()];
    if kernel.has_others {
        parts.extend([Part::gap(), part()]);
    }
    let driver = Driver::new(parts);
    let bus = root.join("sys/bus/dsa");
    let create = |path: &Path| fs::create_dir_all(path).expect("is created");
    let write = |path: &Path, text: &str| fs::write(path, text).expect("is written");
    create(&bus.join("devices"));
    for name in ["idxd", "user", "dmaengine", "dsa"] {
        create(&bus.join("drivers").join(name));
        write(&bus.join("drivers").join(name).join("bind"), "");
        write(&bus.join("drivers").join(name).join("unbind"), "");
    }
    for node in driver.nodes() {
        let device = BusNode::Device(node.device());
        let pci = format!("sys/devices/pci0000:6a/0000:6a:0{}.0", node.device());
        let own = match node {
            BusNode::Device(_) => format!("{pci}/{device}"),
            _ => format!("{pci}/{device}/{node}"),
        };
        create(&root.join(&own));
        symlink(format!("../../../../{own}"), bus.join("devices").join(node.to_string()))
            .expect("a link");
        for attribute in driver.attributes(node) {
            let is_old_name = [
                "max_tokens",
                "token_limit",
                "tokens_reserved",
                "tokens_allowed",
                "use_token_limit",
            ]
            .contains(&attribute.name);
            let is_shown = match former_name(attribute.name) {
                Some(_) => !kernel.is_old,
                None => kernel.is_old || !is_old_name,
            };
            // An attribute without a value has a file that cannot be read.
            if let (Ok(text), true) = (driver.read(node, attribute.name, &IdleHardware), is_shown) {
                write(&root.join(&own).join(attribute.name), &text);
            }
        }
    }
    if kernel.has_others {
        create(&bus.join("devices/iax1"));
        create(&bus.join("devices/wq1.0"));
        write(&bus.join("devices/iax1/state"), "enabled\n");
    }
    create(&root.join("proc/sys/kernel/random"));
    write(&root.join("proc/sys/kernel/random/boot_id"), "0f0f\n");
    driver
}

fn config(place: &Place, arguments: &[&str]) -> Ended {
    let arguments = [&["config", "--root", "tree"], arguments].concat();
    ended(&mut place.command(&arguments))
}

fn place(kernel: Kernel) -> Place {
    let place = super::place();
    make(&place.path().join("tree"), kernel);
    place
}

#[test]
fn dsa_25_devices_are_found_among_other_accelerators_of_a_real_tree() {
    let place = place(Kernel { has_others: true, ..Kernel::default() });
    let out = config(&place, &["show"]).with(0);
    let devices: Vec<&str> = out.lines().filter(|line| line.starts_with("dsa")).collect();
    assert!(devices.len() == 2 && devices[1].starts_with("dsa2  disabled"), "{out}");
    let out = config(&place, &["check", "two.json"]).with(0);
    assert!(out.contains("wq0.2: state disabled -> enabled"), "{out}");
    let other = TWO_QUEUES.replace("0.", "1.").replace("dsa0", "dsa1");
    fs::write(place.path().join("other.json"), other).expect("is written");
    let out = config(&place, &["check", "other.json"]).with(2);
    let wanted = "other.json: dsa1: dev = \"dsa1\"; allowed is dsa0, dsa2 (ENODEV, no such device)";
    assert!(out.starts_with(wanted), "{out}");
}

#[test]
fn an_older_kernel_is_written_by_its_own_names() {
    let place = place(Kernel { is_old: true, ..Kernel::default() });
    let out = config(&place, &["apply", "two.json"]).with(0);
    assert!(out.contains("dsa0: read_buffer_limit 0 -> 60"), "{out}");
    assert!(!out.contains("driver_name") && out.contains("enable wq0.2 (bind to user)"), "{out}");
    // These files are no driver: what binds a device enables nothing, and no name is taken by a type.
    let ended = config(&place, &["apply", "two.json", "--apply"]);
    let words = "error: enable dsa0 (bind to idxd): the kernel accepted it, but the attribute has \"disabled\"\nand it could \
                 not be put back: ";
    assert!(ended.errors.starts_with(words), "{}", ended.errors);
    assert!(ended.errors.ends_with("`skipline-dsa config reset` tries it again\n"));
    ended.with(1);
    let tree = place.path().join("tree");
    let read = |file: &str| fs::read_to_string(tree.join(file)).expect("is read");
    assert_eq!(read("sys/bus/dsa/drivers/idxd/bind"), "dsa0\n");
    assert!(!tree.join("sys/bus/dsa/devices/dsa0/read_buffer_limit").exists());
    // The former configuration stays in the journal, as no value of it can be lost.
    let journal = read("var/lib/skipline-dsa/config.json");
    let journal: serde_json::Value = serde_json::from_str(&journal).expect("is JSON");
    assert_eq!(journal["entries"][0]["left"], serde_json::Value::Null);
    assert_eq!(journal["entries"][0]["former"][0]["read_buffer_limit"], 0);
}

#[test]
fn a_change_that_was_cut_short_is_found_where_the_machine_keeps_it() {
    let place = place(Kernel::default());
    let mut killed = place.command(&["config", "--root", "tree", "apply", "two.json", "--apply"]);
    let ended = ended(killed.env("SKIPLINE_DSA_CRASH_AFTER", "9"));
    assert_ne!(ended.code, Some(0));
    let journal = place.path().join("tree/var/lib/skipline-dsa/config.json");
    let text = fs::read_to_string(&journal).expect("a journal");
    let journalled: serde_json::Value = serde_json::from_str(&text).expect("is JSON");
    assert_eq!(journalled["entries"][0]["former"][0]["dev"], "dsa0");
    let out = config(&place, &["reset", "--dry-run", "--format", "json"]).with(0);
    assert!(out.contains("\"device\": \"dsa0\"") && out.contains("would be put back"), "{out}");
    // Another boot has unconfigured real devices.
    let boot = place.path().join("tree/proc/sys/kernel/random/boot_id");
    fs::write(boot, "1e1e\n").expect("is written");
    let out = config(&place, &["reset"]).with(0);
    assert_eq!(out, "dsa0: not written: the machine was booted since, which has unconfigured it\n");
    assert!(!journal.exists());
}

#[test]
fn links_out_of_a_tree_are_not_followed() {
    let place = place(Kernel::default());
    let outside = place.path().join("outside");
    fs::write(&outside, "0\n").expect("is written");
    let size = place.path().join("tree/sys/bus/dsa/devices/wq0.2/size");
    fs::remove_file(&size).expect("was there");
    symlink(&outside, &size).expect("a link");
    let ended = config(&place, &["show"]);
    assert!(ended.errors.contains("wq0.2/size: EACCES, permission denied"), "{}", ended.errors);
    ended.with(1);
}

/// Runs a script in namespaces of its own, where they are to be had.
fn in_namespaces(place: &Place, options: &[&str], script: &str) -> Ended {
    let mut unshare = Command::new("unshare");
    place.for_tests(&mut unshare).args(options);
    ended(unshare.args(["bash", "-c", script]).arg(command()))
}

#[test]
fn who_may_not_write_is_told_how_to() {
    let place = place(Kernel::default());
    let script = "chmod -R a-w tree; exec 2>&1
        unshare --user \"$0\" config --root tree apply two.json --apply; echo $?
        unshare --user \"$0\" config --root tree show | head -1";
    let out = in_namespaces(&place, &["--mount"], script).out;
    assert!(out.contains("error: no right to write "), "{out}");
    assert!(
        out.contains("\n  remedy: run it as root (sudo skipline-dsa config ...)\n3\n"),
        "{out}"
    );
    assert!(out.ends_with("4 engines, 96 read buffers\n"), "{out}");
    assert!(!place.path().join("tree/var").exists());
}

#[test]
fn a_read_only_sysfs_is_told_from_one_without_rights() {
    let place = place(Kernel::default());
    let script = "mount --bind tree/sys tree/sys && mount -o remount,ro,bind tree/sys; exec 2>&1
        \"$0\" config --root tree apply two.json --apply; echo $?";
    let out = in_namespaces(&place, &["--user", "--map-root-user", "--mount"], script).out;
    assert!(
        out.contains("is on a file system that is read-only, as /sys is in containers"),
        "{out}"
    );
    assert!(out.ends_with("\n3\n"), "{out}");
    assert!(!place.path().join("tree/var").exists());
}
