//! The row buffer of a bank.
//!
//! Models: an open row that is hit, an empty bank that is activated, and a conflict that is
//! precharged and activated, with tRCD, tRP, tRAS, tRTP and tWR.
//! Source: JEDEC JESD79-4; first-ready first-come-first-served scheduling (Rixner et al., ISCA'00).
//! Simplifies: the scheduler sees no queue. A request uses the row that will be open at its turn; a
//! request for the previous row that came before that row was closed overtakes, as the scheduler would
//! have let it. A call for an earlier time than the one that opened the row is served from the state
//! before it, without waiting for later requests; for times more than two rows back the bank counts as
//! empty.

use super::rank::{Rank, Refresh};
use super::timing::Timing;
use std::hint::select_unpredictable;
use units::Picos;
use units::narrow::fit;

/// When rows are closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowPolicy {
    /// A row stays open until another is needed or the rank is refreshed (open page).
    Open,
    /// A row is closed when it has not been used for this long (adaptive open page).
    OpenFor(Picos),
    /// A row is closed as soon as no request waits for it (closed page).
    Closed,
}

impl RowPolicy {
    /// How long a row stays open after its last column command.
    pub(super) fn keep(self) -> Picos {
        match self {
            Self::Open => Picos::NEVER,
            Self::OpenFor(idle) => idle,
            Self::Closed => Picos::ZERO,
        }
    }
}

/// State in which a request finds its bank. Channels count requests by these indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Row {
    /// The row of the request is open.
    Hit,
    /// No row is open.
    Empty,
    /// Another row is open.
    Conflict,
}

impl Row {
    /// Number of states.
    pub(super) const KINDS: usize = 3;
}

/// How a request gets its row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened {
    /// Earliest time of its column command.
    pub(super) column_from: Picos,
    pub(super) row: Row,
    which: RowChoice,
}

/// The row among those that a bank remembers which a request uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowChoice {
    Current,
    Previous,
    /// A row that is no longer remembered.
    Earlier,
}

/// A row, from its activation until it is closed.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct OpenRow {
    row: u32,
    /// Arrival of the request for which the row was opened.
    asked: Picos,
    column_from: Picos,
    /// Earliest time of its precharge.
    close_from: Picos,
    /// When it is closed without a request.
    open_until: Picos,
}

impl OpenRow {
    const NONE: Self = Self {
        row: u32::MAX,
        asked: Picos::ZERO,
        column_from: Picos::ZERO,
        close_from: Picos::ZERO,
        open_until: Picos::ZERO,
    };

    /// A row for a request that came at `asked`.
    #[inline]
    fn activated(row: u32, asked: Picos, activated: Picos, timing: &Timing) -> Self {
        let column_from = activated + timing.trcd;
        let close_from = activated + timing.tras;
        // It is used before it can be closed, and not before this time.
        Self { row, asked, column_from, close_from, open_until: column_from }
    }

    /// Whether it is still open at `time`, if the latest refresh began at `refreshed`.
    #[inline]
    fn is_open(&self, time: Picos, refreshed: Picos) -> bool {
        (time <= self.open_until) & (self.column_from >= refreshed)
    }

    /// The state that a request for another row finds at `time`, when that request may activate its
    /// row, and when this row was closed. Uses selects instead of branches, since the outcome is
    /// unpredictable.
    #[inline]
    fn close(&self, time: Picos, refreshed: Picos, trp: Picos) -> (Row, Picos, Picos) {
        let open = self.is_open(time, refreshed);
        let found = select_unpredictable(open, Row::Conflict, Row::Empty);
        let closed = select_unpredictable(open, time, self.open_until).max(self.close_from);
        let by_refresh = self.column_from < refreshed;
        // (A row that a refresh closed may have had no close time.)
        let precharged = closed.saturating_add(trp);
        let from = select_unpredictable(by_refresh, time, time.max(precharged));
        (found, from, select_unpredictable(by_refresh, refreshed, closed))
    }
}

/// One bank. The fields that nearly every request reads, up to the number of the previous row, lie in
/// one line of the host's cache.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Bank {
    current: OpenRow,
    /// When the previous row was closed for the current one.
    previous_closed: Picos,
    /// Its rank in the channel, and its bank group among those of all ranks: stored with the bank.
    rank: u16,
    group: u16,
    previous: OpenRow,
}

impl Bank {
    /// A bank without an open row.
    pub(super) fn idle(rank: u32, group: u32) -> Self {
        Self {
            current: OpenRow::NONE,
            previous_closed: Picos::ZERO,
            rank: fit(rank),
            group: fit(group),
            previous: OpenRow::NONE,
        }
    }

    /// Rank of the bank in its channel.
    #[inline]
    pub(super) fn rank(&self) -> usize {
        usize::from(self.rank)
    }

    /// Bank group of the bank among those of all ranks.
    #[inline]
    pub(super) fn group(&self) -> usize {
        usize::from(self.group)
    }

