//! Trouble on purpose: what a program has to survive, by a plan and a seed.
//!
//! A [`Plan`] says how often; an [`Injector`] says for which descriptors. It decides from the seed, the
//! number of the queue in its device, and the number of the descriptor in that queue, so a run that
//! submits the same in the same order meets the same trouble. A member of a batch has no number: a
//! range of absent pages meets it, a rate does not.

mod operands;
mod plan;

pub use plan::{Delays, HardwareErrors, PageFaults, Plan, PlanError, Reordering};

use crate::checks::QueueLimits;
use crate::descriptor::Descriptor;
use crate::engine::{Ended, Engine, Outcome, With};
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

/// What happens while a descriptor is executed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Trouble {
    /// How long the engine waits first.
    delay_ns: u64,
    /// The status with which it ends undone, if it passes the checks.
    hardware_error: Option<u8>,
    /// Pages that are absent for it.
    absent: Vec<Absent>,
}

impl Injector {
    /// An injector of a plan.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let ranges = plan.page_faults.ranges.iter();
        let absent = ranges.map(|range| Absent::pages_of(range.start, range.end)).collect();
        Self { plan: plan.clone(), absent }
    }

    /// Whether submission number `submission` to a queue finds it full.
    pub(crate) fn is_full(&self, queue: usize, submission: u64) -> bool {
        self.happens(self.plan.queue_full_rate, Kind::QueueFull, queue, submission)
    }

    /// How many other descriptors go before this one; `None` if it goes in its turn.
    pub(crate) fn others_before(&self, queue: usize, number: u64) -> Option<u32> {
        let Reordering { rate, behind } = self.plan.reordering;
        self.happens(rate, Kind::Reordering, queue, number).then_some(behind)
    }

    /// Executes descriptor number `number` of a queue with the trouble that it meets.
    pub fn execute(
        &self,
        engine: &Engine,
        (queue, number): (usize, u64),
        (descriptor, limits): (&Descriptor, &QueueLimits),
        watch: &mut dyn FnMut(&Ended<'_>),
    ) -> Outcome {
        self.execute_with(engine, (queue, number), (descriptor, limits), (None, watch))
    }

    /// As [`Self::execute`]. A crew helps with a batch.
    pub(crate) fn execute_with(
        &self,
        engine: &Engine,
        (queue, number): (usize, u64),
        (descriptor, limits): (&Descriptor, &QueueLimits),
        seen_by: With<'_>,
    ) -> Outcome {
        let trouble = self.trouble(queue, number, descriptor);
        wait(Duration::from_nanos(trouble.delay_ns));
        absent::without(&trouble.absent, || {
            engine.execute_with(descriptor, limits, trouble.hardware_error, seen_by)
        })
    }

    fn trouble(&self, queue: usize, number: u64, descriptor: &Descriptor) -> Trouble {
        let Delays { rate, nanoseconds } = self.plan.delays;
        let is_delayed = self.happens(rate, Kind::Delay, queue, number);
        let mut absent = self.absent.clone();
        absent.extend(self.absent_page(queue, number, descriptor));
        Trouble {
            delay_ns: if is_delayed { nanoseconds } else { 0 },
            hardware_error: self.hardware_error(queue, number, descriptor),
            absent,
        }
    }

    /// Whether notice number `number` of the software error register is lost.
    pub(crate) fn loses_interrupt(&self, number: u64) -> bool {
        self.happens(self.plan.lost_interrupts_rate, Kind::LostInterrupt, 0, number)
    }

    /// Descriptors that end before the device is reset.
    pub(crate) fn reset_after(&self) -> Option<u64> {
        self.plan.reset_after_descriptors
    }

    /// A page of one of its operands, if this descriptor meets a fault.
    fn absent_page(&self, queue: usize, number: u64, descriptor: &Descriptor) -> Option<Absent> {
        if !self.happens(self.plan.page_faults.rate, Kind::PageFault, queue, number) {
            return None;
        }
        let operands = operands(descriptor);
        let there: Vec<_> = operands.iter().flatten().filter(|own| own.bytes > 0).collect();
        let draw = self.draw(Kind::Page, queue, number);
        let operand = there.get(units::narrow::usize_from(draw % there.len().max(1) as u64))?;
        let first = operand.address / PAGE_BYTES;
        let last = operand.address.saturating_add(operand.bytes - 1) / PAGE_BYTES;
        let page = first + (draw >> 8) % (last - first + 1);
        Some(Absent::data_page(page * PAGE_BYTES))
    }

    /// Reading, writing or translating fails only where a descriptor does that.
    fn hardware_error(&self, queue: usize, number: u64, descriptor: &Descriptor) -> Option<u8> {
        let HardwareErrors { read_rate, write_rate, translation_rate } = self.plan.hardware_errors;
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
        let fails = |(rate, kind, _, can): &(f64, Kind, u8, bool)| {
            *can && self.happens(*rate, *kind, queue, number)
        };
        kinds.into_iter().find(fails).map(|(_, _, code, _)| code)
    }

    /// Whether a draw is below a rate: never for 0, always for 1.
    fn happens(&self, rate: f64, kind: Kind, queue: usize, number: u64) -> bool {
        const STEPS: f64 = (1_u64 << 53) as f64;
        rate > 0.0 && ((self.draw(kind, queue, number) >> 11) as f64) < rate * STEPS
    }

    fn draw(&self, kind: Kind, queue: usize, number: u64) -> u64 {
        [kind as u64, queue as u64, number].into_iter().fold(self.plan.seed, next)
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
