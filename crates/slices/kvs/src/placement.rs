//! The line of each value.

use clap::ValueEnum;
use serde::Serialize;
use slices::SliceMap;
use slices::memory::{
    ClaimError, OWN_PAGEMAP, PhysicalAddresses, ProcPagemap, SliceMemory, SliceOwner,
};
use slices::nearest::Latencies;
use slices::recovery::HugePageSize;
use std::error::Error;
use std::path::Path;
use units::narrow::{fit, usize_from};
use units::{LINE_BYTES, SliceId};

/// Slices of hot and cold values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum ValuePlacement {
    /// All values in all slices.
    Normal,
    /// Hot values in the slice of the core that reads them, the other values in slices of no core.
    SliceAware,
}

impl ValuePlacement {
    /// The placement's name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::SliceAware => "slice-aware",
        }
    }
}

/// The slice of each core: the nearest one that no earlier core has.
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
pub struct PlacedValues {
    pub memory: SliceMemory,
    /// The address of each key's line, for each core.
    pub lines: Vec<Vec<u64>>,
}

/// Allocates a line for every key of every core; `hot` has the hot keys of each core.
///
/// # Errors
/// If there is no memory, or it cannot be placed.
pub fn place_values(
    map: &SliceMap,
    placement: ValuePlacement,
    of_cores: &[SliceId],
    hot: &[Vec<u64>],
    keys: usize,
) -> Result<PlacedValues, Box<dyn Error>> {
    let hottest = hot.iter().map(Vec::len).max().unwrap_or(0);
    let bytes = bytes_needed(map, of_cores.len(), hottest, keys);
    let mut memory = SliceMemory::new_or_plain(map, bytes, HugePageSize::TwoMiB)?;
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
    Ok(PlacedValues { memory, lines })
}

/// Memory with pools of hot and cold lines for each core.
pub struct Pools {
    pub memory: SliceMemory,
    /// The addresses of the hot and of the cold lines, for each core.
    pub lines: Vec<[Vec<u64>; 2]>,
}

/// Allocates `hot` and `cold` lines for every core.
///
/// # Errors
/// If there is no memory, or it cannot be placed.
pub fn make_pools(
    map: &SliceMap,
    placement: ValuePlacement,
    of_cores: &[SliceId],
    [hot, cold]: [usize; 2],
) -> Result<Pools, Box<dyn Error>> {
    let bytes = bytes_needed(map, of_cores.len(), hot, hot + cold);
    let mut memory = SliceMemory::new_or_plain(map, bytes, HugePageSize::TwoMiB)?;
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

/// Claims all slices: returns the owner of cold lines, and an owner of the slice of each core. With `Normal`
/// there is only the first.
fn claim(
    memory: &mut SliceMemory,
    map: &SliceMap,
    placement: ValuePlacement,
    of_cores: &[SliceId],
) -> Result<(SliceOwner, Vec<SliceOwner>), ClaimError> {
    let all = (0..fit(map.slices())).map(SliceId);
    match placement {
        ValuePlacement::Normal => Ok((memory.claim(&all.collect::<Vec<_>>())?, Vec::new())),
        ValuePlacement::SliceAware => {
            let cold: Vec<SliceId> = all.filter(|slice| !of_cores.contains(slice)).collect();
            let claimed = of_cores.iter().map(|&slice| memory.claim(&[slice]));
            let owners = claimed.collect::<Result<Vec<_>, _>>()?;
            Ok((memory.claim(&cold)?, owners))
        }
    }
}

/// Bytes of memory that have enough lines in one slice for the hot values of a core, and enough in the slices
/// of no core for the cold values. A slice may have less than a fair share of lines: a quarter is added.
fn bytes_needed(map: &SliceMap, cores: usize, hottest: usize, keys: usize) -> usize {
    let slices = map.slices() as usize;
    let cold = (cores * keys).div_ceil(slices - cores);
    hottest.max(cold) * slices * usize_from(LINE_BYTES) * 5 / 4
}

/// Counts the lines that are in the wanted slice, by the kernel's physical addresses; `None` for memory
/// regardless of slices.
///
/// # Errors
/// If an address is not known or not covered.
pub fn count_in_slice(
    map: &SliceMap,
    memory: &SliceMemory,
    lines: &[u64],
    wanted: SliceId,
) -> Result<Option<usize>, Box<dyn Error>> {
    if memory.plain_reason().is_some() {
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
