//! A limit on the requests that leave a core's L2.
//!
//! Models: Intel Memory Bandwidth Allocation: a request-rate controller between L2 and interconnect.
//! Source: Intel SDM, volume 3, "Memory Bandwidth Allocation"; ATC'20 sets 40 %.
//! Simplifies: the controller passes requests during a share of each period and holds them during the
//! rest, so that every access pattern keeps that share of its unlimited traffic; real processors delay
//! each request by an amount that Intel calls approximate. Prefetchers of L2 are limited only through
//! the demand accesses that they follow.

use units::Picos;

/// Long compared with a memory access, short compared with a batch.
const PERIOD: Picos = Picos(5_000_000);

/// The controller of one core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BandwidthLimit {
    open: Picos,
}

impl BandwidthLimit {
    /// No limit: every request passes at once.
    pub const NONE: Self = Self { open: PERIOD };

    /// Limits traffic to `percent` of the core's unlimited traffic.
    #[must_use]
    pub fn percent(percent: u32) -> Self {
        Self { open: Picos(PERIOD.0 / 100 * u64::from(percent.min(100))) }
    }

    /// When the controller passes a request of `now`.
    #[inline]
    #[must_use]
    pub fn let_out(self, now: Picos) -> Picos {
        let phase = now.0 % PERIOD.0;
        if phase < self.open.0 { now } else { Picos(now.0 - phase + PERIOD.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_wait_for_the_next_period_once_their_share_is_over() {
        let limit = BandwidthLimit::percent(40);
        assert_eq!(limit.let_out(Picos(1_999_999)), Picos(1_999_999));
        assert_eq!(limit.let_out(Picos(2_000_000)), Picos(5_000_000));
        assert_eq!(limit.let_out(Picos(9_000_000)), Picos(10_000_000));
        assert_eq!(BandwidthLimit::NONE.let_out(Picos(4_999_999)), Picos(4_999_999));
    }
}
