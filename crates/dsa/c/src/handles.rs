//! The tables behind handles.
//!
//! A handle looks like a pointer and is not one: it has the number of a slot, the generation of the slot and
//! the kind of the table. So a handle that was given back, or never was one, is recognised without an access
//! to memory. Handles are odd numbers, which pointers to objects are not.
//!
//! No function waits here: in a child of `fork` no thread exists that could release a lock.
#![allow(unsafe_code)]

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{RwLock, TryLockError};

/// Slots of the first chunk; each further chunk has twice as many as the one before.
const FIRST: u32 = 64;
const CHUNKS: u32 = 15;
const MOST: u32 = FIRST * ((1 << CHUNKS) - 1);
const KIND_BITS: u32 = 4;
const SLOT_BITS: u32 = 21;
const _: () = assert!(MOST <= 1 << SLOT_BITS);
/// How often the lock of a free slot is tried.
const TRIES: u32 = 10_000;

/// Kinds of tables: odd numbers below 16.
pub(crate) const CLIENT: u64 = 1;
pub(crate) const JOB: u64 = 3;
pub(crate) const SET: u64 = 5;
pub(crate) const BATCH: u64 = 7;
pub(crate) const RING: u64 = 9;

/// Why a handle cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandleRefusal {
    /// No value belongs to the handle: it was given back, or never was one.
    Unknown,
    /// The handle is of another table, of this kind.
    OfKind(u64),
    /// Another thread is using the handle.
    Busy,
    /// A fault of the library has left the value half changed: it can only be given back.
    Broken,
}

struct HandleSlot<T> {
    /// Number of the next free slot, plus 1; 0: no further slot is free.
    next_free: AtomicU32,
    generation: AtomicU64,
    value: RwLock<Option<T>>,
}

/// The values of all handles of one kind.
pub struct HandleTable<T> {
    kind: u64,
    chunks: [AtomicPtr<HandleSlot<T>>; CHUNKS as usize],
    /// The first free slot, as in [`HandleSlot::next_free`], in the lower half; a count of changes in the
    /// upper half.
    free: AtomicU64,
    /// Number of slots that were ever in use.
    begun: AtomicU32,
}

impl<T: Send + Sync> HandleTable<T> {
    pub const fn new(kind: u64) -> Self {
        assert!(kind % 2 == 1 && kind < 1 << KIND_BITS);
        Self {
            kind,
            chunks: [const { AtomicPtr::new(null_mut()) }; CHUNKS as usize],
            free: AtomicU64::new(0),
            begun: AtomicU32::new(0),
        }
    }

    /// Adds a value and returns its handle; gives the value back if 2,097,088 handles are in use.
    pub fn insert(&self, value: T) -> Result<u64, T> {
        loop {
            let Some(number) = self.take_free().or_else(|| self.begin()) else { return Err(value) };
            let slot = self.slot(number);
            // A thread that checks whether an old handle is current releases the lock at once. A thread that
            // exists only in the parent of a fork never does: its slot is not used again.
            let guard = (0..TRIES).find_map(|_| {
                std::hint::spin_loop();
                slot.value.try_write().ok()
            });
            let Some(mut guard) = guard else { continue };
            *guard = Some(value);
            let generation = slot.generation.load(Ordering::Relaxed);
            return Ok(self.handle(generation, number));
        }
    }

    fn handle(&self, generation: u64, number: u32) -> u64 {
        generation << (SLOT_BITS + KIND_BITS) | u64::from(number) << KIND_BITS | self.kind
    }

