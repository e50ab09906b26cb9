//! Is a journal found that is not in the default directory?

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::on_machine::{OnMachine, STATE};

const LIST: &str = "var/lib/skipline-host/elsewhere";

fn change_in(machine: &OnMachine, directory: &str, ways: &str) {
    let change = ["tune", "ddio-ways", ways, "--apply", "--state-dir", directory];
    let run = machine.run(&change);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
}

#[test]
fn restore_finds_a_journal_that_was_kept_elsewhere() {
    let machine = OnMachine::new("skylake", &[]);
    let before = machine.content();
    change_in(&machine, "/srv/mine/", "4");
    assert_eq!(fs::read_to_string(machine.path().join(LIST)).expect("the list"), "srv/mine\n");
    let status = machine.run(&["status"]).out;
    assert!(status.contains("2 changes in force"), "{status}");
    let run = machine.run(&["restore", "--dry-run"]);
    assert!(run.out.contains("would be put back to 0x600"), "{}", run.out);
    let run = machine.run(&["restore"]);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    assert!(run.out.starts_with("The journal is in ROOT/srv/mine.\n"), "{}", run.out);
    let after = machine.content();
    assert!(before.iter().all(|(path, content)| after.get(path) == Some(content)));
    assert!(machine.run(&["restore"]).out.starts_with("Nothing to put back"));
}

#[test]
fn a_kill_before_the_journal_is_complete_leaves_it_on_the_list() {
    let machine = OnMachine::new("skylake", &[]);
    let change = ["tune", "ddio-ways", "4", "--apply", "--state-dir", "srv/mine"];
    assert_eq!(machine.run_and_crash("written", &change).code, None);
    let run = machine.run(&["restore"]);
    assert!(run.out.contains("put back to 0x600"), "{}{}", run.out, run.err);
}

#[test]
fn several_journals_are_each_named_with_the_command_that_restores_them() {
    let machine = OnMachine::new("skylake", &[]);
    assert_eq!(machine.run(&["tune", "ddio-ways", "3", "--apply"]).code, Some(0));
    change_in(&machine, "srv/one", "4");
    change_in(&machine, "srv/two", "5");
    // Newest first: the older values would overwrite newer ones.
    let run = machine.run(&["restore"]);
    assert_eq!(run.code, Some(1), "{}", run.out);
    assert!(run.out.contains("left alone: another program set it to 0x7c0"), "{}", run.out);
    for directory in ["srv/one", "srv/two"] {
        let command = format!("skipline-host restore --state-dir {directory}\n");
        assert!(run.out.contains(&command), "{}", run.out);
    }
    for directory in ["srv/two", "srv/one", STATE] {
        let run = machine.run(&["restore", "--state-dir", directory]);
        assert_eq!(run.code, Some(0), "{directory}: {}{}", run.out, run.err);
    }
    let status = machine.run(&["status"]);
    assert_eq!(status.out.matches("MSR 0xc8b = 0x600").count(), 2, "{}", status.out);
}

#[test]
fn where_var_cannot_be_written_the_list_is_beside_the_lock() {
    let machine = OnMachine::new("skylake", &[]);
    fs::write(machine.path().join("var"), "a file, so that nothing below can be made\n")
        .expect("var");
    change_in(&machine, "srv/mine", "4");
    let list = machine.path().join("run/skipline-host.elsewhere");
    assert_eq!(fs::read_to_string(list).expect("the list"), "srv/mine\n");
}

#[test]
fn a_list_that_another_user_can_write_is_not_believed() {
    let machine = OnMachine::new("skylake", &[]);
    change_in(&machine, "srv/mine", "4");
    let list = machine.path().join(LIST);
    fs::set_permissions(&list, PermissionsExt::from_mode(0o666)).expect("its mode");
    let before = machine.content();
    let run = machine.run(&["restore"]);
    assert_eq!(run.code, Some(3), "{}", run.out);
    assert!(run.err.contains("can be written by others (mode 666)"), "{}", run.err);
    assert!(machine.content() == before);
}

#[test]
fn a_directory_that_another_user_could_replace_keeps_no_journal() {
    let machine = OnMachine::new("skylake", &[]);
    let before = machine.content();
    let change = |directory: &str| {
        machine.run(&["tune", "ddio-ways", "4", "--apply", "--state-dir", directory])
    };
    let make = |directory: &str, mode: u32| {
        let path = machine.path().join(directory);
        fs::create_dir_all(path.join("own")).expect("a directory");
        fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("its mode");
    };
    make("var/open", 0o777);
    std::os::unix::fs::symlink("open", machine.path().join("var/link")).expect("a link");
    // A link that others can replace on the way to a directory that they cannot.
    make("var/good", 0o755);
    std::os::unix::fs::symlink("../good", machine.path().join("var/open/hop")).expect("a link");
    std::os::unix::fs::symlink("open/hop", machine.path().join("var/hops")).expect("a link");
    std::os::unix::fs::symlink("circle", machine.path().join("var/circle")).expect("a link");
    let circle = change("var/circle/own");
    assert!(circle.err.contains("is a link in a circle"), "{}", circle.err);
    for directory in ["var/open/own", "var/open/new/deep", "var/link/own", "var/hops/own"] {
        let run = change(directory);
        assert_eq!(run.code, Some(3), "{directory}: {}{}", run.out, run.err);
        assert!(run.err.contains("can be written by others (mode 777)"), "{}", run.err);
        assert!(machine.content() == before, "{directory}");
        assert!(!machine.path().join("var/open/new").exists(), "nothing is made there");
    }
    // As /tmp is: no user can rename what is another's.
    make("var/sticky", 0o1777);
    assert_eq!(change("var/sticky/own").code, Some(0));
}
