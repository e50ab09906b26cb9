//! Does `doctor PROGRAM` say beforehand whether a program can have devices?

use crate::runs::{Place, ended};
use std::os::unix::fs::PermissionsExt;

const PLAIN: &str = "#include <stdio.h>\n#include <string.h>\n#include <sys/prctl.h>
int main(void) { puts(strerror(22)); return prctl(PR_SET_NAME, \"plain\"); }";
const BY_PRCTL: &str = "#include <linux/seccomp.h>\n#include <sys/prctl.h>
int main(void) { return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT); }";
const BY_SYSCALL: &str = "#include <sys/syscall.h>\n#include <unistd.h>
int main(void) { return syscall(SYS_seccomp, 0, 0, 0); }";

const PORTALS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/portals.c");
/// The machine of 64-bit ARM in an ELF header.
const ARM_64: u16 = 183;

/// The line of `doctor` on a program.
#[track_caller]
fn line(place: &Place, program: &str) -> String {
    let said = ended(&mut place.command(&["doctor", program])).out;
    let line = said.lines().find(|line| line.contains("the program: "));
    line.unwrap_or_else(|| panic!("{program}: {said}")).to_owned()
}

#[track_caller]
fn is_right(place: &Place, program: &str, can: bool, words: &str) {
    let line = line(place, program);
    assert!(line.starts_with(if can { "  ok" } else { "  no" }) && line.contains(words), "{line}");
}

fn executable(place: &Place, name: &str, mode: u32) {
    let mode = PermissionsExt::from_mode(mode);
    std::fs::set_permissions(place.path().join(name), mode).expect("its mode");
}

#[test]
fn what_cannot_have_devices_is_told_beforehand() {
    let place = Place::new();
    for (name, text) in [("plain.c", PLAIN), ("prctl.c", BY_PRCTL), ("syscall.c", BY_SYSCALL)] {
        std::fs::write(place.path().join(name), text).expect("is written");
    }
    place.compile(&["-O2", "plain.c", "-o", "plain"]);
    place.compile(&["-static", "plain.c", "-o", "static"]);
    place.compile(&["-static-pie", "plain.c", "-o", "static-pie"]);
    place.compile(&["-fsanitize=address", "plain.c", "-o", "sanitized"]);
    is_right(&place, "./plain", true, "loads libraries");
    is_right(&place, "./static", false, "statically linked");
    is_right(&place, "./static-pie", false, "statically linked");
    is_right(&place, "./sanitized", true, "ASAN_OPTIONS");
    for flags in ["-O0", "-O2", "-fno-plt"] {
        place.compile(&[flags, "prctl.c", "-o", "strict"]);
        is_right(&place, "./strict", false, "seccomp");
        place.compile(&[flags, "syscall.c", "-o", "filtered"]);
        is_right(&place, "./filtered", false, "seccomp");
    }
    std::fs::write(place.path().join("script"), "#!/bin/sh\n").expect("is written");
    std::fs::write(place.path().join("script-of-static"), "#!./static -x\n").expect("is written");
    std::fs::write(place.path().join("script-of-none"), "#!/no/such/shell\n").expect("is written");
    for name in ["script", "script-of-static", "script-of-none"] {
        executable(&place, name, 0o755);
    }
    is_right(&place, "./script", true, "loads libraries");
    is_right(&place, "./script-of-static", false, "./static: it is statically linked");
    is_right(&place, "./script-of-none", false, "/no/such/shell was not found");
    let mut other = std::fs::read(place.path().join("plain")).expect("is there");
    other[18..20].copy_from_slice(&ARM_64.to_le_bytes());
    std::fs::write(place.path().join("other"), other).expect("is written");
    executable(&place, "other", 0o755);
    is_right(&place, "./other", false, "not a 64-bit x86 program");
    is_right(&place, "./nothing", false, "was not found");
}

/// Programs, whether they can have devices, and words of the reason. Each copies by a queue, at the end
/// of what it does.
const TWELVE: [(&str, bool, &str); 12] = [
    ("./dynamic", true, "loads libraries"),
    ("./fixed-address", true, "loads libraries"),
    ("./sanitized", true, "ASAN_OPTIONS"),
    ("./script", true, "loads libraries"),
    ("./script-by-env", true, "loads libraries"),
    ("./static", false, "statically linked"),
    ("./static-pie", false, "statically linked"),
    ("./other-machine", false, "not a 64-bit x86 program"),
    ("./script-of-static", false, "./static: it is statically linked"),
    ("./seccomp-by-prctl", false, "seccomp"),
    ("./seccomp-by-syscall", false, "seccomp"),
    ("./chroot", false, "outside of the new root"),
];

#[test]
fn twelve_programs_have_twelve_right_answers() {
    let place = Place::new();
    let portals = |name: &str, flags: &[&str]| {
        place.compile(&[flags, &["-O1", "-DPLAIN", PORTALS, "-o", name]].concat());
    };
    portals("dynamic", &[]);
    portals("fixed-address", &["-no-pie"]);
    portals("sanitized", &["-fsanitize=address"]);
    portals("static", &["-static"]);
    portals("static-pie", &["-static-pie"]);
    portals("seccomp-by-prctl", &["-DRESTRICT=prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)"]);
    portals(
        "seccomp-by-syscall",
        &["-DRESTRICT=syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &no_mappings)"],
    );
    portals("chroot", &[]);
    let mut other = std::fs::read(place.path().join("dynamic")).expect("is there");
    other[18..20].copy_from_slice(&ARM_64.to_le_bytes());
    std::fs::write(place.path().join("other-machine"), other).expect("is written");
    for (name, text) in [
        ("script", "#!/bin/sh\nexec ./dynamic \"$@\"\n"),
        ("script-by-env", "#!/usr/bin/env bash\n./dynamic \"$@\"\n"),
        ("script-of-static", "#!./static\n"),
    ] {
        std::fs::write(place.path().join(name), text).expect("is written");
    }
    for name in ["other-machine", "script", "script-by-env", "script-of-static"] {
        executable(&place, name, 0o755);
    }
    for (program, can, words) in TWELVE {
        is_right(&place, program, can, words);
        // And what happens then.
        let ended = place.run(&["--quiet"], &[program, "/dev/dsa/wq0.1"]);
        assert_eq!(ended.out == "call 1\n", can, "{program}: {ended:?}");
        if !can && !program.contains("seccomp") {
            assert!(ended.refused().contains(words), "{program}");
        }
    }
}

#[test]
fn programs_that_change_their_user_are_not_for_it() {
    let place = Place::new();
    std::fs::copy("/bin/true", place.path().join("own")).expect("is copied");
    executable(&place, "own", 0o4755);
    // One's own user is no change.
    is_right(&place, "./own", true, "loads libraries");
    // Only root can give a file away.
    if std::os::unix::fs::chown(place.path().join("own"), Some(4321), None).is_ok() {
        executable(&place, "own", 0o4755);
        is_right(&place, "./own", false, "it changes its user");
        assert!(place.run(&[], &["./own"]).refused().contains("it changes its user"));
    }
}

#[test]
fn a_new_root_is_refused_with_the_reason() {
    let Some(path) = ["/usr/sbin/chroot", "/usr/bin/chroot"]
        .into_iter()
        .find(|path| std::path::Path::new(path).exists())
    else {
        return;
    };
    let errors = Place::new().run(&[], &[path, "/", "true"]).refused();
    assert!(errors.contains("outside of the new root"), "{errors}");
}