    /// Runs `body` with the value of a handle; other threads may use the same value meanwhile.
    pub fn shared<R>(&self, handle: u64, body: impl FnOnce(&T) -> R) -> Result<R, HandleRefusal> {
        let (slot, generation) = self.find(handle)?;
        let guard = match slot.value.try_read() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(guard)) => guard.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(HandleRefusal::Busy),
        };
        self.is_current(slot, generation)?;
        guard.as_ref().map(body).ok_or(HandleRefusal::Unknown)
    }

    /// Runs `body` with the value of a handle; no other thread uses it meanwhile.
    pub fn exclusive<R>(
        &self,
        handle: u64,
        body: impl FnOnce(&mut T) -> R,
    ) -> Result<R, HandleRefusal> {
        let (slot, _) = self.find(handle)?;
        if slot.value.is_poisoned() {
            return Err(HandleRefusal::Broken);
        }
        let run = |value: &mut Option<T>| value.as_mut().map(body);
        self.change(handle, run).and_then(|it| it.ok_or(HandleRefusal::Unknown))
    }

    /// Removes the value of a handle and returns it, if `may` agrees. The handle is not valid any more.
    pub fn remove<E>(
        &self,
        handle: u64,
        may: impl FnOnce(&mut T) -> Result<(), E>,
    ) -> Result<Result<T, E>, HandleRefusal> {
        let (slot, _) = self.find(handle)?;
        let taken = self.change(handle, |value| {
            let agreed = value.as_mut().map(may)?;
            let taken = agreed.map(|()| value.take());
            if taken.is_ok() {
                slot.generation.fetch_add(1, Ordering::Release);
                slot.value.clear_poison();
            }
            match taken {
                Ok(value) => value.map(Ok),
                Err(refused) => Some(Err(refused)),
            }
        })?;
        let taken = taken.ok_or(HandleRefusal::Unknown)?;
        if taken.is_ok() {
            self.put_free(slot_number(handle));
        }
        Ok(taken)
    }

    fn change<R>(
        &self,
        handle: u64,
        body: impl FnOnce(&mut Option<T>) -> R,
    ) -> Result<R, HandleRefusal> {
        let (slot, generation) = self.find(handle)?;
        let mut guard = match slot.value.try_write() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(guard)) => guard.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(HandleRefusal::Busy),
        };
        self.is_current(slot, generation)?;
        Ok(body(&mut guard))
    }

    fn find(&self, handle: u64) -> Result<(&HandleSlot<T>, u64), HandleRefusal> {
        let kind = handle & ((1 << KIND_BITS) - 1);
        if kind != self.kind {
            return Err(if kind % 2 == 1 {
                HandleRefusal::OfKind(kind)
            } else {
                HandleRefusal::Unknown
            });
        }
        let number = slot_number(handle);
        if number >= self.begun.load(Ordering::Acquire).min(MOST) || self.chunk_of(number).is_null()
        {
            return Err(HandleRefusal::Unknown);
        }
        let (slot, generation) = (self.slot(number), handle >> (SLOT_BITS + KIND_BITS));
        self.is_current(slot, generation)?;
        Ok((slot, generation))
    }

    fn is_current(&self, slot: &HandleSlot<T>, generation: u64) -> Result<(), HandleRefusal> {
        let now = slot.generation.load(Ordering::Acquire);
        if now == generation { Ok(()) } else { Err(HandleRefusal::Unknown) }
    }

    fn chunk_of(&self, number: u32) -> *mut HandleSlot<T> {
        self.chunks[chunk_and_index(number).0].load(Ordering::Acquire)
    }

    /// A slot that was in use at some time.
    fn slot(&self, number: u32) -> &HandleSlot<T> {
        // SAFETY: the chunk of a slot that was in use lives as long as the table, and has that slot.
        unsafe { &*self.chunk_of(number).add(chunk_and_index(number).1) }
    }

    fn take_free(&self) -> Option<u32> {
        let mut now = self.free.load(Ordering::Acquire);
        loop {
            let number = lower_half(now).checked_sub(1)?;
            let next = u64::from(self.slot(number).next_free.load(Ordering::Relaxed));
            // The count shows a list that another thread has changed and changed back.
            let later = ((now >> 32) + 1) << 32 | next;
            match self.free.compare_exchange_weak(now, later, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(number),
                Err(other) => now = other,
            }
        }
    }

    fn put_free(&self, number: u32) {
        let slot = self.slot(number);
        let mut now = self.free.load(Ordering::Acquire);
        loop {
            slot.next_free.store(lower_half(now), Ordering::Relaxed);
            let later = ((now >> 32) + 1) << 32 | u64::from(number + 1);
            match self.free.compare_exchange_weak(now, later, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return,
                Err(other) => now = other,
            }
        }
    }

    /// Takes a slot that was never in use.
    fn begin(&self) -> Option<u32> {
        let next = |begun: u32| (begun < MOST).then_some(begun + 1);
        let (order, failed) = (Ordering::AcqRel, Ordering::Acquire);
        let number = self.begun.fetch_update(order, failed, next).ok()?;
        self.make_chunk(chunk_and_index(number).0);
        Some(number)
    }

    fn make_chunk(&self, chunk: usize) {
        let known = &self.chunks[chunk];
        if !known.load(Ordering::Acquire).is_null() {
            return;
        }
        let slots: Box<[HandleSlot<T>]> =
            (0..(FIRST as usize) << chunk).map(|_| HandleSlot::new()).collect();
        let slots: *mut [HandleSlot<T>] = Box::into_raw(slots);
        let made =
            known.compare_exchange(null_mut(), slots.cast(), Ordering::AcqRel, Ordering::Acquire);
        if made.is_err() {
            // SAFETY: another thread has set the chunk first; no thread knows this one.
            drop(unsafe { Box::from_raw(slots) });
        }
    }
}

impl<T> HandleSlot<T> {
    fn new() -> Self {
        Self {
            next_free: AtomicU32::new(0),
            generation: AtomicU64::new(1),
            value: RwLock::new(None),
        }
    }
}

