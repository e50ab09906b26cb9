//! Does a change that cannot be made to its end leave what was there, and say why?

use crate::memory::{Memory, Trouble, dies_at, never, shared_queue};
use dsa_config::change::{ChangeError, ChangeOptions, change};
use dsa_config::journal::ConfigJournal;
use dsa_config::restore::{ConfigRestoreOptions, RestoreResult, preview, restore};
use idxd::config_file::SavedConfig;
use idxd::{BusNode, DriverName, IdleHardware};

fn changed(machine: &Memory, file: &SavedConfig) -> Result<(), ChangeError> {
    let wanted = machine.wanted(file);
    change(machine, &machine.state(), &wanted, &ChangeOptions::default(), &mut never).map(|_| ())
}

fn restored(machine: &Memory, options: ConfigRestoreOptions) -> Vec<RestoreResult> {
    let mut done = Vec::new();
    restore(machine, &machine.state(), options, &mut done, &mut never).expect("it ends");
    done.into_iter().map(|one| one.result).collect()
}

#[test]
fn a_change_and_its_way_back() {
    let machine = Memory::configured();
    let before = machine.configuration();
    changed(&machine, &shared_queue(0, 32, 20)).expect("the part has it");
    assert_eq!(machine.driver.borrow().devices()[0].queues()[3].threshold(), 20);
    // Whole devices: what the file does not name is gone, and devices that it does not name stay.
    let now = machine.configuration().differences(&before);
    assert!(now.iter().all(|it| it.node.device() == 0) && now.len() > 20, "{now:?}");
    let journal = machine.place().peek().expect("a journal");
    assert_eq!(journal.entries.len(), 1);
    assert!(journal.entries[0].left.is_some());
    // A second change goes back to the same.
    changed(&machine, &shared_queue(0, 16, 2)).expect("the part has it");
    let results = restored(&machine, ConfigRestoreOptions::default());
    assert!(matches!(results[..], [RestoreResult::PutBack(steps)] if steps > 10), "{results:?}");
    machine.has(&before);
    assert_eq!(machine.place().peek().expect("none").entries, []);
    assert!(!machine.place().journal().exists());
}

#[test]
fn what_is_so_already_is_not_written() {
    let machine = Memory::configured();
    let writes = machine.writes.get();
    changed(&machine, &machine.configuration()).expect("nothing to do");
    assert_eq!(machine.writes.get(), writes);
    assert!(!machine.place().journal().exists());
}

#[test]
fn a_write_that_fails_in_the_middle_is_taken_back_with_all_before() {
    let mut failed = 0;
    for trouble in [Trouble::Refused, Trouble::Ignored] {
        for at in 0.. {
            let machine = Memory::configured();
            let before = machine.configuration();
            machine.trouble.set(Some((at, trouble)));
            match changed(&machine, &shared_queue(0, 32, 20)) {
                Ok(()) => break,
                Err(error @ ChangeError::TakenBack(_)) => {
                    let words = error.to_string();
                    let wanted = match trouble {
                        Trouble::Refused => "the kernel refused it: EIO",
                        Trouble::Ignored => "the kernel accepted it, but the attribute has",
                    };
                    assert!(words.contains(wanted) && words.contains("were put back"), "{words}");
                }
                Err(other) => panic!("{other}"),
            }
            machine.has(&before);
            assert_eq!(machine.place().peek().expect("none"), ConfigJournal::default());
            failed += 1;
        }
    }
    assert!(failed > 20, "{failed}");
}

#[test]
fn queues_that_programs_have_open_are_left_alone_unless_asked() {
    let machine = Memory::configured();
    let before = machine.configuration();
    let client = machine.open(0, 1);
    let error = changed(&machine, &shared_queue(0, 32, 20)).expect_err("it is open");
    let words = error.to_string();
    let wanted =
        "wq0.1 is in use: 1 client(s), of process(es) 77; end them, or add --even-if-in-use";
    assert_eq!(words, wanted);
    machine.has(&before);
    assert_eq!(machine.writes.get(), 0);
    assert!(!machine.place().journal().exists());
    // Another device is not concerned.
    changed(&machine, &shared_queue(1, 32, 20)).expect("nothing of it is open");
    let wanted = machine.wanted(&shared_queue(0, 32, 20));
    let options = ChangeOptions { disturbs: true, ..ChangeOptions::default() };
    change(&machine, &machine.state(), &wanted, &options, &mut never).expect("as asked");
    machine.close(&client);
    let results = restored(&machine, ConfigRestoreOptions::default());
    assert!(results.iter().all(|it| matches!(it, RestoreResult::PutBack(_))), "{results:?}");
    machine.has(&before);
}

#[test]
fn a_queue_that_is_opened_in_the_middle_of_a_change_ends_it() {
    let machine = Memory::configured();
    let before = machine.configuration();
    let wanted = machine.wanted(&shared_queue(0, 32, 20));
    let mut opened = None;
    let mut watch = |point| {
        // The first queue is off by then, the second is next.
        if point == dsa_config::steps::Point::ReadBack && opened.is_none() {
            opened = Some(machine.open(0, 1));
        }
        std::ops::ControlFlow::Continue(())
    };
    let error = change(&machine, &machine.state(), &wanted, &ChangeOptions::default(), &mut watch);
    let words = error.expect_err("it is open").to_string();
    assert!(words.starts_with("wq0.1 is in use") && words.contains("were put back"), "{words}");
    machine.close(&opened.expect("it was opened"));
    machine.has(&before);
}

