//! Random calls of each operation, of random sizes and alignments: results of a device, one by one
//! and in lists, are those of plain code, also if one access in a hundred faults.
//!
//! `DSA_CALLS` says how many of each operation, without it there are as many as a test has time for;
//! `DSA_KIND` names the only one to be called.

use crate::inside::{inside, plan};
use crate::reference_results::{self, Run};
use dsa::hardware::Opcode;
use dsa_client::batch::OffloadBatch;
use dsa_client::client::{OffloadClient, Options, Path};
use dsa_client::operation::{CrcKind, OffloadOperation, ProtectionTags};
use dsa_client::outcome::{OffloadAnswer, OffloadOutcome};
use dsa_client::set::Set;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Calls of a list.
const LIST: usize = 32;
/// Bytes of a region: the largest operand, its alignment, and a margin that must stay.
const REGION: usize = 5 << 10;

#[repr(C, align(4096))]
struct Region([u8; REGION]);

/// Bytes behind an operand that are looked at as well: none of them may be written.
const MARGIN: usize = 192;

/// The memory of one call.
struct Field {
    first: Box<Region>,
    second: Box<Region>,
    to: Box<Region>,
    also: Box<Region>,
}

/// A call, and its right results.
struct Call {
    operation: OffloadOperation,
    answer: OffloadAnswer,
    to: Vec<u8>,
    also: Vec<u8>,
}

struct Dice(Xoshiro256PlusPlus);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.0.next_u64() % bound as u64).expect("fits")
    }

    /// Small sizes as often as large ones.
    fn size(&mut self) -> usize {
        let most = 1 << (self.below(12) + 1);
        1 + self.below(most)
    }
}

impl Field {
    fn new() -> Self {
        let region = || Box::new(Region([0; REGION]));
        Self { first: region(), second: region(), to: region(), also: region() }
    }

    /// Draws a call, and sets the memory to what it begins with.
    fn draw(&mut self, kind: Opcode, is_newer: bool, dice: &mut Dice) -> Call {
        let bytes = dice.size();
        dice.0.fill_bytes(&mut self.first.0[..bytes + 128]);
        let (from, to) = (dice.below(64), dice.below(64));
        // Protected blocks and records of differences have sizes of their own.
        let reach = if HAVE_OWN_SIZES.contains(&kind) { REGION } else { bytes + MARGIN };
        self.to.0[..reach].fill(0xa5);
        self.also.0[..reach].fill(0xa5);
        let (mut right, mut also) = (self.to.0[..reach].to_vec(), self.also.0[..reach].to_vec());
        let source = self.first.0[from..from + bytes].to_vec();
        let at = |region: &Region, offset: usize| region.0.as_ptr() as u64 + offset as u64;
        let (from_at, to_at) = (at(&self.first, from), at(&self.to, to));
        let size = bytes as u64;
        let (operation, answer) = match kind {
            Opcode::Move if dice.below(3) == 0 => {
                self.to.0[..bytes + 128].copy_from_slice(&self.first.0[..bytes + 128]);
                right.copy_from_slice(&self.to.0[..reach]);
                right.copy_within(from..from + bytes, to);
                (OffloadOperation::copy(at(&self.to, from), to_at, size), OffloadAnswer::Done)
            }
            Opcode::Move => {
                right[to..to + bytes].copy_from_slice(&source);
                (OffloadOperation::copy(from_at, to_at, size), OffloadAnswer::Done)
            }
            Opcode::Fill if is_newer => {
                let pattern = u128::from(dice.0.next_u64()) << 64 | u128::from(dice.0.next_u64());
                let turning = pattern.to_le_bytes().into_iter().cycle();
                right[to..to + bytes].iter_mut().zip(turning).for_each(|(own, byte)| *own = byte);
                (OffloadOperation::fill_wide(to_at, pattern, size), OffloadAnswer::Done)
            }
            Opcode::Fill => {
                let pattern = dice.0.next_u64();
                let turning = pattern.to_le_bytes().into_iter().cycle();
                right[to..to + bytes].iter_mut().zip(turning).for_each(|(own, byte)| *own = byte);
                (OffloadOperation::fill(to_at, pattern, size), OffloadAnswer::Done)
            }
            Opcode::Dualcast => {
                right[to..to + bytes].copy_from_slice(&source);
                also[to..to + bytes].copy_from_slice(&source);
                let both = at(&self.also, to);
                (OffloadOperation::dualcast(from_at, to_at, both, size), OffloadAnswer::Done)
            }
            Opcode::Compare => {
                self.second.0[to..to + bytes].copy_from_slice(&source);
                let difference = (dice.below(2) == 0).then(|| dice.below(bytes));
                if let Some(offset) = difference {
                    self.second.0[to + offset] ^= 0x40;
                }
                (
                    OffloadOperation::compare(from_at, at(&self.second, to), size),
                    answer_of(difference),
                )
            }
            Opcode::ComparePattern => {
                let pattern = dice.0.next_u64();
                let turning = pattern.to_le_bytes().into_iter().cycle();
                let own = &mut self.first.0[from..from + bytes];
                own.iter_mut().zip(turning).for_each(|(own, byte)| *own = byte);
                let difference = (dice.below(2) == 0).then(|| dice.below(bytes));
                if let Some(offset) = difference {
                    own[offset] ^= 1;
                }
                (OffloadOperation::compare_pattern(from_at, pattern, size), answer_of(difference))
            }
            Opcode::Crc | Opcode::CopyCrc => {
                let kind_of = CrcKind {
                    is_wide: is_newer,
                    bypasses_inversion: dice.below(4) == 0,
                    bypasses_reflection: dice.below(4) == 0,
                };
                let seed = dice.0.next_u64() & if is_newer { u64::MAX } else { 0xffff_ffff };
                let flags = (kind_of.bypasses_inversion, kind_of.bypasses_reflection);
                let answer =
                    OffloadAnswer::Crc(reference_results::crc(is_newer, seed, &source, flags));
                if kind == Opcode::Crc {
                    (OffloadOperation::crc(kind_of, seed, from_at, size), answer)
                } else {
                    right[to..to + bytes].copy_from_slice(&source);
                    (OffloadOperation::copy_crc(kind_of, seed, (from_at, to_at), size), answer)
                }
            }
            Opcode::CreateDelta => self.draw_delta(dice, &mut right),
            Opcode::ApplyDelta => self.draw_applied(dice, &mut right),
            Opcode::CacheFlush => (OffloadOperation::flush(from_at, size), OffloadAnswer::Done),
            Opcode::TranslationFetch => {
                (OffloadOperation::fetch_translations(from_at, size), OffloadAnswer::Done)
            }
            _ => self.draw_dif(kind, dice, &mut right),
        };
        Call { operation, answer, to: right, also }
    }