fn lower_half(word: u64) -> u32 {
    units::narrow::fit(word & 0xffff_ffff)
}

fn slot_number(handle: u64) -> u32 {
    units::narrow::fit(handle >> KIND_BITS & ((1 << SLOT_BITS) - 1))
}

/// The chunk of a slot, and the index of the slot in it.
fn chunk_and_index(number: u32) -> (usize, usize) {
    let chunk = (number / FIRST + 1).ilog2();
    (chunk as usize, (number - FIRST * ((1 << chunk) - 1)) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_handle_that_was_given_back_stands_for_nothing_also_when_its_slot_is_used_again() {
        let table = HandleTable::new(JOB);
        let first = table.insert(5).expect("there is room");
        assert_eq!(table.shared(first, |value| *value), Ok(5));
        assert_eq!(table.remove(first, |_| Ok::<_, ()>(())), Ok(Ok(5)));
        let second = table.insert(6).expect("there is room");
        assert_eq!(slot_number(first), slot_number(second));
        assert_eq!(table.shared(first, |value| *value), Err(HandleRefusal::Unknown));
        assert_eq!(table.remove(first, |_| Ok::<_, ()>(())), Err(HandleRefusal::Unknown));
        assert_eq!(table.exclusive(second, |value| *value), Ok(6));
    }

    #[test]
    fn numbers_that_never_were_handles_stand_for_nothing() {
        let table = HandleTable::new(CLIENT);
        let handle = table.insert(()).expect("there is room");
        let local = 7_u64;
        let address = (&raw const local) as u64;
        for other in [0, 1, 2, address, !0 - 14, handle + (1 << KIND_BITS), handle | 1 << 63] {
            assert_eq!(table.shared(other, |()| ()), Err(HandleRefusal::Unknown), "{other:#x}");
        }
        assert_eq!(table.shared(handle + 2, |()| ()), Err(HandleRefusal::OfKind(JOB)));
    }

    #[test]
    fn what_one_thread_changes_another_one_is_refused() {
        let table = HandleTable::new(SET);
        let handle = table.insert(0).expect("there is room");
        let inner = table.exclusive(handle, |_| table.exclusive(handle, |_| ()));
        assert_eq!(inner, Ok(Err(HandleRefusal::Busy)));
        let inner = table.shared(handle, |_| table.remove(handle, |_| Ok::<_, ()>(())));
        assert_eq!(inner, Ok(Err(HandleRefusal::Busy)));
        let kept = table.remove(handle, |_| Err("kept"));
        assert_eq!(kept, Ok(Err("kept")));
        assert_eq!(table.shared(handle, |value| *value), Ok(0));
    }

    #[test]
    fn what_a_fault_has_left_half_changed_can_only_be_given_back() {
        let table = HandleTable::new(JOB);
        let handle = table.insert(5).expect("there is room");
        let fault = || table.exclusive(handle, |_| panic!("a fault"));
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(fault)).expect_err("is one");
        assert_eq!(table.exclusive(handle, |value| *value), Err(HandleRefusal::Broken));
        assert_eq!(table.remove(handle, |_| Ok::<_, ()>(())), Ok(Ok(5)));
        let again = table.insert(6).expect("there is room");
        assert_eq!(table.exclusive(again, |value| *value), Ok(6));
    }

    #[test]
    fn slots_of_all_chunks_are_apart() {
        let mut last = (0, usize::MAX);
        for number in 0..100_000 {
            let next = chunk_and_index(number);
            assert!(next == (last.0, last.1.wrapping_add(1)) || next == (last.0 + 1, 0));
            assert!(next.1 < (FIRST as usize) << next.0);
            last = next;
        }
        assert_eq!(chunk_and_index(MOST - 1).0, CHUNKS as usize - 1);
    }

    #[test]
    fn threads_that_take_and_give_back_never_share_a_handle() {
        let table = HandleTable::new(BATCH);
        let kept: Vec<u64> = std::thread::scope(|scope| {
            let work = |thread: usize| {
                let table = &table;
                scope.spawn(move || {
                    let mut kept = Vec::new();
                    for round in 0..3000 {
                        let handle = table.insert((thread, round)).expect("there is room");
                        if round % 10 == 0 {
                            kept.push(handle);
                        } else {
                            let taken = table.remove(handle, |_| Ok::<_, ()>(()));
                            assert_eq!(taken, Ok(Ok((thread, round))));
                        }
                    }
                    kept
                })
            };
            let threads: Vec<_> = (0..4).map(work).collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("ends")).collect()
        });
        assert_eq!(kept.iter().collect::<BTreeSet<_>>().len(), 1200);
    }
}
