//! Versions: where the newest content of a line is, and that no agent reads an older one.

use super::{Core, Held, Reference, Version};
use model::private_caches::MesiState;
use units::LineAddr;

impl Core {
    /// The content that the core itself would read: L1D's copy, else L2's, else L1I's.
    pub(super) fn copy(&self, line: LineAddr) -> Option<Held> {
        let l1i = self.l1i.as_ref().and_then(|l1i| l1i.get(line));
        self.l1.get(line).or(self.l2.get(line)).or(l1i).copied()
    }

    pub(super) fn holds(&self, line: LineAddr) -> bool {
        self.copy(line).is_some()
    }

    /// The core's content if it is newer than the next level.
    pub(super) fn modified(&self, line: LineAddr) -> Option<Version> {
        let newer = |held: Option<&Held>| {
            held.filter(|held| held.state == MesiState::Modified).map(|held| held.version)
        };
        newer(self.l1.get(line)).or(newer(self.l2.get(line)))
    }
}

impl Reference {
    pub(super) fn newest(&self, line: LineAddr) -> Version {
        self.newest.get(&line).copied().unwrap_or_default()
    }

    pub(super) fn in_memory_now(&self, line: LineAddr) -> Version {
        self.memory.get(&line).copied().unwrap_or_default()
    }

    /// An agent writes the line: returns the new version.
    pub(super) fn write_anew(&mut self, line: LineAddr) -> Version {
        let newest = self.newest.entry(line).or_default();
        *newest += 1;
        *newest
    }

    /// The content of a shared copy: that of some cache, or else of memory.
    pub(super) fn newest_kept(&self, line: LineAddr) -> Version {
        let answers = (0..self.sockets.len()).filter_map(|socket| self.answer(socket, line));
        answers.max_by_key(|answer| answer.1).map_or(self.in_memory_now(line), |answer| answer.0)
    }

    /// An agent has used this content.
    pub(super) fn read_is_current(&mut self, line: LineAddr, version: Version, who: &str) {
        let newest = self.newest(line);
        if version != newest {
            let what = format!("{who} reads version {version} of {line:?}, {newest} is newest");
            self.broken.get_or_insert(what);
        }
    }

    /// A line is read from its node.
    pub(super) fn memory_read(&mut self, line: LineAddr) -> Version {
        let node = self.node_of(line);
        self.moved[node].0 += 1;
        self.in_memory_now(line)
    }

    /// A line is written to its node.
    pub(super) fn memory_write(&mut self, line: LineAddr, version: Version) {
        let node = self.node_of(line);
        self.moved[node].1 += 1;
        let before = self.memory.insert(line, version).unwrap_or_default();
        if before > version {
            let what = format!("version {version} of {line:?} overwrites {before} in memory");
            self.broken.get_or_insert(what);
        }
    }

    /// Checks that all reads so far returned the last write; that the last write of every line is kept
    /// in a cache that will write it back, or in memory; and that every readable copy is current.
    ///
    /// # Errors
    /// Names the line that violates this.
    pub fn check_content(&self) -> Result<(), String> {
        match &self.broken {
            Some(what) => Err(what.clone()),
            None => self.newest.keys().try_for_each(|&line| self.check_content_of(line)),
        }
    }

    fn check_content_of(&self, line: LineAddr) -> Result<(), String> {
        let newest = self.newest(line);
        let is_newest = |version, what: String| {
            if version == newest {
                return Ok(());
            }
            Err(format!("{what} version {version} of {line:?}, {newest} is newest"))
        };
        let modified = self.cores.iter().find_map(|core| core.modified(line));
        let in_llcs = || self.sockets.iter().filter_map(|socket| socket.llc.get(line));
        let dirty = in_llcs().find(|placed| placed.dirty).map(|placed| placed.version);
        let buffers = || self.ports.iter().filter_map(|port| port.buffer.as_ref()?.content(line));
        let in_buffer = buffers().find(|content| content.1).map(|content| content.0);
        let safe = modified.or(in_buffer).or(dirty);
        is_newest(safe.unwrap_or(self.in_memory_now(line)), "what will be kept is".into())?;
        for (number, core) in self.cores.iter().enumerate() {
            if let Some(held) = core.copy(line) {
                is_newest(held.version, format!("core {number} has"))?;
            }
        }
        for (version, _) in buffers() {
            is_newest(version, "a buffer has".into())?;
        }
        for (number, socket) in self.sockets.iter().enumerate() {
            // While a core has the line modified, no agent is served the LLC's content.
            if let Some(placed) = socket.llc.get(line).filter(|_| modified.is_none()) {
                is_newest(placed.version, format!("LLC {number} has"))?;
            }
        }
        Ok(())
    }

    /// Whether a core would write a line in its L1I, or fetch a line that it has written and not yet
    /// written back to L2: the model leaves self-modifying code out.
    pub fn is_self_modifying(&self, core: usize, line: LineAddr, write: bool) -> bool {
        let core = &self.cores[core];
        let written = core.l1.get(line).is_some_and(|held| held.state == MesiState::Modified);
        let fetched = core.l1i.as_ref().is_some_and(|l1i| l1i.has(line));
        if write { fetched } else { written }
    }
}