    fn draw_delta(
        &mut self,
        dice: &mut Dice,
        right: &mut [u8],
    ) -> (OffloadOperation, OffloadAnswer) {
        let bytes = 8 * (1 + dice.below(256));
        self.second.0[..bytes].copy_from_slice(&self.first.0[..bytes]);
        for _ in 0..dice.below(12) {
            self.second.0[dice.below(bytes)] ^= 1;
        }
        let most = 80 + 8 * dice.below(20);
        let (record, is_cut) =
            reference_results::delta(&self.first.0[..bytes], &self.second.0[..bytes], most);
        right[..record.len()].copy_from_slice(&record);
        let answer =
            OffloadAnswer::Delta { bytes: u32::try_from(record.len()).expect("small"), is_cut };
        let sources = (self.first.0.as_ptr() as u64, self.second.0.as_ptr() as u64);
        let record = (self.to.0.as_ptr() as u64, u32::try_from(most).expect("small"));
        (OffloadOperation::create_delta(sources, bytes as u64, record), answer)
    }

    fn draw_applied(
        &mut self,
        dice: &mut Dice,
        right: &mut [u8],
    ) -> (OffloadOperation, OffloadAnswer) {
        let units = 1 + dice.below(256);
        let changed = self.first.0[..8 * units].to_vec();
        let mut original = changed.clone();
        for _ in 0..=dice.below(12) {
            original[dice.below(8 * units)] ^= 1;
        }
        let (mut record, _) = reference_results::delta(&original, &changed, usize::MAX);
        if record.is_empty() {
            original[0] ^= 1;
            record = reference_results::delta(&original, &changed, usize::MAX).0;
        }
        self.second.0[..record.len()].copy_from_slice(&record);
        self.to.0[..8 * units].copy_from_slice(&original);
        right[..8 * units].copy_from_slice(&changed);
        let record = (self.second.0.as_ptr() as u64, u32::try_from(record.len()).expect("small"));
        let to = self.to.0.as_ptr() as u64;
        (OffloadOperation::apply_delta(record, to, 8 * units as u64), OffloadAnswer::Done)
    }

