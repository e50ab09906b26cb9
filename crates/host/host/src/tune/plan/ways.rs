//! Plans for the ways of the last-level cache that I/O allocates in.

use super::ddio::proof_warning;
use super::{OmittedControl, PlannedChange, TunePlan, TunePlanError, TunePlanner};
use crate::controls::{ControlTarget, check_one_die, describe_ways};
use crate::cpu::{CpuSocket, Generation, PackageId, Proof, WaysRegister, common_llc_ways};
use crate::offline::UnreachableSocket;
use units::WayMask;

/// Requested ways for I/O.
#[derive(Clone, Copy)]
enum WaysRequest {
    /// Number of top ways.
    Number(u32),
    /// Mask of ways.
    Mask(u64),
}

impl WaysRequest {
    fn control(self) -> &'static str {
        match self {
            Self::Number(_) => "tune ddio-ways",
            Self::Mask(_) => "tune ddio-mask",
        }
    }

    /// The mask for a cache of `all` ways.
    ///
    /// # Errors
    /// If number or mask are out of range, or the shape of the mask was never tried.
    fn mask(
        self,
        register: &WaysRegister,
        socket: PackageId,
        all: u32,
        allows_any: bool,
    ) -> Result<u64, TunePlanError> {
        let field = u64::from(WayMask::top(all, all).0);
        let refused = |why: String| Err(TunePlanError::BadRequest(why));
        match self {
            Self::Number(ways) => {
                let least = register.default_ways.min(all);
                if (least..=all).contains(&ways) {
                    return Ok(WayMask::top(ways, all).0.into());
                }
                refused(format!(
                    "ddio-ways {ways}: allowed are {least} to {all} on socket {socket} (its LLC has {all} \
                     ways, and the {least} default ones stay)"
                ))
            }
            Self::Mask(mask) if mask == 0 || mask & !field != 0 => refused(format!(
                "ddio-mask {mask:#x}: allowed are masks of one way or more within {field:#x}, the ways of \
                 socket {socket}"
            )),
            Self::Mask(mask) if allows_any || register.masks.includes(mask, all) => Ok(mask),
            Self::Mask(mask) => refused(format!(
                "ddio-mask {mask:#x}: no manual states which masks the register accepts, and only {} was \
                 tried ({}), like {:#x}\n  remedy: --untried-mask writes it all the same",
                register.masks.description(),
                register.masks_source,
                WayMask::top(mask.count_ones(), all).0
            )),
        }
    }
}

