//! Programs the registers of boxes while look-ups are counted: with the journal, allow-list, lock and
//! read-back of a change of `tune`. The old values are restored at the end, after an error, or by
//! `restore`.

use crate::controls::{BoxRegisters, BoxUnit, ControlTarget, SELECT_ENABLED};
use crate::cpu::{CpuId, CpuSocket};
use crate::error::FileError;
use crate::machine::Host;
use crate::tune::{
    ChangeOutcome, PlannedChange, RestoreOutcome, RestoredControl, StateDirectory, StateError,
    TuneApplyError, TunePlan, Watch, apply, restore_command,
};
use crate::unavailable::remedy;

/// Command that the journal records for these changes.
const COMMAND: &str = "slices map";

/// Registers to write so that boxes count look-ups, and the addresses of their counters.
#[derive(Clone, Debug)]
pub struct BoxPlan {
    /// Plan of the registers to write, with old and new value.
    pub plan: TunePlan,
    /// Address of the counter of each box.
    pub counters: Vec<u32>,
}

/// Error of programming boxes, or of restoring their registers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// a box cannot be read
    #[error("{error}{}", remedy(.error).map(|remedy| format!("\n  remedy: {remedy}")).unwrap_or_default())]
    File {
        /// The register, and the reason.
        #[from]
        error: FileError,
    },
    /// another program counts in the box
    #[error(
        "a counter of box {number} counts for another program (event select {address:#x} = \
         {value:#x})\n  remedy: stop perf, pcm, likwid or what else counts; if an earlier run of this tool \
         was killed, skipline-host restore"
    )]
    InUse {
        /// Number of the box.
        number: u32,
        /// MSR address of the register.
        address: u32,
        /// Value of the register.
        value: u64,
    },
    /// a register has bits that no source describes
    #[error(
        "{register} holds {value:#x}: no public source says what its bits {unknown:#x} mean, so it is left \
         as it is"
    )]
    Unknown {
        /// The register.
        register: String,
        /// Value of the register.
        value: u64,
        /// Bits of it that no source describes.
        unknown: u64,
    },
    /// an earlier run was killed
    #[error(
        "an earlier run of this tool was killed, and its values are not put back\n  remedy: \
         skipline-host restore"
    )]
    Leftover,
    /// journal or lock
    #[error("{0}")]
    State(#[from] StateError),
    /// a write was stopped or refused
    #[error("{0}")]
    Apply(#[from] TuneApplyError),
    /// a register reads back another value than was written
    #[error("{register} does not take the value {asked:#x}: {outcome}; the boxes were put back")]
    NotAsAsked {
        /// The register.
        register: String,
        /// Value that was written.
        asked: u64,
        /// Outcome of the write, for messages.
        outcome: String,
        /// Whether the write was refused, rather than accepted.
        is_refused: bool,
    },
    /// old values could not be restored
    #[error("{0}; they stay in the journal: skipline-host restore")]
    NotPutBack(String),
}

impl BoxPlan {
    /// Plans the registers of the first `count` boxes of a socket.
    ///
    /// # Errors
    /// If a register cannot be read, has unknown bits, or another program counts in a box.
    pub(super) fn for_socket(
        host: &Host,
        unit: &BoxUnit,
        socket: &CpuSocket,
        cpu: CpuId,
        count: u32,
    ) -> Result<Self, ProgramError> {
        let registers = &unit.registers;
        let mut changes = Vec::new();
        let mut counters = Vec::new();
        for number in 0..count {
            check_free(host, registers, socket, cpu, number)?;
            let change = |address: u32, what: &str, asked: &dyn Fn(u64) -> u64| {
                let target = ControlTarget::Msr { socket: socket.id, cpu, address };
                let old = target.read(host)?;
                // A register that a restore would refuse is not written in the first place.
                let unknown = old & registers.never_set_bits(address);
                if unknown != 0 {
                    let register = target.to_string();
                    return Err(ProgramError::Unknown { register, value: old, unknown });
                }
                Ok::<_, ProgramError>(PlannedChange {
                    place: target.to_string(),
                    target,
                    old: Some(old),
                    asked: asked(old),
                    owned: registers.owned_bits(address).unwrap_or(u64::MAX),
                    only_kept: false,
                    old_means: format!("{what} of box {number}"),
                    new_means: "look-ups are counted".into(),
                })
            };
            let listed = "boxes up to the table's last have registers";
            let control = registers.control(number).expect(listed);
            changes.push(change(control, "control", &|old| old & !registers.frozen_bits)?);
            if let (Some(address), Some(filter)) = (registers.filter(number), registers.filter) {
                changes.push(change(address, "filter", &|_| filter.value)?);
            }
            let select = registers.select(number).expect(listed);
            changes.push(change(select, "event select", &|_| registers.select_value)?);
            counters.push(registers.counter(number).expect(listed));
        }
        let plan = TunePlan::new(&host.root, COMMAND.into(), changes, Vec::new());
        Ok(Self { plan, counters })
    }
}

/// Checks that no counter of a box is enabled: control and filter belong to all of them.
fn check_free(
    host: &Host,
    registers: &BoxRegisters,
    socket: &CpuSocket,
    cpu: CpuId,
    number: u32,
) -> Result<(), ProgramError> {
    for address in registers.selects(number) {
        let value = ControlTarget::Msr { socket: socket.id, cpu, address }.read(host)?;
        if value & SELECT_ENABLED != 0 {
            return Err(ProgramError::InUse { number, address, value });
        }
    }
    Ok(())
}

/// Boxes that count look-ups. Dropping the value restores their registers as well, but does not report
/// failures.
pub struct ProgrammedBoxes<'a> {
    host: &'a Host,
    state: StateDirectory<'a>,
    done: bool,
}