#[test]
fn what_another_program_has_changed_since_is_not_lost() {
    let machine = Memory::configured();
    let before = machine.configuration();
    changed(&machine, &shared_queue(0, 32, 20)).expect("the part has it");
    let unbound = machine.driver.borrow_mut().unbind(DriverName::User, "wq0.3", &IdleHardware);
    unbound.expect("another program disables it");
    let others = machine.configuration();
    let error = changed(&machine, &shared_queue(0, 16, 2)).expect_err("it has changed");
    let words = error.to_string();
    assert!(words.contains("another program has changed it"), "{words}");
    assert!(words.contains("wq0.3: state enabled -> disabled"), "{words}");
    let results = restored(&machine, ConfigRestoreOptions::default());
    let [RestoreResult::ChangedByOthers(what)] = &results[..] else { panic!("{results:?}") };
    assert_eq!(what, "wq0.3: state enabled -> disabled");
    machine.has(&others);
    let journal = machine.place().peek().expect("it stays");
    let foreseen = preview(&machine, &journal, true).expect("a preview");
    assert!(matches!(foreseen[0].result, RestoreResult::PutBack(_)));
    let results =
        restored(&machine, ConfigRestoreOptions { all: true, ..ConfigRestoreOptions::default() });
    assert!(matches!(results[..], [RestoreResult::PutBack(_)]), "{results:?}");
    machine.has(&before);
}

#[test]
fn forgetting_keeps_what_is_there_and_goes_back_to_that() {
    let machine = Memory::configured();
    changed(&machine, &shared_queue(0, 32, 20)).expect("the part has it");
    let unbound = machine.driver.borrow_mut().unbind(DriverName::User, "wq0.3", &IdleHardware);
    unbound.expect("another program disables it");
    let others = machine.configuration();
    restored(&machine, ConfigRestoreOptions { forget: true, ..ConfigRestoreOptions::default() });
    machine.has(&others);
    assert_eq!(machine.place().peek().expect("none"), ConfigJournal::default());
    changed(&machine, &shared_queue(0, 16, 2)).expect("the part has it");
    restored(&machine, ConfigRestoreOptions::default());
    machine.has(&others);
}

#[test]
fn a_boot_has_unconfigured_the_devices_and_nothing_is_put_back() {
    let machine = Memory::configured();
    changed(&machine, &shared_queue(0, 32, 20)).expect("the part has it");
    *machine.boot.borrow_mut() = "another boot".to_owned();
    let now = machine.configuration();
    assert_eq!(restored(&machine, ConfigRestoreOptions::default()), [RestoreResult::Rebooted]);
    machine.has(&now);
    assert_eq!(machine.place().peek().expect("none"), ConfigJournal::default());
}

#[test]
fn half_a_configuration_that_could_not_be_written_is_not_given_up_by_itself() {
    let machine = Memory::new();
    let set = |attribute, text| {
        let mut driver = machine.driver.borrow_mut();
        driver.write(BusNode::Queue(0, 5), attribute, text, &IdleHardware).expect("it is off");
    };
    // A threshold above the size, by an order of writes that no file has.
    set("size", "32");
    set("threshold", "20");
    set("size", "4");
    let error = changed(&machine, &shared_queue(0, 32, 20)).expect_err("no way back");
    let words = error.to_string();
    assert!(words.contains("configuration of dsa0 could not be put back"), "{words}");
    assert!(words.contains("wq0.5: threshold = \"20\" was refused"), "{words}");
    assert_eq!(machine.writes.get(), 0);
    let factory = SavedConfig::unconfigured(&machine.driver.borrow(), &[0]);
    let options = ChangeOptions { without_way_back: true, ..ChangeOptions::default() };
    change(&machine, &machine.state(), &factory, &options, &mut never).expect("as asked");
    assert_eq!(machine.driver.borrow().devices()[0].queues()[5].threshold(), 0);
    assert!(!machine.place().journal().exists());
    changed(&machine, &shared_queue(0, 32, 20)).expect("the part has it");
}

#[test]
fn a_kill_in_the_middle_of_a_restore_is_made_good_by_the_next() {
    for at in 0.. {
        let machine = Memory::configured();
        let before = machine.configuration();
        changed(&machine, &shared_queue(0, 32, 20)).expect("the part has it");
        changed(&machine, &shared_queue(1, 8, 3)).expect("the part has it");
        let options = ConfigRestoreOptions::default();
        let mut watch = dies_at(at);
        let ended = restore(&machine, &machine.state(), options, &mut Vec::new(), &mut watch);
        restored(&machine, options);
        machine.has(&before);
        if ended.is_ok() {
            assert!(at > 30);
            break;
        }
        assert!(matches!(ended, Err(ChangeError::Stopped)));
    }
}
