//! Slices chosen by XOR masks: the slices of one address for each bit decide all others.

use super::errors::RecoveryError;
use super::oracle::SliceOracle;
use super::questions::Race;
use super::{Candidate, LINE_BIT, LONGEST_SEQUENCE_BITS, Learner, Recovered};
use crate::gf2::{LinearMap, VectorInsertion};
use address_map::ADDRESS_BITS;
use units::narrow::fit;

/// A slice number that depends on address bits by XOR alone.
struct XorFunction {
    /// Number that each address bit adds (XOR) to the slice number, from bit 0 on.
    columns: Vec<u16>,
    /// The slice of address 0.
    constant: u16,
}

impl<O: SliceOracle> Learner<'_, O> {
    /// Finds the XOR function that fits the answers, if there is one.
    pub(super) fn xor(&mut self) -> Result<Option<Recovered>, RecoveryError<O::Error>> {
        self.questions.stage = "while XOR masks were looked for";
        let reference = self.pages.reference();
        let within = (LINE_BIT..reference.size.bits()).map(|bit| reference.start | 1 << bit);
        let others = self.pages.others().iter().map(|page| page.start);
        let addresses: Vec<u64> =
            [reference.start].into_iter().chain(within).chain(others).collect();
        let race = Race::new(&self.noise, self.votes());
        let slices = self.questions.decide(&addresses, race)?;
        let mut span = LinearMap::default();
        let mut foretold_pages = 0;
        for (address, slice) in addresses.iter().zip(&slices).skip(1) {
            let change = u32::from(slice ^ slices[0]);
            match span.insert(address ^ reference.start, change) {
                VectorInsertion::Dependent(other) if other != change => return Ok(None),
                VectorInsertion::Dependent(_) => foretold_pages += 1,
                VectorInsertion::New => (),
            }
        }
        let function = XorFunction {
            columns: (0..ADDRESS_BITS).map(|bit| fit(span.extended(1 << bit))).collect(),
            constant: slices[0] ^ fit::<u16, _>(span.extended(reference.start)),
        };
        let xor_masks = function.masks(self.slices.ilog2());
        let Some((base, perm_masks)) = function.as_sequence(self.slices) else {
            return Ok(None);
        };
        let candidate = Candidate { base, perm_masks, span, foretold_pages };
        Ok(self.accept(candidate)?.map(|file| Recovered { file, xor_masks }))
    }

    /// Most addresses on which votes decide, over all attempts.
    pub(super) fn votes(&self) -> f64 {
        f64::from((1 << LONGEST_SEQUENCE_BITS) + ADDRESS_BITS + self.pages.count())
    }
}

impl XorFunction {
    /// The masks of the slice number's bits, if there is no constant.
    fn masks(&self, slice_bits: u32) -> Option<Vec<u64>> {
        let mask = |slice_bit| {
            let set = |&(_, column): &(usize, &u16)| column >> slice_bit & 1 == 1;
            self.columns.iter().enumerate().filter(set).fold(0, |mask, (bit, _)| mask | 1u64 << bit)
        };
        (self.constant == 0).then(|| (0..slice_bits).map(mask).collect())
    }

    /// The function as the shortest sequence whose positions reach all slices, with its permutation masks.
    fn as_sequence(&self, slices: u32) -> Option<(Vec<u16>, Vec<u64>)> {
        let slice_bits = slices.ilog2() as usize;
        let mut position_of = LinearMap::default();
        let length_bits = (1..=LONGEST_SEQUENCE_BITS).find(|&bits| {
            let column = self.columns[(LINE_BIT + bits - 1) as usize];
            position_of.insert(u64::from(column), 1 << (bits - 1));
            position_of.basis().len() == slice_bits
        })?;
        let slice = |position: u32| {
            let set = (0..length_bits).filter(|bit| position >> bit & 1 == 1);
            set.fold(self.constant, |sum, bit| sum ^ self.columns[(LINE_BIT + bit) as usize])
        };
        let base = (0..1 << length_bits).map(slice).collect();
        let mut perm_masks = vec![0; length_bits as usize];
        for (bit, &column) in
            self.columns.iter().enumerate().skip((LINE_BIT + length_bits) as usize)
        {
            let position = position_of.value(u64::from(column)).expect("all slices are reached");
            for (bit_of_mask, mask) in perm_masks.iter_mut().enumerate() {
                *mask |= u64::from(position >> bit_of_mask & 1) << bit;
            }
        }
        Some((base, perm_masks))
    }
}