impl<'a> ProgrammedBoxes<'a> {
    /// Writes the plan; each old value is journalled first.
    ///
    /// # Errors
    /// If a write is refused or reads back another value. The registers are restored then.
    pub fn program(
        host: &'a Host,
        state: StateDirectory<'a>,
        plan: &BoxPlan,
        watch: Watch<'_>,
    ) -> Result<Self, ProgramError> {
        if state.read()?.entries.iter().any(|entry| entry.command == COMMAND) {
            return Err(ProgramError::Leftover);
        }
        let mut applied = Vec::new();
        let result = apply(host, &state, &plan.plan, &mut applied, watch);
        // A stop by the watcher stands for a crash: nothing more is done.
        let done = matches!(result, Err(TuneApplyError::Stopped(_)));
        let programmed = Self { host, state, done };
        result?;
        let odd = applied.into_iter().find(|applied| !applied.outcome.is_as_requested());
        match odd {
            None => Ok(programmed),
            Some(odd) => {
                let is_refused = matches!(odd.outcome, ChangeOutcome::Refused { .. });
                let outcome = match odd.outcome {
                    ChangeOutcome::Refused { reason } => reason,
                    ChangeOutcome::Widened { holds } | ChangeOutcome::Different { holds } => {
                        format!("it reads back {holds:#x}")
                    }
                    _ => format!("the write is taken, and it still reads {:#x}", odd.old),
                };
                programmed.restore()?;
                let (register, asked) = (odd.place, odd.asked);
                Err(ProgramError::NotAsAsked { register, asked, outcome, is_refused })
            }
        }
    }

    /// Restores the old values of the registers, in reverse order.
    ///
    /// # Errors
    /// If a register cannot be restored. The others are restored all the same.
    pub fn restore(mut self) -> Result<(), ProgramError> {
        self.done = true;
        self.restore_all()
    }

    /// Restores the registers. Bits that another program has set since then are kept.
    fn restore_all(&self) -> Result<(), ProgramError> {
        let done = restore_command(self.host, &self.state, COMMAND)?;
        let failure = |RestoredControl { place, result, .. }: &RestoredControl| match result {
            RestoreOutcome::Failed { reason } => Some(format!("{place}: {reason}")),
            RestoreOutcome::ChangedByOthers { holds } => {
                Some(format!("{place}: another program has set it to {holds:#x}"))
            }
            _ => None,
        };
        let failures: Vec<String> = done.iter().filter_map(failure).collect();
        match failures.is_empty() {
            true => Ok(()),
            false => Err(ProgramError::NotPutBack(failures.join("; "))),
        }
    }
}

impl Drop for ProgrammedBoxes<'_> {
    fn drop(&mut self) {
        if !self.done {
            // Failures stay in the journal, from which `restore` works.
            let _ = self.restore_all();
        }
    }
}
