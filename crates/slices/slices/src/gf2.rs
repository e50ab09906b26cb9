//! Linear maps between bit vectors, learnt from examples: linear algebra over GF(2).

/// Result of adding an example to a [`LinearMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VectorInsertion {
    /// The vector was independent of all earlier examples.
    New,
    /// The vector depends on earlier examples, which give it this value.
    Dependent(u32),
}

/// A linear map of 64 bits to 32, known on the span of its examples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LinearMap {
    /// Reduced echelon form: the highest bit of each vector is in no other vector.
    rows: Vec<(u64, u32)>,
}

impl LinearMap {
    /// Adds the example that `vector` maps to `value`, unless earlier examples decide its value.
    pub(crate) fn insert(&mut self, vector: u64, value: u32) -> VectorInsertion {
        let (rest, known) = self.reduce(vector);
        if rest == 0 {
            return VectorInsertion::Dependent(known);
        }
        let (row, pivot) = ((rest, known ^ value), top(rest));
        for (other, other_value) in &mut self.rows {
            if *other >> pivot & 1 == 1 {
                *other ^= row.0;
                *other_value ^= row.1;
            }
        }
        self.rows.push(row);
        VectorInsertion::New
    }

    /// The value of `vector`, if it is in the span of the examples.
    pub(crate) fn value(&self, vector: u64) -> Option<u32> {
        let (rest, value) = self.reduce(vector);
        (rest == 0).then_some(value)
    }

    /// The value of `vector`; bits that the examples leave open map to zero.
    pub(crate) fn extended(&self, vector: u64) -> u32 {
        let pivot_set = |row: &&(u64, u32)| vector >> top(row.0) & 1 == 1;
        self.rows.iter().filter(pivot_set).fold(0, |sum, row| sum ^ row.1)
    }

    /// A basis of the span of the examples, highest bit first.
    pub(crate) fn basis(&self) -> Vec<u64> {
        let mut basis: Vec<u64> = self.rows.iter().map(|row| row.0).collect();
        basis.sort_unstable_by(|one, other| other.cmp(one));
        basis
    }

    /// Eliminates the pivots of the rows from `vector`; returns the rest, and the value of the rows that were
    /// added.
    fn reduce(&self, vector: u64) -> (u64, u32) {
        self.rows.iter().fold((vector, 0), |(rest, value), row| {
            if vector >> top(row.0) & 1 == 1 {
                (rest ^ row.0, value ^ row.1)
            } else {
                (rest, value)
            }
        })
    }
}

/// The highest bit that is set.
fn top(vector: u64) -> u32 {
    63 - vector.leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_map_is_known_on_the_span_of_its_examples_and_nowhere_else(
            columns in proptest::collection::vec(any::<u32>(), 12),
            examples in proptest::collection::vec(0u64..1 << 12, 1..20),
            choice in any::<u32>(),
            probe in 0u64..1 << 12,
        ) {
            let apply = |vector: u64| {
                (0..12).filter(|bit| vector >> bit & 1 == 1).fold(0, |sum, bit| sum ^ columns[bit])
            };
            let mut map = LinearMap::default();
            for &vector in &examples {
                let expected = map.value(vector);
                match map.insert(vector, apply(vector)) {
                    VectorInsertion::New => prop_assert_eq!(expected, None),
                    VectorInsertion::Dependent(value) => prop_assert_eq!(value, apply(vector)),
                }
            }
            let sum = (examples.iter().enumerate())
                .filter(|(index, _)| choice >> index & 1 == 1)
                .fold(0, |sum, (_, vector)| sum ^ vector);
            prop_assert_eq!(map.value(sum), Some(apply(sum)));
            prop_assert_eq!(map.extended(sum), apply(sum));
            if let Some(value) = map.value(probe) {
                prop_assert_eq!(value, apply(probe));
            }
            // The rank is the number of examples that were new: the span has 2^rank members.
            let known = (0..1u64 << 12).filter(|&vector| map.value(vector).is_some()).count();
            prop_assert_eq!(known, 1 << map.basis().len());
        }
    }
}
