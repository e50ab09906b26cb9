//! Translations of a descriptor's pages, and what follows if one is absent.
//!
//! Models: one kept translation for each descriptor field of an engine, which batches neither use nor
//! replace; pages behind the current one asked for ahead; page requests, which block an engine.
//! Source: Intel DSA specification, sections 3.7 and 3.13; DSAssassin (HPCA'26).
//! Simplifies: the operating system answers every page request, after the same time.

use super::descriptor::{Descriptor, Operand};
use super::instance::{Dsa, InstanceEvent};
use super::job::{JobId, KeptTranslation};
use super::portal::Status;
use crate::fabric::{Extent, Fabric};
use crate::root_complex::iommu::PageFault;
use crate::tracer::Tracer;
use units::{LINE_BYTES, LineAddr, Picos};

impl Dsa {
    /// Asks for the translation of `line`, unless the engine has its page for this field.
    pub(super) fn look_up<T: Tracer>(
        &mut self,
        engine: usize,
        field: usize,
        line: LineAddr,
        fabric: &mut Fabric<T>,
        now: Picos,
    ) -> Result<KeptTranslation, PageFault> {
        let page = line.0 / self.config.page_lines;
        let kept = self.engines[engine].translations[field];
        if let Some(kept) = kept.filter(|kept| kept.page == page) {
            return Ok(kept);
        }
        let translated = KeptTranslation { page, ready: self.ask(line, fabric, now)? };
        self.engines[engine].translations[field] = Some(translated);
        Ok(translated)
    }

    /// Asks for a translation that no engine keeps. Physical addresses need none.
    fn ask<T: Tracer>(
        &mut self,
        line: LineAddr,
        fabric: &mut Fabric<T>,
        now: Picos,
    ) -> Result<Picos, PageFault> {
        if fabric.root_port(self.config.port).iommu().is_off() {
            return Ok(now);
        }
        self.counters_mut().translations += 1;
        let extent = Extent { first: line, bytes: LINE_BYTES };
        Ok(fabric.translate(self.config.port, &[extent], now)? + self.config.timing.translation)
    }

    /// Begins the fetch of a batch's list, or the translation of the first page of each operand.
    pub(super) fn translate<T: Tracer>(&mut self, id: JobId, fabric: &mut Fabric<T>, now: Picos) {
        self.trace_dispatch(id, fabric);
        if self.jobs[id].members.is_some() {
            // List and record together: a batch neither uses nor replaces what the engine keeps.
            let Descriptor { source: list, record, .. } = self.jobs[id].descriptor;
            let list = self.ask(list, fabric, now);
            match list.and_then(|list| Ok(list.max(self.ask(record, fabric, now)?))) {
                Ok(ready) => self.at(ready, InstanceEvent::Ready(id)),
                Err(fault) => self.wait_for_page(id, fault, fabric, InstanceEvent::Translate(id)),
            }
            return;
        }
        let mut ready = now;
        let operands = self.jobs[id].operands;
        for (number, operand) in operands.all().enumerate() {
            match self.page_of(id, number, operand, fabric, now) {
                Ok(at) => ready = ready.max(at),
                Err(fault) if self.jobs[id].descriptor.block_on_fault => {
                    return self.wait_for_page(id, fault, fabric, InstanceEvent::Translate(id));
                }
                Err(fault) => {
                    self.cut(id);
                    return self.at(fault.at.max(now), InstanceEvent::Finish(id));
                }
            }
        }
        self.at(ready, InstanceEvent::Ready(id));
    }

    /// When the page of an operand's next line is translated. Pages behind it are asked for as soon as the
    /// operand enters one.
    pub(super) fn page_of<T: Tracer>(
        &mut self,
        id: JobId,
        number: usize,
        operand: Operand,
        fabric: &mut Fabric<T>,
        now: Picos,
    ) -> Result<Picos, PageFault> {
        let job = &self.jobs[id];
        let (engine, line) = (job.engine, job.line_of(operand, job.issued));
        let page = line.0 / self.config.page_lines;
        if let Some(current) = job.pages[number].front().filter(|current| current.page == page) {
            return Ok(current.ready);
        }
        let mut pages = std::mem::take(&mut self.jobs[id].pages[number]);
        while pages.front().is_some_and(|passed| passed.page < page) {
            pages.pop_front();
        }
        let ready = match pages.front() {
            Some(current) => current.ready,
            None => {
                let current = self.look_up(engine, operand.field, line, fabric, now)?;
                pages.push_back(current);
                current.ready
            }
        };
        let end = operand.first.0 + operand.bytes.div_ceil(LINE_BYTES);
        let last = pages.back().map_or(page, |last| last.page);
        for next in last + 1..=page + self.config.pages_ahead {
            let line = LineAddr(next * self.config.page_lines);
            if line.0 >= end {
                break;
            }
            // An absent page is a fault when its turn comes, not ahead of it.
            let Ok(ahead) = self.look_up(engine, operand.field, line, fabric, now) else { break };
            pages.push_back(ahead);
        }
        self.jobs[id].pages[number] = pages;
        Ok(ready)
    }

    /// Blocks the engine until the operating system has made a page present, then goes on.
    pub(super) fn wait_for_page<T: Tracer>(
        &mut self,
        id: JobId,
        fault: PageFault,
        fabric: &mut Fabric<T>,
        then: InstanceEvent,
    ) {
        self.counters_mut().page_faults += 1;
        fabric.iommu_mut(self.config.port).map(fault.page);
        let present = fault.at + self.config.timing.page_request;
        let engine = self.jobs[id].engine;
        self.engines[engine].blocked_until = present;
        self.at(present, then);
        self.at(present, InstanceEvent::Dispatch(engine));
        self.at(present, InstanceEvent::Issue(engine));
    }

    /// Ends a descriptor at an absent page: what has not been asked for is left out.
    pub(super) fn cut(&mut self, id: JobId) {
        self.counters_mut().page_faults += 1;
        let job = &mut self.jobs[id];
        job.lines = job.issued;
        job.status = Status::PageFault;
    }
}
