//! Pages of data that are not present when an operation begins, and the core's answers to page faults.
//!
//! Models: the operating system takes pages away between two operations; a device that meets one asks for
//! it, a core that touches one enters the fault handler.
//! Source: Intel DSA specification, section 3.13; Linux (minor faults of anonymous memory).
//! Simplifies: each page is absent with the same probability, whatever its past; taking it away costs
//! nothing.

use model::core::Core;
use model::device::dsa::descriptor::Descriptor;
use model::fabric::Fabric;
use model::tracer::Tracer;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::collections::BTreeSet;
use units::{Cycles, LINE_BYTES, LineAddr, RootPortId};

/// The pages of a core's buffers.
#[derive(Debug)]
pub struct AbsentPages {
    percent: u32,
    page_lines: u64,
    /// The root ports of all engines that the core uses.
    ports: Vec<RootPortId>,
    /// The core's way into the fault handler and back.
    fault: Cycles,
    absent: BTreeSet<u64>,
    rng: ChaCha8Rng,
}

impl AbsentPages {
    /// Pages of `page_lines` lines, `percent` of which are absent whenever an operation begins.
    #[must_use]
    pub fn new(
        percent: u32,
        page_lines: u64,
        ports: Vec<RootPortId>,
        fault: Cycles,
        seed: u64,
    ) -> Self {
        let rng = ChaCha8Rng::seed_from_u64(seed);
        Self { percent, page_lines, ports, fault, absent: BTreeSet::new(), rng }
    }

    /// Draws which pages of an operation are absent when it begins.
    pub fn take_away<T: Tracer>(&mut self, fabric: &mut Fabric<T>, operation: &Descriptor) {
        for page in self.pages_of(operation) {
            if self.rng.next_u64() % 100 >= u64::from(self.percent) {
                self.make_present(fabric, page);
                continue;
            }
            self.absent.insert(page);
            for &port in &self.ports {
                let first = LineAddr(page * self.page_lines);
                fabric.iommu_mut(port).unmap(first, self.page_lines);
            }
        }
    }

    /// The core reads a line of each page of an operation. Returns the number of faults.
    pub fn touch<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        operation: &Descriptor,
    ) -> u64 {
        for operand in operation.operands().all() {
            let mut line = operand.first;
            let end = line.0 + operand.bytes.div_ceil(LINE_BYTES);
            while line.0 < end {
                core.load_independent(fabric, line);
                line = LineAddr((line.0 / self.page_lines + 1) * self.page_lines);
            }
        }
        self.answer_all(core, fabric, operation)
    }

    /// The core enters the fault handler for each absent page of an operation. Returns their number.
    pub fn answer_all<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        operation: &Descriptor,
    ) -> u64 {
        let pages = self.pages_of(operation);
        self.answer(core, fabric, pages)
    }

    /// As [`Self::answer_all`], for the pages of the first line of each operand: where a descriptor ended.
    pub fn answer_first<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        operation: &Descriptor,
    ) -> u64 {
        let operands = operation.operands();
        let pages = operands.all().map(|operand| operand.first.0 / self.page_lines).collect();
        self.answer(core, fabric, pages)
    }

    fn answer<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        pages: Vec<u64>,
    ) -> u64 {
        let absent: Vec<u64> = pages.into_iter().filter(|it| self.absent.contains(it)).collect();
        for &page in &absent {
            core.compute(self.fault);
            self.make_present(fabric, page);
        }
        absent.len() as u64
    }

    fn make_present<T: Tracer>(&mut self, fabric: &mut Fabric<T>, page: u64) {
        self.absent.remove(&page);
        for &port in &self.ports {
            fabric.iommu_mut(port).map(LineAddr(page * self.page_lines));
        }
    }

    fn pages_of(&self, operation: &Descriptor) -> Vec<u64> {
        let of = |first: LineAddr, bytes: u64| {
            let last = first.0 + bytes.div_ceil(LINE_BYTES).max(1) - 1;
            first.0 / self.page_lines..=last / self.page_lines
        };
        operation.operands().all().flat_map(|operand| of(operand.first, operand.bytes)).collect()
    }
}
