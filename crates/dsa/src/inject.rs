//! Trouble on purpose: what a program has to survive, by a plan and a seed.
//!
//! A [`Plan`] says how often; an [`Injector`] says for which descriptors. It decides from the seed, the
//! number of the queue in its device, and the number of the descriptor in that queue, so a run that
//! submits the same in the same order meets the same trouble. A member of a batch is one more descriptor,
//! with its number in the batch; only its turn is nothing that is drawn.

mod operands;
mod plan;

pub use plan::{Delays, HardwareErrors, PageFaults, Plan, PlanError, Reordering};

use crate::descriptor::Descriptor;
use crate::hardware::status;
use crate::memory::PAGE_BYTES;
use crate::memory::absent::{self, Absent};
use operands::operands;
use std::time::{Duration, Instant};

/// Decides what happens to a descriptor.
#[derive(Clone, Debug)]
pub struct Injector {
    plan: Plan,
    absent: Vec<Absent>,
}

/// What a decision is about: each kind draws numbers of its own.
#[derive(Clone, Copy)]
enum Kind {
    PageFault = 1,
    Page,
    QueueFull,
    ReadError,
    WriteError,
    TranslationError,
    Delay,
    Reordering,
    LostInterrupt,
}

/// What an injector draws for a descriptor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draws<'a> {
    injector: &'a Injector,
    which: Which,
}

/// What the members of a batch meet.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    injector: Injector,
    batch: Which,
}

/// A descriptor, by numbers.
#[derive(Clone, Copy, Debug)]
struct Which {
    /// Of the queue in its device.
    queue: usize,
    /// Of the descriptor, or of its batch, in that queue.
    number: u64,
    /// Of a member in its batch.
    member: Option<u32>,
}

impl Trouble {
    /// Draws for a member.
    pub fn of_member(&self, number: u32) -> Draws<'_> {
        let which = Which { member: Some(number), ..self.batch };
        Draws { injector: &self.injector, which }
    }
}

impl Draws<'_> {
    /// For the members of this batch.
    pub fn keep(&self) -> Trouble {
        Trouble { injector: self.injector.clone(), batch: self.which }
    }

    /// Executes the descriptor in its trouble: late, without pages, or to end with a status.
    pub fn meet<R>(&self, descriptor: &Descriptor, execute: impl FnOnce(Option<u8>) -> R) -> R {
        let plan = &self.injector.plan;
        if self.happens(plan.delays.rate, Kind::Delay) {
            wait(Duration::from_nanos(plan.delays.nanoseconds));
        }
        let page = self.absent_page(descriptor);
        let error = self.hardware_error(descriptor);
        absent::without(page.as_slice(), || execute(error))
    }

    /// A page of one of its operands, if this descriptor meets a fault.
    fn absent_page(&self, descriptor: &Descriptor) -> Option<Absent> {
        if !self.happens(self.injector.plan.page_faults.rate, Kind::PageFault) {
            return None;
        }
        let operands = operands(descriptor);
        let there: Vec<_> = operands.iter().flatten().filter(|own| own.bytes > 0).collect();
        let draw = self.draw(Kind::Page);
        let operand = there.get(units::narrow::usize_from(draw % there.len().max(1) as u64))?;
        let first = operand.address / PAGE_BYTES;
        let last = operand.address.saturating_add(operand.bytes - 1) / PAGE_BYTES;
        let page = first + (draw >> 8) % (last - first + 1);
        Some(Absent::data_page(page * PAGE_BYTES))
    }

    /// Reading, writing or translating fails only where a descriptor does that.
    fn hardware_error(&self, descriptor: &Descriptor) -> Option<u8> {
        let HardwareErrors { read_rate, write_rate, translation_rate } =
            self.injector.plan.hardware_errors;
        let operands = operands(descriptor);
        let has = |is_write| operands.iter().flatten().any(|own| own.is_write == is_write);
        let kinds = [
            (read_rate, Kind::ReadError, status::HARDWARE_READ, has(false)),
            (write_rate, Kind::WriteError, status::HARDWARE_WRITE, has(true)),
            (
                translation_rate,
                Kind::TranslationError,
                status::HARDWARE_TRANSLATION,
                has(false) || has(true),
            ),
        ];
        let fails =
            |(rate, kind, _, can): &(f64, Kind, u8, bool)| *can && self.happens(*rate, *kind);
        kinds.into_iter().find(fails).map(|(_, _, code, _)| code)
    }

    /// Whether a draw is below a rate: never for 0, always for 1.
    fn happens(&self, rate: f64, kind: Kind) -> bool {
        const STEPS: f64 = (1_u64 << 53) as f64;
        rate > 0.0 && ((self.draw(kind) >> 11) as f64) < rate * STEPS
    }

    fn draw(&self, kind: Kind) -> u64 {
        let Which { queue, number, member } = self.which;
        let numbers = [kind as u64, queue as u64, number];
        numbers.into_iter().chain(member.map(u64::from)).fold(self.injector.plan.seed, next)
    }
}

impl Injector {
    /// An injector of a plan.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let ranges = plan.page_faults.ranges.iter();
        let absent = ranges.map(|range| Absent::pages_of(range.start, range.end)).collect();
        Self { plan: plan.clone(), absent }
    }

    /// What it draws for descriptor number `number` of a queue.
    pub(crate) fn of(&self, queue: usize, number: u64) -> Draws<'_> {
        Draws { injector: self, which: Which { queue, number, member: None } }
    }

    /// Whether submission number `submission` to a queue finds it full.
    pub(crate) fn is_full(&self, queue: usize, submission: u64) -> bool {
        self.of(queue, submission).happens(self.plan.queue_full_rate, Kind::QueueFull)
    }

    /// How many other descriptors go before this one; `None` if it goes in its turn.
    pub(crate) fn others_before(&self, queue: usize, number: u64) -> Option<u32> {
        let Reordering { rate, behind } = self.plan.reordering;
        self.of(queue, number).happens(rate, Kind::Reordering).then_some(behind)
    }

    /// Does `work` without the pages that are absent for every descriptor.
    pub(crate) fn without_ranges<R>(&self, work: impl FnOnce() -> R) -> R {
        absent::without(&self.absent, work)
    }

    /// Whether notice number `number` of the software error register is lost.
    pub(crate) fn loses_interrupt(&self, number: u64) -> bool {
        self.of(0, number).happens(self.plan.lost_interrupts_rate, Kind::LostInterrupt)
    }

    /// Descriptors that end before the device is reset.
    pub(crate) fn reset_after(&self) -> Option<u64> {
        self.plan.reset_after_descriptors
    }
}

/// Below this a waiting engine spins: a sleep takes longer.
const SHORT: Duration = Duration::from_micros(200);

fn wait(time: Duration) {
    if time >= SHORT {
        return std::thread::sleep(time);
    }
    let begun = Instant::now();
    while begun.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// The output function of splitmix64 (Steele, Lea, Flood, 2014), for a state and a number.
fn next(state: u64, number: u64) -> u64 {
    let mixed = state.wrapping_add(number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