    /// Gets `row` for a request that arrived at `arrival`, at or after the start of `refresh`.
    #[inline]
    pub(super) fn open(
        &mut self,
        row: u32,
        arrival: Picos,
        refresh: Refresh,
        rank: &mut Rank,
        timing: &Timing,
    ) -> Opened {
        let (refreshed, time) = (refresh.began, arrival + refresh.left);
        let in_order = arrival >= self.current.asked;
        if self.current.row == row && in_order && self.current.is_open(time, refreshed) {
            let column_from = time.max(self.current.column_from);
            return Opened { column_from, row: Row::Hit, which: RowChoice::Current };
        }
        let slips_past = (arrival <= self.previous_closed) | !in_order;
        let remembered = arrival >= self.previous.asked;
        // In this order, because most requests do not overtake, which a host can predict.
        if slips_past
            && self.previous.row == row
            && remembered & self.previous.is_open(time, refreshed)
        {
            let column_from = time.max(self.previous.column_from);
            return Opened { column_from, row: Row::Hit, which: RowChoice::Previous };
        }
        if !in_order {
            let (column_from, row, which) = self.open_earlier(row, arrival, refresh, rank, timing);
            return Opened { column_from, row, which };
        }
        let (found, from, closed) = self.current.close(time, refreshed, timing.trp);
        self.previous = self.current;
        self.previous_closed = closed;
        self.current = OpenRow::activated(row, arrival, rank.activate(from), timing);
        let column_from = self.current.column_from;
        Opened { column_from, row: found, which: RowChoice::Current }
    }

    /// As [`Self::open`], for a request that came before the one that opened the current row and needs
    /// a row to be opened: inserts it in time order. Returns the fields of the result of
    /// [`Self::open`], which keeps them in the host's registers.
    #[cold]
    fn open_earlier(
        &mut self,
        row: u32,
        arrival: Picos,
        refresh: Refresh,
        rank: &mut Rank,
        timing: &Timing,
    ) -> (Picos, Row, RowChoice) {
        let remembered = arrival >= self.previous.asked;
        let before = if remembered { self.previous } else { OpenRow::NONE };
        let time = arrival + refresh.left;
        let (found, from, closed) = before.close(time, refresh.began, timing.trp);
        let opened = OpenRow::activated(row, arrival, rank.activate(from), timing);
        let which = if !remembered {
            RowChoice::Earlier
        } else if row == self.current.row {
            // The later request for which the row was opened finds it open.
            self.current.asked = opened.asked;
            self.current.column_from = opened.column_from;
            self.previous_closed = closed;
            RowChoice::Current
        } else {
            self.previous = opened;
            RowChoice::Previous
        };
        (opened.column_from, found, which)
    }

