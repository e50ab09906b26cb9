//! A run of a user without rights.

use crate::runs::{self, Place};
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Command;

/// Number of a user and a group without privileges and files.
const UNPRIVILEGED: u32 = 65534;

#[test]
fn a_user_without_rights_has_devices_in_a_user_namespace() {
    let place = Place::new();
    let open = |path: &std::path::Path| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("is set");
    };
    open(place.path());
    // The directory of the build may be closed to others.
    let command = runs::command();
    let library = command.with_file_name("libskipline_dsa_trap.so");
    for file in [command, &library, &runs::client()] {
        let to = place.path().join(file.file_name().expect("is a file"));
        std::fs::copy(file, &to).expect("is copied");
        open(&to);
    }
    let own = place.path().join("own");
    std::fs::create_dir(&own).expect("is created");
    let is_root = rustix::process::getuid().is_root();
    let mut command = if is_root {
        chown(&own, Some(UNPRIVILEGED), Some(UNPRIVILEGED)).expect("root may");
        let mut command = Command::new("setpriv");
        command.args([
            &format!("--reuid={UNPRIVILEGED}"),
            &format!("--regid={UNPRIVILEGED}"),
            "--clear-groups",
        ]);
        command.arg(place.path().join("skipline-dsa"));
        command
    } else {
        Command::new(place.path().join("skipline-dsa"))
    };
    let script = "id -u; ./dsa_client shared wq0.1; ./dsa_client dedicated-file wq0.0
                  accel-config disable-wq dsa0/wq0.1; cat /sys/bus/dsa/devices/wq0.1/state";
    place.for_tests(&mut command).env("XDG_RUNTIME_DIR", &own);
    command.args(["run", "--", "bash", "-c", script]);
    let ended = runs::ended(&mut command);
    assert!(ended.errors.contains("in a user namespace, without root"), "{}", ended.errors);
    let user = if is_root { UNPRIVILEGED } else { rustix::process::getuid().as_raw() };
    assert_eq!(ended.with(0), format!("{user}\ncrc 0xe3069283\ndisabled\n"));
    assert_eq!(own.read_dir().expect("is a directory").count(), 0);
}

#[test]
fn root_has_devices_in_a_mount_namespace() {
    if rustix::process::getuid().is_root() {
        let errors = Place::new().run(&[], &["true"]).errors;
        assert_eq!(errors, "skipline-dsa: 1 device(s), in a mount namespace\n");
    }
}
