//! Boxes of a drawn machine that count look-ups through registers.

use proptest::prelude::*;

use super::{Answer, OnWrite, Spec, answer, on_write};
use crate::watched::boxes::{BoxAddresses, addresses, frozen_bits};

/// Boxes of each socket, and how their registers answer.
#[derive(Clone, Debug)]
pub struct Boxes {
    pub count: u32,
    /// Initial values of control, filter and first event select.
    pub control: u64,
    pub filter: u64,
    pub select: u64,
    pub read: Answer,
    pub write: OnWrite,
}

/// A register of a box that counting changes.
#[derive(Clone, Copy, Debug)]
pub struct BoxControl {
    pub address: u32,
    /// The bits that the tool may change.
    pub owned: u64,
    /// Initial value.
    pub at_first: u64,
}

/// A counter is enabled.
const ENABLED: u64 = 1 << 22;

/// Most are free and hold what a source describes.
pub fn boxes() -> impl Strategy<Value = Option<Boxes>> {
    let seldom = prop::bool::weighted(0.06);
    let held = (any::<u32>(), any::<u32>(), any::<u32>(), seldom, seldom);
    let boxes = (1u32..4, held, answer(), on_write()).prop_map(|(count, held, read, write)| {
        let (control, filter, select, is_used, is_odd) = held;
        let select = (u64::from(select) & !ENABLED) | if is_used { ENABLED } else { 0 };
        let filter = u64::from(filter) | if is_odd { 1 << 40 } else { 0 };
        Boxes { count, control: control.into(), filter, select, read, write }
    });
    prop::option::of(boxes)
}

impl Spec {
    /// Registers of the boxes of a socket.
    pub fn box_addresses(&self) -> Vec<BoxAddresses> {
        let count = self.boxes.as_ref().map_or(0, |boxes| boxes.count as usize);
        addresses(self.part().name, count).unwrap_or_default()
    }

    /// The generation, where its boxes may be written: it is a server of one die, and they are counted
    /// in no other way.
    pub fn counts_by_registers(&self) -> Option<&'static str> {
        let is_so = self.is_server() && self.dies == 1 && !self.box_addresses().is_empty();
        is_so.then_some(self.part().name)
    }

    /// Registers that counting changes, controls first.
    pub fn box_controls(&self) -> Vec<BoxControl> {
        let (Some(boxes), Some(frozen)) = (&self.boxes, frozen_bits(self.part().name)) else {
            return Vec::new();
        };
        let all = self.box_addresses();
        let of =
            |owned: u64, at_first: u64| move |address: u32| BoxControl { address, owned, at_first };
        let controls = all.iter().map(|one| one.control).map(of(frozen, boxes.control));
        let filters = all.iter().filter_map(|one| one.filter).map(of(u64::MAX, boxes.filter));
        let selects = all.iter().map(|one| one.selects[0]).map(of(u64::MAX, boxes.select));
        controls.chain(filters).chain(selects).collect()
    }

    /// All registers of boxes with what they hold at first, and the bits that come back set where a write
    /// is widened.
    pub fn box_registers(&self) -> Vec<(u32, u64, u64)> {
        let changed = self.box_controls();
        let changed =
            changed.into_iter().map(|one| (one.address, one.at_first, one.owned & 1 << 20));
        let rest = self.box_addresses().into_iter().flat_map(|one| {
            let [_, others @ ..] = one.selects;
            others.into_iter().chain([one.counter]).map(|address| (address, 0, 0))
        });
        changed.chain(rest).collect()
    }
}