    fn draw_dif(
        &mut self,
        kind: Opcode,
        dice: &mut Dice,
        right: &mut [u8],
    ) -> (OffloadOperation, OffloadAnswer) {
        // Large blocks are rarer.
        let format = dice.below(2) + if dice.below(8) == 0 { 2 } else { 0 };
        let block = [512, 520, 4096, 4104][format];
        let blocks = if block < 1000 { 1 + dice.below(3) } else { 1 };
        let format = u8::try_from(format).expect("small");
        let draw_run = |dice: &mut Dice| Run {
            block,
            application: u16::try_from(dice.below(0xffff)).expect("fits"),
            reference: u32::try_from(dice.0.next_u64() & 0x7fff_ffff).expect("fits"),
        };
        let (own, new) = (draw_run(dice), draw_run(dice));
        let tags = |run: Run| ProtectionTags {
            application: run.application,
            reference: run.reference,
            ..ProtectionTags::default()
        };
        dice.0.fill_bytes(&mut self.second.0[..blocks * block]);
        let data = self.second.0[..blocks * block].to_vec();
        let from = dice.below(64);
        let at = |region: &Region, offset: usize| region.0.as_ptr() as u64 + offset as u64;
        let (from_at, to_at) = (at(&self.first, from), at(&self.to, from));
        if matches!(kind, Opcode::DifInsert | Opcode::DixGenerate) {
            self.first.0[from..from + data.len()].copy_from_slice(&data);
            let bytes = data.len() as u64;
            // Protection apart from data is aligned.
            let (made, to, operation) = if kind == Opcode::DifInsert {
                let both = (from_at, to_at);
                (
                    own.inserted(&data),
                    from,
                    OffloadOperation::dif_insert(both, bytes, format, tags(own)),
                )
            } else {
                let both = (from_at, at(&self.to, 8));
                (
                    own.generated(&data),
                    8,
                    OffloadOperation::dix_generate(both, bytes, format, tags(own)),
                )
            };
            right[to..to + made.len()].copy_from_slice(&made);
            return (operation, OffloadAnswer::Done);
        }
        let mut protected = own.inserted(&data);
        if dice.below(2) == 0 {
            let hit = dice.below(protected.len());
            protected[hit] ^= 0x10;
        }
        self.first.0[from..from + protected.len()].copy_from_slice(&protected);
        let wrong = own.wrong(&protected);
        let good = wrong.map_or(blocks, |(number, _)| number);
        let good_source = &protected[..good * (block + 8)];
        let made = match kind {
            Opcode::DifStrip => own.stripped(good_source),
            Opcode::DifUpdate => new.inserted(&own.stripped(good_source)),
            _ => Vec::new(),
        };
        right[from..from + made.len()].copy_from_slice(&made);
        let answer = wrong.map_or(OffloadAnswer::Done, |(number, dif_status)| {
            OffloadAnswer::Protection { dif_status, at: (number * (block + 8)) as u64 }
        });
        let (size, both) = (protected.len() as u64, (from_at, to_at));
        let operation = match kind {
            Opcode::DifCheck => OffloadOperation::dif_check(from_at, size, format, tags(own)),
            Opcode::DifStrip => OffloadOperation::dif_strip(both, size, format, tags(own)),
            _ => OffloadOperation::dif_update(both, size, format, (tags(own), tags(new))),
        };
        (operation, answer)
    }

    /// Compares the memory after a call with the right results.
    fn check(&self, call: &Call, outcome: &OffloadOutcome) {
        let what = || format!("{:?}: {outcome:?}", call.operation);
        assert_eq!(outcome.answer, call.answer, "{}", what());
        for (own, right, name) in
            [(&self.to, &call.to, "first"), (&self.also, &call.also, "second")]
        {
            let own = &own.0[..right.len()];
            if let Some(at) = own.iter().zip(right).position(|(own, right)| own != right) {
                let (own, right) = (&own[at..], &right[at..]);
                let bytes = own.len().min(24);
                let (own, right) = (&own[..bytes], &right[..bytes]);
                panic!("{name} destination at {at}: {own:x?}, not {right:x?}: {}", what());
            }
        }
    }
}

/// Operations whose operands are not as large as drawn first.
const HAVE_OWN_SIZES: [Opcode; 7] = [
    Opcode::CreateDelta,
    Opcode::ApplyDelta,
    Opcode::DifCheck,
    Opcode::DifInsert,
    Opcode::DifStrip,
    Opcode::DifUpdate,
    Opcode::DixGenerate,
];

fn answer_of(difference: Option<usize>) -> OffloadAnswer {
    difference.map_or(OffloadAnswer::Equal, |at| OffloadAnswer::Differs { at: at as u64 })
}

const KINDS: [Opcode; 14] = [
    Opcode::Move,
    Opcode::Fill,
    Opcode::Dualcast,
    Opcode::Compare,
    Opcode::ComparePattern,
    Opcode::CreateDelta,
    Opcode::ApplyDelta,
    Opcode::Crc,
    Opcode::CopyCrc,
    Opcode::DifCheck,
    Opcode::DifInsert,
    Opcode::DifStrip,
    Opcode::DifUpdate,
    Opcode::CacheFlush,
];