impl TunePlanner<'_> {
    /// Plans the `ways` top ways for I/O, on one socket or all.
    ///
    /// # Errors
    /// If the number is out of range, the machine does not have the register, or it cannot be read.
    pub fn ddio_ways(
        &self,
        ways: u32,
        socket: Option<PackageId>,
    ) -> Result<TunePlan, TunePlanError> {
        self.ways_plan(WaysRequest::Number(ways), socket, format!("tune ddio-ways {ways}"))
    }

    /// Plans a mask of ways for I/O, on one socket or all.
    ///
    /// # Errors
    /// If the mask selects no way, ways that the cache does not have or a shape that was never tried, the
    /// machine does not have the register, or it cannot be read.
    pub fn ddio_mask(
        &self,
        mask: u64,
        socket: Option<PackageId>,
    ) -> Result<TunePlan, TunePlanError> {
        self.ways_plan(WaysRequest::Mask(mask), socket, format!("tune ddio-mask {mask:#x}"))
    }

    /// The least number of ways that [`TunePlanner::ddio_ways`] accepts, and the ways of the LLC of each
    /// socket, or of one.
    ///
    /// # Errors
    /// If the machine does not have the register, the socket does not exist, or the kernel does not
    /// report the caches of all sockets, all alike.
    pub fn ways_bounds(
        &self,
        socket: Option<PackageId>,
    ) -> Result<(u32, Vec<(PackageId, u32)>), TunePlanError> {
        let register = ways_register(self.known_generation("steer")?)?;
        let sockets = self.selected_sockets(socket)?.into_iter();
        if let Some(first) = self.unreachable_registers(register, socket).first() {
            return Err(TunePlanError::NoControl(format!(
                "{} cannot be reached: {}\n  remedy: --socket ID steers one socket",
                first.place, first.reason
            )));
        }
        let ways = self.llc_ways()?;
        Ok((register.default_ways, sockets.map(|socket| (socket.id, ways)).collect()))
    }

    /// Number of ways of the last-level caches, which have to be alike.
    fn llc_ways(&self) -> Result<u32, TunePlanError> {
        common_llc_ways(&self.sockets)
            .map_err(|mismatch| TunePlanError::NoControl(mismatch.to_string()))
    }

    fn ways_plan(
        &self,
        wanted: WaysRequest,
        socket: Option<PackageId>,
        command: String,
    ) -> Result<TunePlan, TunePlanError> {
        let generation = self.known_generation(wanted.control())?;
        let register = ways_register(generation)?;
        let changes: Result<Vec<PlannedChange>, _> = self
            .selected_sockets(socket)?
            .into_iter()
            .map(|socket| self.ways_change(register, socket, wanted))
            .collect();
        let changes = changes?;
        let left_out = self.unreachable_registers(register, socket);
        let mut warnings = proof_warning(register.proof, &generation.name, &register.source);
        let is_tried = |change: &PlannedChange| {
            let ways = change.owned.count_ones();
            register.masks.includes(change.asked & change.owned, ways)
        };
        if !changes.iter().all(is_tried) {
            warnings.push(format!(
                "no public source has tried a mask of this shape ({}); what the hardware makes of it is \
                 read back",
                register.masks_source
            ));
        }
        warnings.extend(left_out.iter().map(|one| format!("{one}; it keeps its setting")));
        Ok(TunePlan { left_out, ..TunePlan::new(&self.host.root, command, changes, warnings) })
    }

    /// Registers that a change of all sockets does not reach, because no CPU of their socket is online.
    fn unreachable_registers(
        &self,
        register: &WaysRegister,
        socket: Option<PackageId>,
    ) -> Vec<OmittedControl> {
        let hidden = self.offline.sockets.iter().filter(|_| socket.is_none());
        let omitted = |socket: &UnreachableSocket| OmittedControl {
            place: format!("MSR {:#x} of {socket}", register.msr),
            reason: socket.reason(),
        };
        hidden.map(omitted).collect()
    }

    fn ways_change(
        &self,
        register: &WaysRegister,
        socket: &CpuSocket,
        wanted: WaysRequest,
    ) -> Result<PlannedChange, TunePlanError> {
        check_one_die(socket).map_err(|why| {
            TunePlanError::NoControl(format!("{} is refused: {why}", wanted.control()))
        })?;
        let all = self.llc_ways()?;
        let mask = wanted.mask(register, socket.id, all, self.allows_any_mask)?;
        let target = ControlTarget::Msr {
            socket: socket.id,
            cpu: socket.first_cpu(),
            address: register.msr,
        };
        let old = target.read(self.host)?;
        let owned = u64::from(WayMask::top(all, all).0);
        if target.denies_io_every_way(old, owned) {
            return Err(TunePlanError::NoControl(format!(
                "{target} holds {old:#x}, which leaves I/O no way of the LLC: no source says that the \
                 register takes this value, so a restore could not put it back"
            )));
        }
        let unknown = old & !owned;
        if unknown != 0 && !self.allows_unknown_bits {
            return Err(TunePlanError::NoControl(format!(
                "{target} holds {old:#x}: bits {unknown:#x} lie outside its {all} ways and no public \
                 source says what they mean\n  remedy: --keep-unknown-bits changes the ways and keeps \
                 these bits"
            )));
        }
        let asked = unknown | mask;
        let means = |value: u64| match register.proof {
            Proof::NoEffect | Proof::ExpectedNoEffect => {
                format!("{}, without known effect here", describe_ways(value & owned, all))
            }
            Proof::Effective | Proof::Unknown => {
                format!("I/O writes may allocate in {}", describe_ways(value & owned, all))
            }
        };
        Ok(PlannedChange {
            place: target.to_string(),
            target,
            old: Some(old),
            asked,
            owned,
            old_means: means(old),
            new_means: means(asked),
            only_kept: false,
        })
    }
}

fn ways_register(generation: &Generation) -> Result<&WaysRegister, TunePlanError> {
    generation.ways_register.as_ref().ok_or_else(|| {
        let instead = match (&generation.io_rdt, generation.is_intel()) {
            (Some(control), _) => format!("here the control is: {control}"),
            (None, true) => "tune ddio switches root ports where they are known to obey".to_owned(),
            (None, false) => generation.io_path.clone(),
        };
        TunePlanError::NoControl(format!(
            "{} has no publicly documented register for the ways of I/O; {instead}",
            generation.name
        ))
    })
}
