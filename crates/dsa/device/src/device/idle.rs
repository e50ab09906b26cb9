//! Engines of a group that have nothing to do: one polls for work, the others sleep.
//!
//! To wake an engine costs a submitter a system call, some ten times the cost of the submission itself. So a
//! submitter wakes an engine only if no engine is polling, and an engine that takes work wakes the next one
//! only if there is more to take. One engine that polls is enough for that, and leaves other CPUs alone.

/// Numbers of the engines of a group that poll, and that sleep.
#[derive(Debug, Default)]
pub(super) struct Idle {
    /// Engines that poll for work, or have been called to do so.
    looking: usize,
    asleep: usize,
    /// Engines that have been called and have not woken.
    called: usize,
}

impl Idle {
    /// Counts an engine that begins to poll.
    pub fn look(&mut self) {
        self.looking += 1;
    }

    /// Counts an engine that polled and has found work.
    pub fn find(&mut self) {
        self.looking -= 1;
    }

    /// Whether exactly one engine is polling.
    pub fn is_alone(&self) -> bool {
        self.looking == 1
    }

    /// Counts an engine that polled and goes to sleep.
    pub fn sleep(&mut self) {
        self.looking -= 1;
        self.asleep += 1;
    }

    /// Whether no call is left to be answered: a sleeping engine that wakes up goes back to sleep.
    pub fn sleeps_on(&self) -> bool {
        self.called == 0
    }

    /// Counts an engine that was called and is awake.
    pub fn wake(&mut self) {
        self.called -= 1;
    }

    /// Calls an engine if none is polling. Returns whether the caller has to wake one.
    #[must_use]
    pub fn call(&mut self) -> bool {
        let calls = self.looking == 0 && self.asleep > 0;
        if calls {
            self.call_many(1);
        }
        calls
    }

    /// Calls all engines. The caller has to wake them.
    pub fn call_all(&mut self) {
        self.call_many(self.asleep);
    }

    fn call_many(&mut self, number: usize) {
        self.asleep -= number;
        self.looking += number;
        self.called += number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three engines that sleep.
    fn asleep() -> Idle {
        let mut idle = Idle::default();
        for _ in 0..3 {
            idle.look();
            idle.sleep();
        }
        idle
    }

    #[test]
    fn one_is_called_while_none_looks() {
        let mut idle = asleep();
        assert!(idle.call(), "all sleep");
        assert!(!idle.call(), "one is on its way");
        idle.wake();
        assert!(!idle.call(), "it looks");
        idle.find();
        assert!(idle.call(), "it works");
    }

    #[test]
    fn without_engines_asleep_there_is_none_to_call() {
        let mut idle = Idle::default();
        idle.look();
        idle.find();
        assert!(!idle.call());
    }

    #[test]
    fn at_the_end_all_are_called() {
        let mut idle = asleep();
        idle.call_all();
        for _ in 0..3 {
            assert!(!idle.sleeps_on());
            idle.wake();
        }
        assert!(idle.sleeps_on());
    }
}
