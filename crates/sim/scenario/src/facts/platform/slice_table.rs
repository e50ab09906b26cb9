//! A processor's slice function as a file, with the errors of this crate. [`slices::table_file`]
//! defines the format.

use crate::text::document;
use crate::text::error::InputError;
use address_map::BaseSequence;
use slices::table_file::WrittenTable;

/// Reads a slice table from TOML; `file` is its name in messages. The simulator uses the function for
/// all addresses, including those beyond the table's validity range.
///
/// # Errors
/// If the text is invalid, a key is unknown or missing, or the table is not a slice function.
pub(crate) fn read(file: &str, text: &str) -> Result<BaseSequence, InputError> {
    let written: WrittenTable = document::interpret(file, document::parse(file, text)?)?;
    let read = written.check().map_err(|wrong| InputError::WrongValue {
        file: file.into(),
        key: wrong.key,
        reason: wrong.reason,
    })?;
    Ok(BaseSequence::new(&read.table).expect("a table that was checked is valid"))
}

#[cfg(test)]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers of made-up tables are small"
)]
mod tests {
    use super::*;
    use address_map::SliceTable;
    use slices::table_file::write;
    use units::LineAddr;

    /// Slices, log2 of the sequence's length, highest valid bit: shapes of published functions.
    const SHAPES: [(u32, u32, u32); 4] = [(18, 12, 36), (26, 14, 37), (40, 9, 37), (56, 14, 36)];

    /// A separate generator (splitmix64), so that the tables never change.
    struct Draws(u64);

    impl Draws {
        fn below(&mut self, n: u64) -> u64 {
            self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            (mixed ^ (mixed >> 31)) % n
        }
    }

    /// An invented table whose last third of slices gets 0.69 to 0.98 of a fair share.
    fn made_up((slices, bits, highest): (u32, u32, u32), seed: u64) -> SliceTable {
        let mut draws = Draws(seed);
        let length = 1usize << bits;
        let fair = length as f64 / f64::from(slices);
        let mut base = Vec::new();
        let heavy = slices - slices / 3;
        for slice in heavy..slices {
            let lines = fair * (0.69 + 0.01 * draws.below(30) as f64);
            base.extend(std::iter::repeat_n(slice as u16, lines.round() as usize));
        }
        base.extend((base.len()..length).map(|place| (place as u32 % heavy) as u16));
        for place in (1..length).rev() {
            base.swap(place, draws.below(place as u64 + 1) as usize);
        }
        let (low, bits_above) = (6 + bits, highest + 1 - 6 - bits);
        let mut perm_masks: Vec<u64> =
            (0..bits).map(|_| draws.below(1 << bits_above) << low).collect();
        perm_masks[bits as usize - 2] = 0;
        let (part, source) = ("a \"part\"".into(), "made up".into());
        SliceTable { part, source, slices, base, perm_masks, valid_bits: (low, highest) }
    }

    fn small() -> String {
        "part = 'p'\nsource = 's'\nslices = 3\nvalid_bits = [6, 20]\n\
         perm_masks = [0x100, 0x0]\nbase = [0, 1, 2, 2]\n"
            .into()
    }

    fn message(text: &str) -> String {
        read("t.toml", text).expect_err("must be refused").to_string()
    }

    #[test]
    fn tables_of_every_published_shape_survive_their_file() {
        for (seed, shape) in (0..).zip(SHAPES) {
            let table = made_up(shape, seed);
            let direct = BaseSequence::new(&table).expect("is valid");
            let read = read("t.toml", &write(&table)).expect("is valid");
            assert_eq!(read, direct);
            assert!(read.describe().contains("for a \"part\" (made up)"), "{}", read.describe());
        }
    }

    #[test]
    fn light_slices_of_a_table_keep_their_share_of_any_memory() {
        for (seed, shape) in (10..).zip(SHAPES) {
            let table = made_up(shape, seed);
            let sequence = read("t.toml", &write(&table)).expect("is valid");
            let lines = 8 * table.base.len() as u64;
            let mut counts = vec![0u32; table.slices as usize];
            for line in 5 * lines..6 * lines {
                counts[sequence.slice(LineAddr(line)) as usize] += 1;
            }
            let fair = lines as f64 / f64::from(table.slices);
            // Rounding to whole lines of a 512-line sequence moves a share by up to 0.04.
            let shares: Vec<f64> = counts.iter().map(|&n| f64::from(n) / fair).collect();
            let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
            assert!((0.65..1.0).contains(&least), "{shares:?}");
            for (share, stated) in shares.iter().zip(sequence.shares()) {
                assert!((share - stated).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn runs_are_the_same_table_in_fewer_words() {
        let runs = small().replace("base = [0, 1, 2, 2]", "base_runs = [[0, 1], [1, 1], [2, 2]]");
        assert_eq!(read("t.toml", &runs).expect("ok"), read("t.toml", &small()).expect("ok"));
    }

    #[test]
    fn a_fault_names_file_key_and_what_is_allowed() {
        let with = |from: &str, to: &str| message(&small().replace(from, to));
        assert_eq!(with("2, 2]", "2, 3]"), "t.toml: `base`: entry 3 is slice 3; allowed: 0 to 2");
        assert_eq!(
            with("2, 2]", "2]"),
            "t.toml: `base`: 3 entries; allowed: a power of two from 2 to 65536"
        );
        assert_eq!(
            with(", 0x0]", "]"),
            "t.toml: `perm_masks`: 1 masks; needed: 2, one for each bit of a position"
        );
        assert!(with("0x100", "0x200000").starts_with("t.toml: `perm_masks`: mask 0 covers"));
        assert!(with("[6, 20]", "[6, 90]").starts_with("t.toml: `valid_bits`: [6, 90]"));
        assert!(with("slices = 3", "slices = 0").starts_with("t.toml: `slices`: 0 slices"));
        assert!(with("part", "prt").starts_with("t.toml: unknown key `prt`"));
        assert_eq!(with("slices = 3", ""), "t.toml: `slices`: is missing");
    }

    #[test]
    fn one_of_base_and_runs_is_needed_and_no_more() {
        let base = "base = [0, 1, 2, 2]";
        let text = message(&small().replace(base, ""));
        assert_eq!(text, "t.toml: `base`: is missing, and so is `base_runs`");
        let both = format!("{}base_runs = [[0, 4]]\n", small());
        assert_eq!(message(&both), "t.toml: `base_runs`: is given beside `base`; leave one out");
        let runs = |runs: &str| message(&small().replace(base, &format!("base_runs = {runs}")));
        assert!(runs("[[0, 4], [1, 0]]").contains("run 1 has no lines"));
        assert!(runs("[[0, 4000000000]]").contains("4000000000 lines in all"));
        assert!(runs("[[0, 3]]").starts_with("t.toml: `base_runs`: 3 entries"));
    }
}
