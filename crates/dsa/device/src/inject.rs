//! Fault injection by a plan and a seed: page faults, refusals, errors, delays, reordering, resets.
//!
//! An [`InjectionPlan`] has the rates. An [`Injector`] decides which descriptors are affected: from the
//! seed, the number of the queue in its device, and the number of the descriptor in that queue. So a run
//! that submits the same descriptors in the same order gets the same faults. A member of a batch counts
//! as a descriptor of its own, with its number in the batch; only reordering is not drawn for it.

mod operands;
mod plan;

pub use plan::{Delays, HardwareErrors, InjectionPlan, PageFaults, PlanError, Reordering};

use crate::descriptor::Descriptor;
use crate::hardware::status;
use crate::memory::PAGE_BYTES;
use crate::memory::absent_pages::{self, Absent};
use operands::operands;
use std::time::{Duration, Instant};

/// Decides which faults are injected into which descriptors.
#[derive(Clone, Debug)]
pub struct Injector {
    plan: InjectionPlan,
    absent: Vec<Absent>,
}

/// Kind of a fault. Each kind has its own random numbers.
#[derive(Clone, Copy)]
enum FaultKind {
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

/// Faults that an injector draws for a descriptor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Injection<'a> {
    injector: &'a Injector,
    which: DescriptorNumber,
}

/// Faults that an injector draws for the members of a batch.
#[derive(Clone, Debug)]
pub(crate) struct BatchInjection {
    injector: Injector,
    batch: DescriptorNumber,
}

/// Numbers that identify a descriptor.
#[derive(Clone, Copy, Debug)]
struct DescriptorNumber {
    /// Number of the queue in its device.
    queue: usize,
    /// Number of the descriptor, or of its batch, in that queue.
    number: u64,
    /// Number of a member in its batch.
    member: Option<u32>,
}

impl BatchInjection {
    /// Draws the faults for a member.
    pub fn draw_for_member(&self, number: u32) -> Injection<'_> {
        let which = DescriptorNumber { member: Some(number), ..self.batch };
        Injection { injector: &self.injector, which }
    }
}

impl Injection<'_> {
    /// The faults for the members of this batch.
    pub fn for_members(&self) -> BatchInjection {
        BatchInjection { injector: self.injector.clone(), batch: self.which }
    }

    /// Executes a descriptor with its faults: delayed, with a page absent, or with the status of a hardware
    /// error, which `execute` gets.
    pub fn inflict<R>(&self, descriptor: &Descriptor, execute: impl FnOnce(Option<u8>) -> R) -> R {
        let plan = &self.injector.plan;
        if self.happens(plan.delays.rate, FaultKind::Delay) {
            wait(Duration::from_nanos(plan.delays.nanoseconds));
        }
        let page = self.absent_page(descriptor);
        let error = self.hardware_error(descriptor);
        absent_pages::without(page.as_slice(), || execute(error))
    }

    /// The page of an operand that is absent, if this descriptor gets a page fault.
    fn absent_page(&self, descriptor: &Descriptor) -> Option<Absent> {
        if !self.happens(self.injector.plan.page_faults.rate, FaultKind::PageFault) {
            return None;
        }
        let operands = operands(descriptor);
        let ranges: Vec<_> = operands.iter().flatten().filter(|range| range.bytes > 0).collect();
        let draw = self.draw(FaultKind::Page);
        let operand = ranges.get(units::narrow::usize_from(draw % ranges.len().max(1) as u64))?;
        let first = operand.address / PAGE_BYTES;
        let last = operand.address.saturating_add(operand.bytes - 1) / PAGE_BYTES;
        let page = first + (draw >> 8) % (last - first + 1);
        Some(Absent::data_page(page * PAGE_BYTES))
    }

    /// Status of a hardware error, if this descriptor gets one. A read, write or translation fails only for a
    /// descriptor that makes one.
    fn hardware_error(&self, descriptor: &Descriptor) -> Option<u8> {
        let HardwareErrors { read_rate, write_rate, translation_rate } =
            self.injector.plan.hardware_errors;
        let operands = operands(descriptor);
        let has = |is_write| operands.iter().flatten().any(|own| own.is_write == is_write);
        let kinds = [
            (read_rate, FaultKind::ReadError, status::HARDWARE_READ, has(false)),
            (write_rate, FaultKind::WriteError, status::HARDWARE_WRITE, has(true)),
            (
                translation_rate,
                FaultKind::TranslationError,
                status::HARDWARE_TRANSLATION,
                has(false) || has(true),
            ),
        ];
        let fails =
            |(rate, kind, _, can): &(f64, FaultKind, u8, bool)| *can && self.happens(*rate, *kind);
        kinds.into_iter().find(fails).map(|(_, _, code, _)| code)
    }

    /// Whether the random number of a kind is below a rate: never for 0, always for 1.
    fn happens(&self, rate: f64, kind: FaultKind) -> bool {
        const STEPS: f64 = (1_u64 << 53) as f64;
        rate > 0.0 && ((self.draw(kind) >> 11) as f64) < rate * STEPS
    }

    fn draw(&self, kind: FaultKind) -> u64 {
        let DescriptorNumber { queue, number, member } = self.which;
        let numbers = [kind as u64, queue as u64, number];
        numbers.into_iter().chain(member.map(u64::from)).fold(self.injector.plan.seed, next)
    }
}

impl Injector {
    /// An injector that follows a plan.
    #[must_use]
    pub fn new(plan: &InjectionPlan) -> Self {
        let ranges = plan.page_faults.ranges.iter();
        let absent = ranges.map(|range| Absent::pages_of(range.start, range.end)).collect();
        Self { plan: plan.clone(), absent }
    }

    /// Draws the faults for descriptor number `number` of a queue.
    pub(crate) fn draw_for(&self, queue: usize, number: u64) -> Injection<'_> {
        Injection { injector: self, which: DescriptorNumber { queue, number, member: None } }
    }

    /// Whether the queue appears full to submission number `submission`.
    pub(crate) fn is_full(&self, queue: usize, submission: u64) -> bool {
        self.draw_for(queue, submission).happens(self.plan.queue_full_rate, FaultKind::QueueFull)
    }

    /// Number of other descriptors that go before this one; `None` if it is not delayed.
    pub(crate) fn others_before(&self, queue: usize, number: u64) -> Option<u32> {
        let Reordering { rate, behind } = self.plan.reordering;
        self.draw_for(queue, number).happens(rate, FaultKind::Reordering).then_some(behind)
    }

    /// Runs `work` without the pages that are absent for every descriptor.
    pub(crate) fn without_ranges<R>(&self, work: impl FnOnce() -> R) -> R {
        absent_pages::without(&self.absent, work)
    }

    /// Whether interrupt number `number` is lost.
    pub(crate) fn loses_interrupt(&self, number: u64) -> bool {
        self.draw_for(0, number).happens(self.plan.lost_interrupts_rate, FaultKind::LostInterrupt)
    }

    /// Number of descriptors that end before the device is reset; `None`: no reset.
    pub(crate) fn reset_after(&self) -> Option<u64> {
        self.plan.reset_after_descriptors
    }
}

/// Shortest delay for which an engine sleeps. Below, it spins, as a sleep takes longer.
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
