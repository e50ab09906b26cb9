//! Serves the requests of each core on that core, and times it.

use crate::load::{KeyRequest, hottest};
use crate::machine::{pin_failure_message, pin_to_core};
use crate::placement::PlacedValues;
use crate::store::{Item, ItemStore, VALUE_BYTES, Value};
use hdrhistogram::Histogram;
use std::hint::black_box;
use std::io;
use std::sync::Barrier;
use std::time::Instant;
use units::LINE_BYTES;
use units::narrow::{fit, low_u8};

/// One request in so many is timed on its own: reading the clock costs as much as an answer.
const TIMED_EVERY: usize = 32;

/// Longest latency of the histogram, in ns; longer ones count as this one.
const MOST_NS: u64 = 1_000_000_000;

/// Throughput, latencies and wrong answers of a round of all cores.
pub struct Round {
    pub operations_per_s: f64,
    pub latencies_ns: Histogram<u64>,
    /// Number of answers that differ from the stored value.
    pub wrong: u64,
}

/// Times, latencies and wrong answers of one core in a round.
struct CoreRound {
    start: Instant,
    end: Instant,
    latencies_ns: Histogram<u64>,
    wrong: u64,
}

/// A value that contains its key.
fn value_of(key: u64, version: u8) -> Value {
    let mut value = [version; VALUE_BYTES];
    value[..8].copy_from_slice(&key.to_le_bytes());
    value
}

/// Makes the stores of all cores over their memory and fills them.
pub fn fill_stores(placed: &mut PlacedValues) -> Vec<ItemStore<'_>> {
    let start = placed.memory.start();
    let mut lines: Vec<Option<&mut Item>> =
        placed.memory.as_lines_mut().iter_mut().map(Some).collect();
    let mut stores = Vec::new();
    for addresses in &placed.lines {
        let mut store = ItemStore::with_capacity(addresses.len());
        for (key, &address) in addresses.iter().enumerate() {
            let line = lines[((address - start) / LINE_BYTES) as usize].take();
            let line = line.expect("every key has a line of its own");
            store.insert(key as u64, &value_of(key as u64, 0), line);
        }
        stores.push(store);
    }
    stores
}

/// Runs the requests of every core once, all cores at the same time.
///
/// # Errors
/// If a thread cannot be tied to its core.
pub fn run_round(
    cores: &[usize],
    stores: &mut [ItemStore<'_>],
    requests: &[Vec<KeyRequest>],
) -> io::Result<Round> {
    let together = Barrier::new(cores.len());
    let parts: Vec<io::Result<CoreRound>> = std::thread::scope(|scope| {
        let threads: Vec<_> = cores
            .iter()
            .zip(stores.iter_mut().zip(requests))
            .map(|(&core, (store, requests))| {
                let together = &together;
                scope.spawn(move || {
                    // Every thread reaches the barrier: the others would wait for ever.
                    let tied = pin_to_core(core).map_err(|error| {
                        io::Error::new(error.kind(), pin_failure_message(core, &error))
                    });
                    together.wait();
                    tied?;
                    let start = Instant::now();
                    let (latencies_ns, wrong) = serve(store, requests);
                    Ok(CoreRound { start, end: Instant::now(), latencies_ns, wrong })
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("does not panic")).collect()
    });
    let parts = parts.into_iter().collect::<io::Result<Vec<_>>>()?;
    let start = parts.iter().map(|part| part.start).min().expect("there are cores");
    let end = parts.iter().map(|part| part.end).max().expect("there are cores");
    let mut latencies_ns = histogram();
    parts.iter().for_each(|part| latencies_ns += &part.latencies_ns);
    let answers: usize = requests.iter().map(Vec::len).sum();
    Ok(Round {
        operations_per_s: answers as f64 / (end - start).as_secs_f64(),
        latencies_ns,
        wrong: parts.iter().map(|part| part.wrong).sum(),
    })
}

fn serve(store: &mut ItemStore<'_>, requests: &[KeyRequest]) -> (Histogram<u64>, u64) {
    let mut latencies = histogram();
    let mut wrong = 0;
    for (number, request) in requests.iter().enumerate() {
        let timed = number % TIMED_EVERY == 0;
        let start = timed.then(Instant::now);
        wrong += u64::from(!answer(store, *request, number));
        if let Some(start) = start {
            latencies.saturating_record(fit(start.elapsed().as_nanos()));
        }
    }
    (latencies, wrong)
}

/// Whether the answer is right.
#[inline]
fn answer(store: &mut ItemStore<'_>, request: KeyRequest, number: usize) -> bool {
    match request.writes {
        true => store.set(request.key, &value_of(request.key, low_u8(number as u64))),
        false => {
            let value = black_box(store.get(request.key));
            value.is_some_and(|value| value[..8] == request.key.to_le_bytes())
        }
    }
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_max(MOST_NS, 3).expect("the range is valid")
}

/// The hot keys of each core: those with most requests in the warm-up.
pub fn hot_keys(requests: &[Vec<KeyRequest>], keys: usize, wanted: usize) -> Vec<Vec<u64>> {
    requests.iter().map(|requests| hottest(requests, keys, wanted)).collect()
}
