//! Boots between changes of a register: which values are restored, and which records a boot has settled.

use std::fs;
use std::ops::ControlFlow;

use host::Host;
use host::cpu::PackageId;
use host::tune::{
    ChangeStep, DEFAULT_STATE, Journal, RestoreOptions, RestoreOutcome, RestoredControl,
    StateDirectory, TuneApplyError, TunePlanner, apply, ignore_steps, restore,
};
use tempfile::TempDir;

use crate::machines::expanded;

/// The mask that the firmware gives both sockets.
const OF_FIRMWARE: u64 = 0x600;
const BOOT_ID: &str = "proc/sys/kernel/random/boot_id";

/// Ends the tool after a step.
fn killed(after: Option<ChangeStep>) -> impl FnMut(ChangeStep) -> ControlFlow<()> {
    move |step| match after == Some(step) {
        true => ControlFlow::Break(()),
        false => ignore_steps(step),
    }
}

/// A machine of two sockets whose second has a history.
struct Machine(TempDir);

impl Machine {
    fn new() -> Self {
        Self(expanded("skylake", &[]))
    }

    /// Writes set way 8 too.
    fn widening() -> Self {
        Self(expanded("skylake", &["one-way-more"]))
    }

    fn host(&self) -> Host {
        Host::from_tree(self.0.path()).expect("the machine")
    }

    fn holds(&self) -> u64 {
        let host = self.host();
        let planner = TunePlanner::new(&host).expect("the CPU's model").keep_unknown_bits(true);
        let plan = planner.ddio_ways(11, Some(PackageId(1))).expect("a plan");
        plan.changes[0].target.read(&host).expect("the register")
    }

    /// Another program, or the firmware, writes the register.
    fn set(&self, mask: u64) {
        let registers = format!("{{\"socket1.0xc8b\": {mask}}}");
        fs::write(self.0.path().join("registers.state"), registers).expect("registers");
    }

    fn tune(&self, ways: u32, killed_after: Option<ChangeStep>) {
        let host = self.host();
        let planner = TunePlanner::new(&host).expect("the CPU's model").keep_unknown_bits(true);
        let plan = planner.ddio_ways(ways, Some(PackageId(1))).expect("a plan");
        let state = StateDirectory::lock(&host.root, DEFAULT_STATE).expect("the lock");
        let ended = apply(&host, &state, &plan, &mut Vec::new(), &mut killed(killed_after));
        assert!(matches!(ended, Ok(()) | Err(TuneApplyError::Stopped(_))), "{ended:?}");
    }

    fn kexec(&self) {
        let id = self.0.path().join(BOOT_ID);
        let before = fs::read_to_string(&id).expect("the boot");
        fs::write(id, format!("{}+\n", before.trim())).expect("another boot");
    }

    fn boot(&self) {
        self.kexec();
        self.set(OF_FIRMWARE);
    }

    fn restore(&self) -> Vec<RestoreOutcome> {
        let mut done: Vec<RestoredControl> = Vec::new();
        self.restore_until(None, &mut done);
        done.into_iter().map(|one| one.result).collect()
    }

    fn restore_until(&self, killed_after: Option<ChangeStep>, done: &mut Vec<RestoredControl>) {
        let host = self.host();
        let state = StateDirectory::lock(&host.root, DEFAULT_STATE).expect("the lock");
        let ended =
            restore(&host, &state, RestoreOptions::default(), done, &mut killed(killed_after));
        assert!(matches!(ended, Ok(()) | Err(TuneApplyError::Stopped(_))), "{ended:?}");
    }

    /// Makes the journal one of a version that changed a register without a way for I/O.
    fn begin_with_zero(&self) {
        let file = self.0.path().join(DEFAULT_STATE).join("journal.json");
        let text = fs::read_to_string(&file).expect("the journal");
        let old = format!("\"old\":{OF_FIRMWARE}");
        let zero = text.replace(&old, "\"old\":0").replace(&old.replace(':', ": "), "\"old\": 0");
        assert_ne!(zero, text);
        fs::write(file, zero).expect("the journal");
    }

