//! Copies in other sockets: the home of a line tracks which other sockets hold one.
//!
//! Models: a home agent per socket with an exact directory of other sockets; reads make other copies
//! Shared and clean, writes invalidate them.
//! Source: Intel UPI (home snoop with a memory directory).
//! Simplifies: the directory never overflows and is never stale (Intel keeps two bits per line in
//! memory, and a small cache of them).

use super::Fabric;
use super::core_path::AccessOutcome;
use crate::private_caches::MesiState;
use crate::tracer::{Found, Tracer};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use units::narrow::fit;
use units::{LineAddr, Picos, SetIndex, SocketId};

/// Uses line numbers as their own hash except for the low bits. The table is never iterated, so its
/// order cannot affect a result.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LineHasher(u64);

impl Hasher for LineHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 ^= self.0 >> 32;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Sockets, bit i for socket i, that hold a line whose home is another socket.
#[derive(Clone, Debug, Default)]
pub(super) struct RemoteHolders {
    holders: HashMap<LineAddr, u8, BuildHasherDefault<LineHasher>>,
}

impl RemoteHolders {
    pub(super) fn holders(&self, line: LineAddr) -> u8 {
        self.holders.get(&line).copied().unwrap_or_default()
    }

    fn add(&mut self, line: LineAddr, socket: SocketId) {
        *self.holders.entry(line).or_default() |= 1 << socket.0;
    }

    fn remove(&mut self, line: LineAddr, socket: SocketId) {
        if let Some(holders) = self.holders.get_mut(&line) {
            *holders &= !(1 << socket.0);
            if *holders == 0 {
                self.holders.remove(&line);
            }
        }
    }

    pub(super) fn forget(&mut self, line: LineAddr) {
        self.holders.remove(&line);
    }

    /// Every line with its recorded sockets, for the invariants.
    pub(super) fn recorded(&self) -> impl Iterator<Item = (LineAddr, u8)> + '_ {
        self.holders.iter().map(|(&line, &sockets)| (line, sockets))
    }
}

impl<T: Tracer> Fabric<T> {
    /// Sockets other than `socket` that hold `line`, bit i for socket i.
    #[inline(always)]
    pub(super) fn others_with(&self, socket: SocketId, line: LineAddr) -> u8 {
        if self.sockets.len() == 1 { 0 } else { self.others_of_several_with(socket, line) }
    }

    fn others_of_several_with(&self, socket: SocketId, line: LineAddr) -> u8 {
        let home = self.memory.socket_of(line);
        let at_home = &self.sockets[home];
        let mut others = self.elsewhere.holders(line);
        if home != socket && at_home.has(at_home.llc.set_of(line), line) {
            others |= 1 << home.0;
        }
        others & !(1 << socket.0)
    }

    /// A socket that holds `line` claims it for one of its cores: with `exclusive` every copy in other
    /// sockets is invalidated. Returns the state that the core may have.
    pub(super) fn claim(
        &mut self,
        socket: SocketId,
        line: LineAddr,
        exclusive: bool,
        now: Picos,
    ) -> MesiState {
        let others = self.others_with(socket, line);
        if others == 0 {
            return MesiState::Exclusive;
        }
        if !exclusive {
            return MesiState::Shared;
        }
        let dirty = self.take_from(others, line);
        debug_assert!(!dirty, "a line that is shared between sockets is clean");
        self.memory.snoop(socket, others, now);
        MesiState::Exclusive
    }

    /// Fetches a line that `socket` does not hold, from another one or from memory.
    pub(super) fn fetch_from_other_sockets(
        &mut self,
        socket: SocketId,
        line: LineAddr,
        exclusive: bool,
        now: Picos,
    ) -> (MesiState, AccessOutcome) {
        let others = self.others_with(socket, line);
        let served = if others == 0 {
            let found = self.memory.found(socket, line);
            AccessOutcome { done: self.read_memory(socket, line, now), found }
        } else {
            let done =
                self.memory.snoop(socket, others, now).max(now + self.core_path.other_socket);
            AccessOutcome { done, found: Found::OtherSocket(first_of(others)) }
        };
        self.count_remote(socket, line);
        let state = match (others, exclusive) {
            (0, _) => MesiState::Exclusive,
            (_, true) if self.take_from(others, line) => MesiState::Modified,
            (_, true) => MesiState::Exclusive,
            (_, false) => {
                self.share_from(others, line, now);
                MesiState::Shared
            }
        };
        self.note_copy(socket, line);
        (state, served)
    }

    pub(super) fn count_remote(&mut self, socket: SocketId, line: LineAddr) {
        if self.sockets.len() > 1 && self.memory.socket_of(line) != socket {
            self.counters.remote_lines += 1;
        }
    }

    /// Records a copy in `socket`.
    pub(super) fn note_copy(&mut self, socket: SocketId, line: LineAddr) {
        if self.sockets.len() > 1 && self.memory.socket_of(line) != socket {
            self.elsewhere.add(line, socket);
        }
    }

    /// Invalidates the copies of the sockets in `others`; returns whether one was newer than memory.
    pub(super) fn take_from(&mut self, others: u8, line: LineAddr) -> bool {
        let mut dirty = false;
        for socket in sockets_of(others) {
            dirty |= self.sockets[socket].drop_line(line);
            self.elsewhere.remove(line, socket);
        }
        dirty
    }

    /// Makes every copy in the sockets of `others` Shared and clean; copies newer than memory are
    /// written back.
    fn share_from(&mut self, others: u8, line: LineAddr, now: Picos) {
        for socket in sockets_of(others) {
            if self.sockets[socket].clean_line(line) {
                self.write_memory(socket, line, now);
            }
        }
        self.note_use(others, line);
    }

    /// Marks the line as used in the LLCs of the sockets in `others`: another socket has read it.
    pub(super) fn note_use(&mut self, others: u8, line: LineAddr) {
        for socket in sockets_of(others) {
            self.sockets[socket].mark_consumed(line);
        }
    }

    /// A cache of `socket` dropped a line: the socket may have no copy left.
    #[inline(always)]
    pub(super) fn forget_if_gone_from(&mut self, socket: SocketId, set: SetIndex, line: LineAddr) {
        if self.sockets.len() > 1 {
            self.forget_if_gone_from_one(socket, set, line);
        }
    }

    #[inline(never)]
    fn forget_if_gone_from_one(&mut self, socket: SocketId, set: SetIndex, line: LineAddr) {
        if self.memory.socket_of(line) != socket && !self.sockets[socket].has(set, line) {
            self.elsewhere.remove(line, socket);
        }
    }
}

/// The sockets whose bits are set.
pub(super) fn sockets_of(mask: u8) -> impl Iterator<Item = SocketId> {
    (0..8).filter(move |socket| mask >> socket & 1 == 1).map(SocketId)
}

/// The first socket whose bit is set.
#[inline]
pub(super) fn first_of(mask: u8) -> SocketId {
    SocketId(fit(mask.trailing_zeros()))
}
