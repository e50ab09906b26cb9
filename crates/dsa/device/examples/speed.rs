//! The engine beside what the machine can do itself, in one run: memcpy of the C library, and CRCs of
//! ISA-L, if `libisal.so.2` is there. Variants are measured in turn; printed are ratios of their rates
//! with quartiles, and nanoseconds for the smallest descriptors.
//!
//!     cargo run --release -p dsa --example speed

#![expect(unsafe_code, reason = "the C library's functions and ISA-L's are called as they are")]
#![expect(clippy::cast_possible_truncation, reason = "sizes of a benchmark")]

use dsa::checks::QueueLimits;
use dsa::descriptor::Descriptor;
use dsa::engine::SoftwareEngine;
use dsa::hardware::Opcode;
use dsa::hardware::capabilities::Capabilities;
use dsa::record::Record;
use std::ffi::CStr;
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: usize = 41;
/// Bytes that a variant moves in a round.
const ROUND_BYTES: usize = 64 << 20;
const PART: Capabilities = Capabilities::VERSION_1;

type Crc32 = unsafe extern "C" fn(*const u8, i32, u32) -> u32;
type Crc16 = unsafe extern "C" fn(u16, *const u8, u64) -> u16;

/// A function of ISA-L.
fn of_isal(name: &CStr) -> Option<*mut libc::c_void> {
    // SAFETY: loading the library runs no code but its own set-up.
    let library = unsafe { libc::dlopen(c"libisal.so.2".as_ptr(), libc::RTLD_NOW) };
    // SAFETY: the handle is one, or null, which is not asked.
    let symbol = (!library.is_null()).then(|| unsafe { libc::dlsym(library, name.as_ptr()) });
    symbol.filter(|symbol| !symbol.is_null())
}

/// Seconds of `times` calls.
fn seconds(times: usize, mut work: impl FnMut()) -> f64 {
    let begun = Instant::now();
    for _ in 0..times {
        work();
    }
    begun.elapsed().as_secs_f64()
}