    /// The old values in the journal.
    fn journalled(&self) -> Vec<u64> {
        let journal = Journal::peek(&self.host().root, DEFAULT_STATE).expect("the journal");
        journal.entries.iter().map(|entry| entry.old).collect()
    }
}

#[test]
fn what_a_killed_change_only_began_is_put_back_after_kexec() {
    let machine = Machine::new();
    machine.tune(4, None);
    machine.tune(2, Some(ChangeStep::Journalled));
    machine.kexec();
    assert_eq!(machine.restore().last(), Some(&RestoreOutcome::PutBack { value: OF_FIRMWARE }));
    assert_eq!(machine.holds(), OF_FIRMWARE);
}

#[test]
fn the_value_before_a_killed_change_of_an_earlier_boot_is_not_taken_for_that_before_this_one() {
    let machine = Machine::new();
    machine.set(0x700);
    machine.tune(4, Some(ChangeStep::Written));
    machine.boot();
    machine.tune(3, None);
    assert_eq!(machine.restore().first(), Some(&RestoreOutcome::PutBack { value: OF_FIRMWARE }));
    assert_eq!(machine.holds(), OF_FIRMWARE);
}

#[test]
fn a_boot_that_gives_a_value_of_the_chain_settles_it() {
    let machine = Machine::new();
    machine.set(0x700);
    machine.tune(4, Some(ChangeStep::Written));
    machine.boot();
    machine.tune(5, None);
    machine.tune(6, Some(ChangeStep::Written));
    machine.boot();
    let back = RestoreOutcome::WasBack { holds: OF_FIRMWARE };
    assert_eq!(machine.restore()[..2], [back.clone(), back]);
    assert_eq!(machine.holds(), OF_FIRMWARE);
}

#[test]
fn a_value_that_may_not_be_written_needs_no_writing_after_a_boot() {
    let machine = Machine::new();
    machine.tune(4, None);
    machine.begin_with_zero();
    machine.boot();
    assert_eq!(machine.restore(), [RestoreOutcome::Rebooted]);
    assert_eq!(machine.restore(), []);
}

#[test]
fn a_restore_killed_before_it_saw_its_write_loses_nothing_after_kexec() {
    let machine = Machine::widening();
    machine.tune(4, None);
    machine.restore_until(Some(ChangeStep::Written), &mut Vec::new());
    machine.kexec();
    // Neither what the change left nor what it began with: it may be the restore's own.
    assert!(matches!(machine.restore()[..], [RestoreOutcome::Failed { .. }]));
    assert_eq!(machine.journalled(), [OF_FIRMWARE]);
}

#[test]
fn a_later_change_tells_what_a_killed_one_left() {
    let machine = Machine::widening();
    machine.set(0x780);
    machine.tune(2, Some(ChangeStep::Written));
    assert_eq!(machine.holds(), 0x700);
    machine.tune(6, Some(ChangeStep::Journalled));
    machine.kexec();
    machine.restore();
    assert_eq!((machine.holds(), machine.journalled()), (0x780, vec![]));
}

#[test]
fn a_boot_that_begins_a_later_change_settles_the_chain_before_it() {
    let machine = Machine::new();
    machine.tune(3, None);
    machine.tune(4, Some(ChangeStep::Written));
    machine.boot();
    machine.tune(5, None);
    machine.tune(2, None);
    // Another program's, though the tool had set it in the boot before.
    machine.set(0x700);
    machine.restore();
    assert_eq!((machine.holds(), machine.journalled()), (0x700, vec![]));
}

#[test]
fn what_another_program_put_back_within_a_boot_is_back() {
    let machine = Machine::new();
    machine.tune(4, None);
    machine.set(0x7f0);
    machine.tune(3, None);
    machine.set(OF_FIRMWARE);
    let back = RestoreOutcome::WasBack { holds: OF_FIRMWARE };
    assert_eq!(machine.restore(), [back.clone(), back]);
}

#[test]
fn bits_beside_the_ways_that_a_killed_change_accepted_hold_up_no_earlier_one() {
    let machine = Machine::new();
    machine.tune(4, None);
    machine.set(0x100_0780);
    machine.tune(5, Some(ChangeStep::Written));
    machine.restore();
    assert_eq!((machine.holds(), machine.journalled()), (0x100_0600, vec![]));
}