fn calls(slice: u64, whole: u64) -> u64 {
    let asked = std::env::var("DSA_CALLS").ok().map(|text| text.parse().expect("a number"));
    asked.unwrap_or_else(|| soak::amount(slice, whole))
}

/// Runs calls of each kind, one list after the other: as lists, as jobs of a set, one by one, by the CPU.
fn run_all(client: &OffloadClient, (kinds, is_newer): (&[Opcode], bool), count: u64, seed: u64) {
    let mut fields: Vec<Field> = (0..LIST).map(|_| Field::new()).collect();
    let only = std::env::var("DSA_KIND").ok();
    for kind in
        kinds.iter().copied().filter(|kind| only.as_ref().is_none_or(|only| only == kind.name()))
    {
        let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(seed ^ kind as u64));
        for round in 0..count.div_ceil(LIST as u64) {
            let drawn = fields.iter_mut().map(|field| field.draw(kind, is_newer, &mut dice));
            let drawn: Vec<Call> = drawn.collect();
            let outcomes = match round % 16 {
                0 => one_by_one(client, &drawn, Path::Device),
                1 => one_by_one(client, &drawn, Path::Cpu),
                2 => as_set(client, &drawn),
                _ => as_list(client, &drawn),
            };
            for ((field, call), outcome) in fields.iter().zip(&drawn).zip(outcomes) {
                field.check(call, &outcome);
            }
        }
        let by = client.statistics();
        println!("{}: {:?}, {:?}", kind.name(), by.by_device(kind), by.by_cpu(kind));
        assert!(by.by_device(kind).count > by.by_cpu(kind).count, "{by}");
    }
    println!("{}", client.statistics());
}

fn one_by_one(client: &OffloadClient, calls: &[Call], path: Path) -> Vec<OffloadOutcome> {
    // SAFETY: the memory is that of fields, which nothing else uses meanwhile.
    let run = |call: &Call| unsafe { client.run(&call.operation, path) };
    calls.iter().map(|call| run(call).expect("succeeds")).collect()
}

fn as_set(client: &OffloadClient, calls: &[Call]) -> Vec<OffloadOutcome> {
    let mut set = Set::new(client);
    for (number, call) in calls.iter().enumerate() {
        // SAFETY: as above; all ends are taken below.
        let job = unsafe { client.submit(&call.operation, Path::Device) };
        set.add(number, job.expect("is begun"));
    }
    let mut answers: Vec<Option<OffloadOutcome>> = calls.iter().map(|_| None).collect();
    while let Some(end) = set.wait() {
        answers[end.tag] = Some(end.result.expect("succeeds"));
    }
    answers.into_iter().map(|answer| answer.expect("each ends once")).collect()
}

fn as_list(client: &OffloadClient, calls: &[Call]) -> Vec<OffloadOutcome> {
    let mut batch = OffloadBatch::new();
    calls.iter().for_each(|call| batch.add(call.operation));
    // SAFETY: as above.
    let ends = unsafe { client.run_batch(&batch, Path::Device) }.expect("is begun");
    ends.into_iter().map(|end| end.expect("succeeds")).collect()
}

fn client() -> OffloadClient {
    OffloadClient::open(&Options::default()).expect("is opened")
}

#[test]
fn devices_do_what_plain_code_does() {
    inside!(devices_do_what_plain_code_does);
    run_all(&client(), (&KINDS, false), calls(2000, 10_000), soak::seed(11));
}

#[test]
fn faults_in_one_of_a_hundred_descriptors_change_nothing() {
    let plan = plan("seed = 5\n[page_faults]\nrate = 0.01\n");
    let plan = plan.path().to_str().expect("is text");
    inside!(faults_in_one_of_a_hundred_descriptors_change_nothing, "--inject", plan);
    let client = client();
    run_all(&client, (&KINDS, false), calls(2000, 10_000), soak::seed(12));
    assert!(client.statistics().pages > 0);
}

#[test]
fn what_version_2_added_is_what_plain_code_does() {
    let plan = plan("seed = 6\n[page_faults]\nrate = 0.01\n");
    let plan = plan.path().to_str().expect("is text");
    inside!(what_version_2_added_is_what_plain_code_does, "--part", "version-2", "--inject", plan);
    let kinds =
        [Opcode::Fill, Opcode::Crc, Opcode::CopyCrc, Opcode::DixGenerate, Opcode::TranslationFetch];
    run_all(&client(), (&kinds, true), calls(1000, 5_000), soak::seed(13));
}