    /// Notes the row's column command at `column`: the row may be closed at `close_from`, and is closed
    /// `keep` after its last command.
    #[inline]
    pub(super) fn used(&mut self, opened: Opened, column: Picos, close_from: Picos, keep: Picos) {
        if opened.which == RowChoice::Earlier {
            return;
        }
        let is_previous = opened.which == RowChoice::Previous;
        let row = select_unpredictable(is_previous, &mut self.previous, &mut self.current);
        row.close_from = row.close_from.max(close_from);
        row.open_until = row.open_until.max(column.saturating_add(keep));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dram::tests::ddr4_2400;

    const KEEP: Picos = Picos(500_000);
    /// Long after the activations of earlier steps, long before the first refresh.
    const NOW: Picos = Picos(1_000_000);

    struct OneBank {
        bank: Bank,
        rank: Rank,
        timing: Timing,
    }

    impl OneBank {
        fn new() -> Self {
            let timing = ddr4_2400();
            let rank = Rank::new(&timing, timing.trefi);
            Self { bank: Bank::idle(0, 0), rank, timing }
        }

        /// A read of `row`: its result and the time of its command, which is then issued.
        fn read(&mut self, row: u32, arrival: Picos) -> (Row, Picos) {
            let opened = self.open(row, arrival);
            let column = opened.column_from;
            self.bank.used(opened, column, column + self.timing.trtp, KEEP);
            (opened.row, column)
        }

        fn open(&mut self, row: u32, arrival: Picos) -> Opened {
            let refresh = self.rank.refresh(arrival);
            self.bank.open(row, arrival, refresh, &mut self.rank, &self.timing)
        }

        fn write(&mut self, row: u32, arrival: Picos, data_end: Picos) {
            let opened = self.open(row, arrival);
            let close_from = data_end + self.timing.twr;
            self.bank.used(opened, opened.column_from, close_from, KEEP);
        }
    }

    #[test]
    fn an_empty_bank_is_activated() {
        let mut one = OneBank::new();
        assert_eq!(one.read(7, NOW), (Row::Empty, NOW + one.timing.trcd));
    }

    #[test]
    fn an_open_row_is_hit_without_activation() {
        let mut one = OneBank::new();
        let (_, first) = one.read(7, NOW);
        assert_eq!(one.read(7, NOW), (Row::Hit, first), "it waits for the activation under way");
        let later = first + Picos(100_000);
        assert_eq!(one.read(7, later), (Row::Hit, later));
    }

    #[test]
    fn a_conflict_pays_precharge_and_activation() {
        let mut one = OneBank::new();
        let (_, first) = one.read(7, NOW);
        let later = first + Picos(100_000);
        let expected = later + one.timing.trp + one.timing.trcd;
        assert_eq!(one.read(8, later), (Row::Conflict, expected));
    }

    #[test]
    fn a_conflict_waits_until_the_open_row_may_be_closed() {
        let mut one = OneBank::new();
        let timing = one.timing.clone();
        let (_, first) = one.read(7, NOW);
        let may_close = (NOW + timing.tras).max(first + timing.trtp);
        let (_, second) = one.read(8, NOW);
        assert_eq!(second, may_close + timing.trp + timing.trcd);
    }

    #[test]
    fn a_written_row_is_closed_no_earlier_than_write_recovery_allows() {
        let mut one = OneBank::new();
        let timing = one.timing.clone();
        let data_end = NOW + Picos(90_000);
        one.write(7, NOW, data_end);
        let (_, column) = one.read(8, NOW + Picos(1));
        assert_eq!(column, data_end + timing.twr + timing.trp + timing.trcd);
    }

    #[test]
    fn an_unused_row_is_closed_in_time() {
        let mut one = OneBank::new();
        let (_, first) = one.read(7, NOW);
        let (found, used) = one.read(7, first + KEEP);
        assert_eq!(found, Row::Hit, "still open at t");
        let closed = used + KEEP + Picos(1);
        assert_eq!(one.read(7, closed).0, Row::Empty, "closed at t + 1");
    }

    #[test]
    fn a_refresh_closes_the_row_and_is_waited_for() {
        let mut one = OneBank::new();
        let timing = one.timing.clone();
        let begins = timing.trefi;
        one.read(7, begins - Picos(100_000));
        let (found, column) = one.read(7, begins + Picos(1_000));
        assert_eq!((found, column), (Row::Empty, begins + timing.trfc + timing.trcd));
    }

    #[test]
    fn a_row_that_stays_open_without_end_is_closed_by_a_refresh() {
        let mut one = OneBank::new();
        let begins = one.timing.trefi;
        let opened = one.open(7, begins - Picos(100_000));
        let column = opened.column_from;
        one.bank.used(opened, column, column, Picos::NEVER);
        let later = begins + one.timing.trfc;
        assert_eq!(one.read(8, later), (Row::Empty, later + one.timing.trcd));
    }

    #[test]
    fn a_hit_that_came_before_the_row_was_closed_slips_past_the_conflict() {
        let mut one = OneBank::new();
        let (_, first) = one.read(7, NOW);
        let (_, conflict) = one.read(8, NOW + Picos(1_000));
        let (found, column) = one.read(7, NOW + Picos(2_000));
        assert_eq!((found, column), (Row::Hit, first));
        assert!(column < conflict);
        let too_late = conflict;
        assert_eq!(one.read(7, too_late).0, Row::Conflict);
    }

    #[test]
    fn a_call_for_an_earlier_time_does_not_wait_for_one_far_ahead() {
        let mut one = OneBank::new();
        one.read(7, NOW);
        one.read(8, NOW + Picos(900_000));
        let earlier = NOW + Picos(300_000);
        let conflict = one.timing.trp + one.timing.trcd;
        assert_eq!(one.read(9, earlier), (Row::Conflict, earlier + conflict));
        // The later row stays open as well.
        assert_eq!(one.read(8, NOW + Picos(950_000)).0, Row::Hit);
    }

    #[test]
    fn a_call_from_before_all_that_is_remembered_waits_for_nothing() {
        let mut one = OneBank::new();
        one.read(7, NOW + Picos(800_000));
        one.read(8, NOW + Picos(900_000));
        let expected = (Row::Empty, NOW + one.timing.trcd);
        assert_eq!(one.read(9, NOW), expected);
        // The remembered state is unchanged.
        assert_eq!(one.read(7, NOW + Picos(850_000)).0, Row::Hit);
        assert_eq!(one.read(8, NOW + Picos(950_000)).0, Row::Hit);
    }

    #[test]
    fn an_earlier_call_for_the_row_ahead_opens_it_earlier() {
        let mut one = OneBank::new();
        one.read(8, NOW + Picos(900_000));
        let earlier = NOW + Picos(700_000);
        assert_eq!(one.read(8, earlier), (Row::Empty, earlier + one.timing.trcd));
        assert_eq!(one.read(8, NOW + Picos(800_000)).0, Row::Hit);
    }
}