/// Prints how fast `own` is beside `other`.
fn compare(name: &str, bytes: usize, mut own: impl FnMut(), mut other: impl FnMut()) {
    let times = (ROUND_BYTES / bytes).clamp(1, 200_000);
    let mut ratios: Vec<f64> = (0..ROUNDS)
        .map(|round| {
            if round % 2 == 0 {
                let own = seconds(times, &mut own);
                seconds(times, &mut other) / own
            } else {
                let other = seconds(times, &mut other);
                other / seconds(times, &mut own)
            }
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    let [low, middle, high] = [1, 2, 3].map(|quarter| ratios[quarter * (ROUNDS - 1) / 4]);
    println!("{name:28} {bytes:>8} B  {middle:.3}  ({low:.3} to {high:.3})");
}

/// An engine, and the memory that its descriptors name.
struct Bench {
    engine: SoftwareEngine,
    limits: QueueLimits,
    source: Vec<u8>,
    target: Vec<u8>,
    record: Box<Record>,
}

fn main() {
    let mut bench = Bench {
        // SAFETY: all that is executed names the buffers of the bench.
        engine: unsafe { SoftwareEngine::new(PART) },
        limits: QueueLimits::of(&PART),
        source: (0..4 << 20).map(|at: usize| (at * 131 + 7) as u8).collect(),
        target: vec![0_u8; 5 << 20],
        record: Box::default(),
    };
    println!("rate of the engine / rate of the machine itself, median (quartiles)");
    bench.copies();
    bench.crcs();
    bench.protection();
    println!("nanoseconds of a descriptor, median of {ROUNDS}");
    bench.small_ones();
}

impl Bench {
    fn made(&mut self, opcode: Opcode, bytes: usize) -> Descriptor {
        let from = self.source.as_ptr() as u64;
        Descriptor::of(opcode).with_first(from).with_size(bytes as u32).recording(self.record())
    }

    fn record(&mut self) -> u64 {
        (&raw mut *self.record) as u64
    }

    fn run(&self, descriptor: &Descriptor) -> Record {
        black_box(self.engine.execute(black_box(descriptor), &self.limits)).record()
    }

    fn copies(&mut self) {
        let (from, to) = (self.source.as_ptr(), self.target.as_mut_ptr());
        for bytes in [64 << 10, 256 << 10, 1 << 20, 4 << 20] {
            let descriptor = self.made(Opcode::Move, bytes).with_second(to as u64);
            let own = || {
                self.run(&descriptor);
            };
            // SAFETY: both are ours and as long.
            let machine = || unsafe {
                libc::memcpy(to.cast(), from.cast(), black_box(bytes));
            };
            compare("copy / memcpy", bytes, own, machine);
        }
    }

    fn crcs(&mut self) {
        let Some(symbol) = of_isal(c"crc32_iscsi") else { return };
        // SAFETY: the type that ISA-L's header states.
        let crc: Crc32 = unsafe { std::mem::transmute(symbol) };
        let from = self.source.as_ptr();
        for bytes in [4 << 10, 64 << 10, 1 << 20] {
            let descriptor = self.made(Opcode::Crc, bytes);
            let length = i32::try_from(bytes).expect("a few MiB");
            // SAFETY: the bytes are ours.
            let isal = || black_box(unsafe { crc(from, length, !0) });
            let own = self.run(&descriptor).crc() as u32;
            assert_eq!(own, !isal(), "both compute the same");
            let machine = || {
                isal();
            };
            compare(
                "CRC-32C / ISA-L",
                bytes,
                || {
                    self.run(&descriptor);
                },
                machine,
            );
        }
    }

    fn protection(&mut self) {
        let Some(symbol) = of_isal(c"crc16_t10dif") else { return };
        // SAFETY: as above.
        let crc: Crc16 = unsafe { std::mem::transmute(symbol) };
        let to = self.target.as_mut_ptr() as u64;
        for (flags, block) in [(0, 512), (2, 4096)] {
            let bytes = 64 * (block + 8);
            self.target[..bytes].copy_from_slice(&self.source[..bytes]);
            let insert = self.made(Opcode::DifInsert, 64 * block).with_second(to);
            self.run(&insert.with_dif_flags(flags));
            let check = self.made(Opcode::DifCheck, bytes).with_first(to).with_dif_flags(flags);
            let check = check.with_source_mask(0xffff).with_source_reference(0);
            assert_eq!(self.run(&check).status(), 1, "it inserts what it checks");
            let isal = || {
                for number in 0..64 {
                    let block_start = (to as usize + number * (block + 8)) as *const u8;
                    // SAFETY: the bytes are ours.
                    black_box(unsafe { crc(0, block_start, block as u64) });
                }
            };
            compare(
                "DIF check / ISA-L's CRC-16",
                bytes,
                || {
                    self.run(&check);
                },
                isal,
            );
        }
    }

    fn small_ones(&mut self) {
        let members = [Descriptor::of(Opcode::NoOp); 32];
        let batch = Descriptor::of(Opcode::Batch).with_first(members.as_ptr() as u64).with_size(32);
        let (record, to) = (self.record(), self.target.as_mut_ptr() as u64);
        for (name, descriptor) in [
            ("no-op", Descriptor::of(Opcode::NoOp).recording(record)),
            ("copy of 64 B", self.made(Opcode::Move, 64).with_second(to)),
            ("CRC-32C of 64 B", self.made(Opcode::Crc, 64)),
            ("batch of 32 no-ops", batch.recording(record)),
        ] {
            let once = || {
                seconds(100_000, || {
                    self.run(&descriptor);
                })
            };
            let mut times: Vec<f64> = (0..ROUNDS).map(|_| once() * 1e4).collect();
            times.sort_by(f64::total_cmp);
            println!("{name:28} {:6.1}", times[ROUNDS / 2]);
        }
    }
}
