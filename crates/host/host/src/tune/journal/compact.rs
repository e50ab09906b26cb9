//! Compacts a journal to the records that a restore needs: for each control the value before the first
//! change, and the last value. A journal of any length becomes one record for each control that is not
//! restored, and one for each change whose end the tool did not see.

use std::collections::BTreeMap;

use super::chain::{can_join, is_reset, last_chain_start, returns_to_start};
use super::{ChangeRecord, Journal, NumberedRecord};
use crate::controls::ControlTarget;

/// Function that gives the mask that the kernel sets for I/O when allocation is switched on.
type AllIoWays<'a> = &'a dyn Fn(&ControlTarget) -> Option<u64>;

impl Journal {
    /// A journal with as few records as possible that is restored to the same values.
    ///
    /// `boot` identifies this boot; `all_io_ways` gives the mask that I/O has after a switch of I/O
    /// allocation.
    #[must_use]
    pub(in crate::tune) fn compact_for_boot(&self, boot: &str, all_io_ways: AllIoWays<'_>) -> Self {
        let mut groups: BTreeMap<String, Vec<NumberedRecord>> = BTreeMap::new();
        for (index, entry) in self.entries.iter().enumerate() {
            let name = match entry.target.io_alloc_folder() {
                Some(folder) => folder.to_owned(),
                None => entry.target.to_string(),
            };
            groups.entry(name).or_default().push((index, entry.clone()));
        }
        let shortened = groups.into_values().flat_map(|group| match group.first() {
            Some((_, first)) if first.target.io_alloc_folder().is_some() => {
                let group = records_of_boot(group, boot);
                compact_io_alloc(&group, all_io_ways).unwrap_or(group)
            }
            _ => join_chains(group),
        });
        let mut entries: Vec<NumberedRecord> = shortened.collect();
        entries.sort_by_key(|(index, _)| *index);
        Self { entries: entries.into_iter().map(|(_, entry)| entry).collect() }
    }
}

/// Joins the changes of one control wherever their chain is unbroken.
fn join_chains(group: Vec<NumberedRecord>) -> Vec<NumberedRecord> {
    let mut kept: Vec<NumberedRecord> = Vec::new();
    for (index, entry) in group {
        let mut entry = entry;
        if let Some((_, before)) = kept.last_mut()
            && before.read_back.is_none()
            && before.boot_id == entry.boot_id
        {
            // The tool did not see the end of that change; this change began with its result.
            before.read_back = Some(entry.old);
        }
        while let Some((_, before)) = kept.pop_if(|(_, before)| can_join(before, &entry)) {
            entry.old = (before.old & before.owned) | (entry.old & !before.owned);
            entry.owned |= before.owned;
        }
        let begins = last_chain_start(&kept);
        if kept.get(begins).is_some_and(|(_, first)| returns_to_start(first, &entry)) {
            kept.truncate(begins);
        } else if kept.last().is_some_and(|(_, before)| is_reset(before, &entry)) {
            kept.clear();
        }
        if !is_restored(&entry) {
            kept.push((index, entry));
        }
    }
    kept
}

/// Whether the change left the value from before it, in the bits that it owns.
fn is_restored(entry: &ChangeRecord) -> bool {
    entry.read_back.is_some_and(|left| (left ^ entry.old) & entry.owned == 0)
}

/// The changes of kernel files in this boot; if there are none, the last change of each file, so that a
/// restore can report their outcome.
fn records_of_boot(group: Vec<NumberedRecord>, boot: &str) -> Vec<NumberedRecord> {
    let of_this: Vec<NumberedRecord> =
        group.iter().filter(|(_, entry)| entry.boot_id == boot).cloned().collect();
    if !of_this.is_empty() {
        return of_this;
    }
    let last: BTreeMap<String, NumberedRecord> =
        group.into_iter().map(|numbered| (numbered.1.target.to_string(), numbered)).collect();
    last.into_values().collect()
}

/// Compacts the changes of I/O allocation and of its masks, which the kernel forgets with each switch.
/// `None` if the records in between are needed.
fn compact_io_alloc(
    group: &[NumberedRecord],
    all_io_ways: AllIoWays<'_>,
) -> Option<Vec<NumberedRecord>> {
    let is_switch = |entry: &ChangeRecord| matches!(entry.target, ControlTarget::Switch { .. });
    let of_switch = |(_, entry): &&NumberedRecord| is_switch(entry);
    let switches: Vec<NumberedRecord> = group.iter().filter(of_switch).cloned().collect();
    let switched: Vec<usize> = switches.iter().map(|(index, _)| *index).collect();
    let began_on = switches.first().is_none_or(|(_, first)| first.old == 1);
    let switch = join_chains(switches);
    if switch.len() > 1 || switch.iter().any(|(_, entry)| entry.read_back.is_none()) {
        return None;
    }
    if !began_on {
        // Allocation was off first and is off last, so masks have no meaning.
        return Some(switch);
    }
    let mut kept = Vec::new();
    let mut masks: BTreeMap<String, Vec<NumberedRecord>> = BTreeMap::new();
    for numbered in group.iter().filter(|(_, entry)| !is_switch(entry)) {
        masks.entry(numbered.1.target.to_string()).or_default().push(numbered.clone());
    }
    for of_cache in masks.into_values() {
        kept.extend(compact_mask(&of_cache, &switched, all_io_ways)?);
    }
    kept.sort_by_key(|(index, _)| *index);
    // Masks are written after the switch, so they come before it in the journal.
    kept.extend(switch);
    let last = group.last().map(|(index, _)| *index)?;
    Some(kept.into_iter().map(|(_, entry)| (last, entry)).collect())
}

