//! Is a journal that cannot be believed, or read, or locked, a reason to write nothing?

use crate::memory::{Memory, never, shared_queue};
use dsa_config::change::{ChangeOptions, change};
use dsa_config::journal::JournalError;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

#[test]
fn a_second_tool_is_kept_away() {
    let machine = Memory::new();
    let _held = machine.state();
    let error = machine.place().lock(false).expect_err("it is held");
    assert!(error.to_string().contains("another skipline-dsa"), "{error}");
}

#[test]
fn what_another_user_could_have_written_is_not_believed() {
    let machine = Memory::configured();
    let wanted = machine.wanted(&shared_queue(0, 32, 20));
    let options = ChangeOptions::default();
    change(&machine, &machine.state(), &wanted, &options, &mut never).expect("the part has it");
    let path = machine.place().journal();
    fs::set_permissions(&path, PermissionsExt::from_mode(0o666)).expect("its mode");
    let words = machine.place().peek().expect_err("others can write it").to_string();
    assert!(words.contains("can be written by others (mode 666)"), "{words}");
    fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).expect("its mode");
    let aside = path.with_extension("aside");
    fs::rename(&path, &aside).expect("moved");
    symlink(&aside, &path).expect("a link");
    let words = machine.place().peek().expect_err("it is a link").to_string();
    assert!(words.contains("is a link"), "{words}");
}

#[test]
fn a_directory_that_another_user_could_replace_keeps_no_journal() {
    let machine = Memory::configured();
    drop(machine.state());
    let directory = machine.place().journal().parent().expect("a directory").to_path_buf();
    let above = directory.parent().expect("a directory").to_path_buf();
    fs::set_permissions(&above, PermissionsExt::from_mode(0o777)).expect("its mode");
    for words in [
        machine.place().peek().expect_err("others can replace it").to_string(),
        machine.place().lock(false).expect_err("others can replace it").to_string(),
    ] {
        assert!(words.contains("lib can be written by others (mode 777)"), "{words}");
    }
    // As /tmp is: no user can rename what is another's.
    fs::set_permissions(&above, PermissionsExt::from_mode(0o1777)).expect("its mode");
    machine.place().peek().expect("no other user can replace it");
    fs::rename(&directory, above.join("aside")).expect("moved");
    symlink("aside", &directory).expect("a link");
    let words = machine.place().lock(false).expect_err("it is a link").to_string();
    assert!(words.contains("skipline-dsa is a link"), "{words}");
}

#[test]
fn a_lock_that_is_a_link_is_not_taken() {
    let machine = Memory::configured();
    drop(machine.state());
    let journal = machine.place().journal();
    let root = journal.ancestors().nth(4).expect("the root");
    let lock = root.join("run/skipline-dsa");
    fs::rename(&lock, root.join("run/other")).expect("moved");
    symlink("other", &lock).expect("a link");
    let words = machine.place().lock(false).expect_err("it is a link").to_string();
    assert!(words.contains("run/skipline-dsa is a link"), "{words}");
}

#[test]
fn only_who_has_not_waited_is_told_to_wait() {
    let words = |has_waited| {
        let path = "/run/skipline-dsa/lock".into();
        JournalError::Locked { path, holder: None, has_waited }.to_string()
    };
    assert!(words(false).ends_with("lock); --wait waits for it"), "{}", words(false));
    assert!(words(true).ends_with("lock); waited for 1 h; end that process, or try again"));
}

#[test]
fn a_damaged_journal_stops_every_change() {
    let machine = Memory::configured();
    drop(machine.state());
    let path = machine.place().journal();
    let entry =
        r#"{"device":"dsa0","time_unix_s":1,"boot_id":"b","command":"c","left":null,"former":"#;
    let texts = [
        "{".to_owned(),
        r#"{"schema_version":2,"entries":[]}"#.to_owned(),
        r#"{"schema_version":1,"entries":[],"more":1}"#.to_owned(),
        format!(r#"{{"schema_version":1,"entries":[{entry}null}}]}}"#),
        format!(r#"{{"schema_version":1,"entries":[{entry}[{{"dev":"dsa1"}}]}}]}}"#),
        format!(r#"{{"schema_version":1,"entries":[{entry}[{{"dev":"dsa0","colour":1}}]}}]}}"#),
    ];
    for text in texts {
        fs::write(&path, &text).expect("is written");
        let wanted = machine.wanted(&shared_queue(0, 32, 20));
        let ended =
            change(&machine, &machine.state(), &wanted, &ChangeOptions::default(), &mut never);
        let words = ended.expect_err(&text).to_string();
        assert!(words.contains("is damaged"), "{text}: {words}");
        assert_eq!((machine.writes.get(), fs::read_to_string(&path).ok()), (0, Some(text)));
    }
}
