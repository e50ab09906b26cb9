//! Plans for the ways of the last-level cache that I/O allocates in.

use super::ddio::warning;
use super::{Change, Plan, PlanError, Planner};
use crate::controls::{Target, check_one_die, ways_in_words};
use crate::cpu::{Generation, PackageId, Proof, Socket, WaysRegister};
use units::WayMask;

/// Ways for I/O, as a user names them.
#[derive(Clone, Copy)]
enum Wanted {
    /// So many top ways.
    Number(u32),
    Mask(u64),
}

impl Wanted {
    fn control(self) -> &'static str {
        match self {
            Self::Number(_) => "tune ddio-ways",
            Self::Mask(_) => "tune ddio-mask",
        }
    }

    /// The mask, if a cache of so many ways can have it.
    fn mask(
        self,
        register: &WaysRegister,
        socket: PackageId,
        all: u32,
        takes_any: bool,
    ) -> Result<u64, PlanError> {
        let field = u64::from(WayMask::top(all, all).0);
        let refused = |why: String| Err(PlanError::BadRequest(why));
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
            Self::Mask(mask) if takes_any || register.masks.includes(mask, all) => Ok(mask),
            Self::Mask(mask) => refused(format!(
                "ddio-mask {mask:#x}: no manual says which masks the register takes, and tried is {} ({}), \
                 like {:#x}\n  remedy: --untried-mask writes it all the same",
                register.masks.in_words(),
                register.masks_source,
                WayMask::top(mask.count_ones(), all).0
            )),
        }
    }
}

impl Planner<'_> {
    /// The `ways` top ways for I/O, on one socket or all.
    ///
    /// # Errors
    /// If the number is out of range, this machine has no such register or it cannot be read.
    pub fn ddio_ways(&self, ways: u32, socket: Option<PackageId>) -> Result<Plan, PlanError> {
        self.ways_plan(Wanted::Number(ways), socket, format!("tune ddio-ways {ways}"))
    }

    /// A mask of ways for I/O, on one socket or all.
    ///
    /// # Errors
    /// If the mask has no way, others than the cache or a shape that was never tried, this machine has no
    /// such register or it cannot be read.
    pub fn ddio_mask(&self, mask: u64, socket: Option<PackageId>) -> Result<Plan, PlanError> {
        self.ways_plan(Wanted::Mask(mask), socket, format!("tune ddio-mask {mask:#x}"))
    }

    /// The fewest ways that it sets, and each socket, or one of them, with the ways of its LLC.
    ///
    /// # Errors
    /// If this machine has no such register, the socket does not exist, or the kernel hides its cache.
    pub fn ways_bounds(
        &self,
        socket: Option<PackageId>,
    ) -> Result<(u32, Vec<(PackageId, u32)>), PlanError> {
        let register = ways_register(self.known("steer")?)?;
        let sockets = self.wanted_sockets(socket)?.into_iter();
        let with_ways = sockets.map(|socket| Ok((socket.id, ways_of(socket)?)));
        Ok((register.default_ways, with_ways.collect::<Result<_, PlanError>>()?))
    }

    fn ways_plan(
        &self,
        wanted: Wanted,
        socket: Option<PackageId>,
        command: String,
    ) -> Result<Plan, PlanError> {
        let generation = self.known(wanted.control())?;
        let register = ways_register(generation)?;
        let changes: Result<Vec<Change>, _> = self
            .wanted_sockets(socket)?
            .into_iter()
            .map(|socket| self.ways_change(register, socket, wanted))
            .collect();
        let changes = changes?;
        let mut warnings = warning(register.proof, &generation.name, &register.source);
        let is_tried = |change: &Change| {
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
        Ok(Plan::new(&self.host.root, command, changes, warnings))
    }

    fn ways_change(
        &self,
        register: &WaysRegister,
        socket: &Socket,
        wanted: Wanted,
    ) -> Result<Change, PlanError> {
        check_one_die(socket).map_err(|why| {
            PlanError::NoControl(format!("{} is refused: {why}", wanted.control()))
        })?;
        let all = ways_of(socket)?;
        let mask = wanted.mask(register, socket.id, all, self.takes_any_mask)?;
        let target =
            Target::Msr { socket: socket.id, cpu: socket.first_cpu(), address: register.msr };
        let old = target.read(self.host)?;
        let owned = u64::from(WayMask::top(all, all).0);
        let unknown = old & !owned;
        if unknown != 0 && !self.keeps_unknown_bits {
            return Err(PlanError::NoControl(format!(
                "{target} holds {old:#x}: bits {unknown:#x} lie outside its {all} ways and no public \
                 source says what they mean\n  remedy: --keep-unknown-bits changes the ways and keeps \
                 these bits"
            )));
        }
        let asked = unknown | mask;
        let means = |value: u64| match register.proof {
            Proof::NoEffect | Proof::ExpectedNoEffect => {
                format!("{}, without known effect here", ways_in_words(value & owned, all))
            }
            Proof::Effective | Proof::Unknown => {
                format!("I/O writes may allocate in {}", ways_in_words(value & owned, all))
            }
        };
        Ok(Change {
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

fn ways_of(socket: &Socket) -> Result<u32, PlanError> {
    socket.ways().ok_or_else(|| {
        PlanError::NoControl(format!(
            "the kernel does not say how many ways the LLC of socket {} has \
             (/sys/devices/system/cpu/cpu{}/cache)",
            socket.id,
            socket.first_cpu()
        ))
    })
}

fn ways_register(generation: &Generation) -> Result<&WaysRegister, PlanError> {
    generation.ways_register.as_ref().ok_or_else(|| {
        let instead = match (&generation.io_rdt, generation.is_intel()) {
            (Some(control), _) => format!("here the control is: {control}"),
            (None, true) => "tune ddio switches root ports where they are known to obey".to_owned(),
            (None, false) => generation.io_path.clone(),
        };
        PlanError::NoControl(format!(
            "{} has no publicly documented register for the ways of I/O; {instead}",
            generation.name
        ))
    })
}