/// Compacts the changes of the mask of a cache to one record, or to none if the mask has its first
/// value. `switched` contains the indices of the switches, with which the kernel forgot it. `None` if
/// the records in between are needed.
fn compact_mask(
    of_cache: &[NumberedRecord],
    switched: &[usize],
    all_io_ways: AllIoWays<'_>,
) -> Option<Option<NumberedRecord>> {
    let forgotten = |from: usize, to: usize| {
        let next = switched.partition_point(|at| *at < from);
        switched.get(next).is_some_and(|at| *at < to)
    };
    let (Some((_, first)), Some((index, last))) = (of_cache.first(), of_cache.last()) else {
        return Some(None);
    };
    let all = all_io_ways(&first.target)?;
    let is_whole = of_cache.windows(2).all(|pair| {
        let ((from, before), (to, entry)) = (&pair[0], &pair[1]);
        let left = if before.is_only_journalled() { Some(before.old) } else { before.read_back };
        // A restore that died has switched it on, and left a mask that was only journalled.
        let begins_anew = forgotten(*from, *to) || before.is_only_journalled();
        let is_next = !forgotten(*from, *to) && left == Some(entry.old);
        is_next || (begins_anew && entry.old == all)
    });
    if !is_whole {
        return None;
    }
    let mut entry = ChangeRecord { old: first.old, ..last.clone() };
    if forgotten(*index, usize::MAX) {
        // The kernel's default is not another program's choice.
        (entry.asked, entry.read_back) = (entry.old, None);
    } else if last.read_back.is_none() {
        return None;
    }
    Some((!is_restored(&entry)).then_some((*index, entry)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::{CpuId, PackageId};

    const FOLDER: &str = "sys/fs/resctrl/info/L3";
    const ALL: u64 = 0xffff;

    fn entry(target: ControlTarget, old: u64, asked: u64, read_back: Option<u64>) -> ChangeRecord {
        let (boot_id, command) = ("now".to_owned(), "tune".to_owned());
        ChangeRecord {
            time_unix_s: 1,
            boot_id,
            command,
            target,
            old,
            asked,
            owned: u64::MAX,
            read_back,
        }
    }

    fn ways(old: u64, asked: u64) -> ChangeRecord {
        let target = ControlTarget::Msr { socket: PackageId(0), cpu: CpuId(0), address: 0xc8b };
        entry(target, old, asked, Some(asked))
    }

    fn io_mask(old: u64, asked: u64, read_back: Option<u64>) -> ChangeRecord {
        let path = format!("{FOLDER}/io_alloc_cbm");
        entry(
            ControlTarget::Mask { path, resource: String::new(), domain: 0 },
            old,
            asked,
            read_back,
        )
    }

    fn switch(old: u64, asked: u64) -> ChangeRecord {
        let path = format!("{FOLDER}/io_alloc");
        entry(ControlTarget::Switch { path }, old, asked, Some(asked))
    }

    fn values(journal: &Journal) -> Vec<(u64, u64, Option<u64>)> {
        journal.entries.iter().map(|one| (one.old, one.asked, one.read_back)).collect()
    }

    fn compact_for_boot(entries: Vec<ChangeRecord>) -> Vec<(u64, u64, Option<u64>)> {
        values(&Journal { entries }.compact_for_boot("now", &|_| Some(ALL)))
    }

    #[test]
    fn a_hundred_thousand_changes_become_one_for_each_control() {
        let mut entries = Vec::new();
        for round in 0..20_000u64 {
            let ways_of = |round: u64| if round == 0 { 0x600 } else { 0x700 | (round % 2) };
            entries.push(ways(ways_of(round), ways_of(round + 1)));
            let mask = if round == 0 { 0xf } else { 0xff };
            entries.push(io_mask(mask, mask, None));
            entries.push(switch(1, 0));
            entries.push(switch(0, 1));
            entries.push(io_mask(ALL, 0xff, Some(0xff)));
        }
        let expected = [(0x600, 0x700, Some(0x700)), (0xf, 0xff, Some(0xff))];
        assert_eq!(compact_for_boot(entries.clone()), expected);
        // Switched off in the end: the first mask follows the switch when both are put back.
        entries.extend([io_mask(0xff, 0xff, None), switch(1, 0)]);
        let expected = [(0x600, 0x700, Some(0x700)), (0xf, 0xf, None), (1, 0, Some(0))];
        assert_eq!(compact_for_boot(entries), expected);
    }

    #[test]
    fn masks_that_a_restore_which_died_had_still_to_write_stay() {
        // It has switched allocation on, which gives all ways, and dropped the switch's entry.
        let died = || vec![io_mask(0xf, 0xf, None)];
        assert_eq!(compact_for_boot(died()), [(0xf, 0xf, None)]);
        let after = [died(), vec![io_mask(ALL, 0xff, Some(0xff))]].concat();
        assert_eq!(compact_for_boot(after), [(0xf, 0xff, Some(0xff))]);
    }

    #[test]
    fn what_another_program_wrote_in_between_stays_visible() {
        let entries = vec![ways(0x600, 0x780), ways(0x780, 0x7c0), ways(0x7f0, 0x700)];
        assert_eq!(
            compact_for_boot(entries),
            [(0x600, 0x7c0, Some(0x7c0)), (0x7f0, 0x700, Some(0x700))]
        );
        let entries = vec![io_mask(0xf, 0xff, Some(0xff)), io_mask(0x3, 0x7, Some(0x7))];
        assert_eq!(compact_for_boot(entries.clone()), values(&Journal { entries }));
    }

    #[test]
    fn other_bits_do_not_break_a_chain_and_boots_break_that_of_a_kernels_file() {
        let earlier = |entry| ChangeRecord { boot_id: "earlier".to_owned(), ..entry };
        let switch_bit = |entry| ChangeRecord { owned: 0x80, ..entry };
        let off = earlier(switch_bit(ways(0x80, 0)));
        assert_eq!(compact_for_boot(vec![off.clone(), switch_bit(ways(0x10, 0x90))]), []);
        let off_again = vec![off, switch_bit(ways(0x10, 0x10))];
        assert_eq!(compact_for_boot(off_again), [(0x90, 0x10, Some(0x10))]);
        let path = "sys/fs/resctrl/schemata".to_owned();
        let group = ControlTarget::Mask { path, resource: "L3".to_owned(), domain: 0 };
        let mask = |old, asked| entry(group.clone(), old, asked, Some(asked));
        let anew = vec![earlier(mask(0xf0, 0xfff)), mask(0xfff, 0xf)];
        assert_eq!(compact_for_boot(anew), [(0xfff, 0xf, Some(0xf))]);
    }

    #[test]
    fn a_change_that_was_taken_back_by_another_is_none() {
        assert_eq!(compact_for_boot(vec![ways(0x600, 0x780), ways(0x780, 0x600)]), []);
        assert_eq!(
            compact_for_boot(vec![switch(0, 1), io_mask(ALL, 3, Some(3)), switch(1, 0)]),
            []
        );
    }

    #[test]
    fn a_change_that_may_not_have_been_made_stays_apart_until_a_later_one_ends() {
        let unread = ChangeRecord { read_back: None, ..ways(0x780, 0x600) };
        let begun = vec![ways(0x600, 0x700), ways(0x700, 0x780), unread];
        let expected = [(0x600, 0x780, Some(0x780)), (0x780, 0x600, None)];
        assert_eq!(compact_for_boot(begun.clone()), expected);
        let ended = [begun, vec![ways(0x780, 0x7c0)]].concat();
        assert_eq!(compact_for_boot(ended), [(0x600, 0x7c0, Some(0x7c0))]);
    }

    #[test]
    fn a_boot_that_reset_the_register_drops_what_was_before_it() {
        let earlier = |entry| ChangeRecord { boot_id: "earlier".to_owned(), ..entry };
        let reset = vec![earlier(ways(0x600, 0x780)), ways(0x640, 0x7c0)];
        assert_eq!(compact_for_boot(reset), [(0x640, 0x7c0, Some(0x7c0))]);
        let kept = vec![earlier(ways(0x600, 0x780)), ways(0x780, 0x7c0)];
        assert_eq!(compact_for_boot(kept), [(0x600, 0x7c0, Some(0x7c0))]);
        let unread = || ChangeRecord { read_back: None, ..earlier(ways(0x780, 0x600)) };
        let not_made = vec![earlier(ways(0x600, 0x780)), unread(), ways(0x780, 0x7c0)];
        assert_eq!(compact_for_boot(not_made), [(0x600, 0x7c0, Some(0x7c0))]);
        let begun = ChangeRecord { read_back: None, ..ways(0x780, 0x7c0) };
        let not_reset = vec![earlier(ways(0x600, 0x780)), begun];
        assert_eq!(compact_for_boot(not_reset.clone()), values(&Journal { entries: not_reset }));
        // Reset to this, or widened to it: both values stay.
        let unknown = vec![unread(), ways(0x620, 0x7c0)];
        assert_eq!(compact_for_boot(unknown.clone()), values(&Journal { entries: unknown }));
    }
}
