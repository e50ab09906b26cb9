//! Which line each value gets.

use clap::ValueEnum;
use serde::Serialize;
use slices::SliceMap;
use slices::memory::{ClaimError, OWN_PAGEMAP, Owner, PhysicalAddresses, ProcPagemap, SliceMemory};
use slices::nearest::Latencies;
use slices::recovery::PageSize;
use std::error::Error;
use std::path::Path;
use units::narrow::{fit, usize_from};
use units::{LINE_BYTES, SliceId};

/// Which slices values are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// All slices alike.
    Normal,
    /// Hot values in the slice of the core that reads them, the others in slices of no core.
    SliceAware,
}

impl Placement {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::SliceAware => "slice-aware",
        }
    }
}

/// The slice of each core: its nearest one that no earlier core has.
///
/// # Errors
/// If a core has no latencies, or there are as many cores as slices: none is left for cold values.
pub fn slices_of_cores(latencies: &Latencies, cores: &[usize]) -> Result<Vec<SliceId>, String> {
    if cores.len() >= latencies.slices() {
        return Err(format!(
            "{} cores, {} slices; allowed: fewer",
            cores.len(),
            latencies.slices()
        ));
    }
    let mut taken: Vec<SliceId> = Vec::new();
    for &core in cores {
        if core >= latencies.cores() {
            let known = latencies.cores() - 1;
            return Err(format!("no latencies of core {core}; there are: 0 to {known}"));
        }
        let order = latencies.by_distance(core);
        taken.extend(order.into_iter().find(|slice| !taken.contains(slice)));
    }
    Ok(taken)
}

/// Memory with a line for each value.
pub struct Placed {
    pub memory: SliceMemory,
    /// For each core, the address of each key's line.
    pub lines: Vec<Vec<u64>>,
}

/// Gives every key of every core a line; `hot` has the hot keys of each core.
///
/// # Errors
/// If there is no memory, or it cannot be placed.
pub fn place(
    map: &SliceMap,
    placement: Placement,
    of_cores: &[SliceId],
    hot: &[Vec<u64>],
    keys: usize,
) -> Result<Placed, Box<dyn Error>> {
    let hottest = hot.iter().map(Vec::len).max().unwrap_or(0);
    let bytes = bytes_needed(map, of_cores.len(), hottest, keys);
    let mut memory = SliceMemory::or_plain(map, bytes, PageSize::TwoMiB)?;
    let (rest, owners) = claim(&mut memory, map, placement, of_cores)?;
    let mut lines = vec![vec![0; keys]; of_cores.len()];
    for (lines, (core, hot)) in lines.iter_mut().zip(hot.iter().enumerate()) {
        for &key in hot {
            let owner = owners.get(core).copied().unwrap_or(rest);
            lines[usize_from(key)] = memory.allocate(owner, LINE_BYTES)?;
        }
        for line in lines.iter_mut().filter(|line| **line == 0) {
            *line = memory.allocate(rest, LINE_BYTES)?;
        }
    }
    Ok(Placed { memory, lines })
}

/// Memory with hot and cold lines for each core.
pub struct Pools {
    pub memory: SliceMemory,
    /// For each core, the addresses of its hot and its cold lines.
    pub lines: Vec<[Vec<u64>; 2]>,
}

/// Gives every core as many hot and cold lines.
///
/// # Errors
/// If there is no memory, or it cannot be placed.
pub fn pools(
    map: &SliceMap,
    placement: Placement,
    of_cores: &[SliceId],
    [hot, cold]: [usize; 2],
) -> Result<Pools, Box<dyn Error>> {
    let bytes = bytes_needed(map, of_cores.len(), hot, hot + cold);
    let mut memory = SliceMemory::or_plain(map, bytes, PageSize::TwoMiB)?;
    let (rest, owners) = claim(&mut memory, map, placement, of_cores)?;
    let mut lines = Vec::new();
    for core in 0..of_cores.len() {
        let near = owners.get(core).copied().unwrap_or(rest);
        let mut take = |owner, lines| {
            (0..lines).map(|_| memory.allocate(owner, LINE_BYTES)).collect::<Result<Vec<_>, _>>()
        };
        lines.push([take(near, hot)?, take(rest, cold)?]);
    }
    Ok(Pools { memory, lines })
}

/// The owner of all that is not hot, and one for the slice of each core; `Normal` has none of these.
fn claim(
    memory: &mut SliceMemory,
    map: &SliceMap,
    placement: Placement,
    of_cores: &[SliceId],
) -> Result<(Owner, Vec<Owner>), ClaimError> {
    let all = (0..fit(map.slices())).map(SliceId);
    match placement {
        Placement::Normal => Ok((memory.claim(&all.collect::<Vec<_>>())?, Vec::new())),
        Placement::SliceAware => {
            let of_no_core: Vec<SliceId> = all.filter(|slice| !of_cores.contains(slice)).collect();
            let claimed = of_cores.iter().map(|&slice| memory.claim(&[slice]));
            let owners = claimed.collect::<Result<Vec<_>, _>>()?;
            Ok((memory.claim(&of_no_core)?, owners))
        }
    }
}

/// Enough for the hot values of a core in one slice, and the cold ones in those of no core. A slice
/// may have less than a fair share of lines: a quarter is added.
fn bytes_needed(map: &SliceMap, cores: usize, hottest: usize, keys: usize) -> usize {
    let slices = map.slices() as usize;
    let cold = (cores * keys).div_ceil(slices - cores);
    hottest.max(cold) * slices * usize_from(LINE_BYTES) * 5 / 4
}

/// How many of these lines are in the slice wanted, by the kernel's word for their addresses; `None`
/// if the memory regards no slices.
///
/// # Errors
/// If an address is not known or not covered.
pub fn in_slice(
    map: &SliceMap,
    memory: &SliceMemory,
    lines: &[u64],
    wanted: SliceId,
) -> Result<Option<usize>, Box<dyn Error>> {
    if memory.plain_because().is_some() {
        return Ok(None);
    }
    let pagemap = ProcPagemap::open(Path::new(OWN_PAGEMAP))?;
    let mut inside = 0;
    for &line in lines {
        inside += usize::from(map.slice_of(pagemap.physical_address(line)?)? == wanted);
    }
    Ok(Some(inside))
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Cycles;

    #[test]
    fn two_cores_with_the_same_nearest_slice_share_none() {
        let rows = [vec![40.0, 50.0, 60.0], vec![41.0, 52.0, 51.0]];
        let rows = rows.map(|row| row.into_iter().map(Cycles).collect::<Vec<_>>());
        let latencies = Latencies::new(&rows).expect("is valid");
        let slices = slices_of_cores(&latencies, &[0, 1]).expect("there are enough");
        assert_eq!(slices, [SliceId(0), SliceId(2)]);
        assert!(slices_of_cores(&latencies, &[2]).expect_err("no such core").contains("0 to 1"));
        assert!(slices_of_cores(&latencies, &[0, 1, 0]).is_err(), "none is left");
    }
}
