//! Files that programs read beside the driver's files: the PCI bus, /dev/char, modules, mappings of all kinds.

use crate::runs::Place;

const PORTALS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/portals.c");
const OPENERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/openers.c");
const WAYS: [&[&str]; 2] = [&["--quiet"], &["--quiet", "--without-namespaces"]];

#[test]
fn scripts_find_the_device_on_the_pci_bus_and_its_driver_among_the_modules() {
    let script = "address=$(basename $(dirname $(readlink -f /sys/bus/dsa/devices/dsa0)))
                  lspci | grep -c \"^${address#0000:} .*0b25\"
                  value=$(setpci -s $address 168.l); echo ${#value} $((0x$value & 0x102))
                  setpci -s $address 168.l=12345678; setpci -s $address 168.l 16a.w
                  lsmod | grep -c '^idxd '";
    for options in WAYS {
        let out = Place::new().script(options, script).with(0);
        assert_eq!(out, "1\n8 258\n12345678\n1234\n1\n", "{options:?}");
    }
}

#[test]
fn files_of_queues_have_links_by_their_numbers() {
    let script = "cd /dev/char
                  readlink $(cat /sys/bus/dsa/devices/dsa0/cdev_major):$(cat /sys/bus/dsa/devices/wq0.1/cdev_minor)
                  echo wq0.1 > /sys/bus/dsa/drivers/user/unbind; ls | grep -c 240:";
    // Without namespaces /dev is that of the machine.
    assert_eq!(Place::new().script(&["--quiet"], script).with(0), "../dsa/wq0.1\n1\n");
}

#[test]
fn portals_work_however_they_are_mapped() {
    let place = Place::new();
    place.compile(&["-O1", PORTALS, "-o", "portals"]);
    for options in WAYS {
        let out = place.run(options, &["./portals", "/dev/dsa/wq0.1"]).with(0);
        assert_eq!(
            out, "call 1\nsystem call 1\nmoved 1\nthread 1\nafter seccomp 1\n",
            "{options:?}"
        );
    }
}

#[test]
fn a_program_without_the_library_is_refused_with_a_message() {
    let place = Place::new();
    place.compile(&["-O1", "-static", PORTALS, "-o", "static"]);
    for start in ["exec ./static", "exec env -u LD_PRELOAD ./static"] {
        let ended = place.run(&["--quiet"], &["sh", "-c", &format!("{start} /dev/dsa/wq0.1")]);
        assert!(ended.errors.contains("/static (process "), "{}", ended.errors);
        assert!(ended.errors.contains("may not open wq0.1"), "{}", ended.errors);
        ended.with(2);
    }
}

#[test]
fn a_limit_of_the_address_space_leaves_room_for_engines() {
    // A program of this size needs some 100 MB by itself: libraries, arenas of its own threads.
    let script = "ulimit -v 200000; $client shared wq0.1";
    assert_eq!(Place::new().script(&["--quiet"], script).with(0), "crc 0xe3069283\n");
}

#[test]
fn more_processes_than_entries_use_a_queue() {
    let count = soak::amount(100, 1000);
    let script = format!(
        "for number in $(seq {count}); do exec {{file}}<>/dev/dsa/wq0.1; (exec $client holds wq0.1 < pipe > out.$number) & done
         exec 9> pipe
         until [ $(cat out.* 2>/dev/null | grep -c open) = {count} ]; do sleep 0.1; done
         cat /sys/bus/dsa/devices/wq0.1/clients; $client shared wq0.1
         exec 9>&-; wait"
    );
    let place = Place::new();
    let made = std::process::Command::new("mkfifo").arg(place.path().join("pipe")).status();
    assert!(made.expect("is there").success());
    let script = script.replace("exec {file}<>/dev/dsa/wq0.1; ", "");
    let out = place.script(&["--quiet"], &script).with(0);
    assert_eq!(out, format!("{count}\ncrc 0xe3069283\n"));
}

#[test]
fn thousands_of_processes_have_a_queue_at_a_time() {
    let place = Place::new();
    place.compile(&["-O1", OPENERS, "-o", "openers"]);
    let count = soak::amount("300", "5000");
    // The whole is thousands of processes.
    for options in &WAYS[..soak::amount(2, 1)] {
        let ended = place.run(options, &["./openers", "/dev/dsa/wq0.1", count]);
        assert_eq!(ended.with(0), format!("{count} open, others: none\n"), "{options:?}");
    }
}

#[test]
fn the_file_of_a_queue_is_a_character_device() {
    let numbers = "import os
path = '/dev/dsa/wq0.1'
file = os.open(path, os.O_RDWR)
number = int(open('/sys/bus/dsa/devices/wq0.1/cdev_minor').read())
for found in os.fstat(file), os.stat(path), os.lstat(path), os.stat(file):
    print(oct(found.st_mode), os.major(found.st_rdev), os.minor(found.st_rdev) == number, found.st_size)
import mmap
mmap.mmap(file, 4096, mmap.MAP_SHARED, mmap.PROT_WRITE).close()
print(oct(os.fstat(os.open('/sys/bus/dsa/devices/wq0.1/state', os.O_RDONLY)).st_mode & 0o170000))
print(oct(os.fstat(os.memfd_create('other')).st_mode & 0o170000))";
    let device = "0o20600 240 True 0\n".repeat(4);
    for options in WAYS {
        let out = Place::new().run(options, &["python3", "-c", numbers]).with(0);
        assert_eq!(out, format!("{device}0o100000\n0o100000\n"), "{options:?}");
        // By the system call for new programs.
        let script = "stat -c '%F %t:%T' /dev/dsa/wq0.1; test -c /dev/dsa/wq0.1 && ls -l /dev/dsa/wq0.1 | cut -c1-10";
        let out = Place::new().script(options, script).with(0);
        let (first, second) = out.split_once('\n').expect("has lines");
        assert!(first.starts_with("character special file f0:"), "{options:?} {out}");
        assert_eq!(second, "crw-------\n", "{options:?}");
    }
}

#[test]
fn a_program_with_address_sanitizer_has_devices() {
    let place = Place::new();
    place.compile(&["-O1", "-fsanitize=address", PORTALS, "-o", "portals", "-DPLAIN"]);
    for options in WAYS {
        let out = place.run(options, &["./portals", "/dev/dsa/wq0.1"]).with(0);
        assert_eq!(out, "call 1\n", "{options:?}");
    }
}
