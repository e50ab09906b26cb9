//! A request of one level to the next, in one word.

use units::narrow::low_u32;

/// A request: a line and the operation on it.
///
/// A *reference* is one access of a program; it may cover several lines. The first line that a level is
/// asked for is the head of the reference there. A level's heads therefore count the references that
/// reached it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Request(u64);

impl Request {
    const MODIFIES: u64 = 1 << 32;
    const WRITES_BACK: u64 = 1 << 33;
    /// One above [`Self::WRITES_BACK`]: the request for a modified line that missed.
    const FOR_VICTIM: u64 = 1 << 34;
    const STORE: u64 = 1 << 35;
    const OF_REFERENCE: u64 = 1 << 36;
    /// One above [`Self::OF_REFERENCE`].
    const HEAD: u64 = 1 << 37;
    const KEPT_BELOW: u64 = u32::MAX as u64 | Self::STORE | Self::FOR_VICTIM | Self::OF_REFERENCE;

    /// A line of a reference: the first, or a further one.
    #[inline]
    #[must_use]
    pub fn reference(line: u32, head: bool, store: bool, modifies: bool) -> Self {
        let flag = |is: bool, flag: u64| if is { flag } else { 0 };
        Self(
            u64::from(line)
                | Self::OF_REFERENCE
                | flag(head, Self::HEAD)
                | flag(store, Self::STORE)
                | flag(modifies, Self::MODIFIES),
        )
    }

    /// Number of the requested line.
    #[inline]
    #[must_use]
    pub fn line(self) -> u32 {
        low_u32(self.0)
    }

    /// Whether the line is the first of its reference that this level is asked for.
    #[inline]
    #[must_use]
    pub fn is_head(self) -> bool {
        self.0 & Self::HEAD != 0
    }

    /// Whether its reference is a store.
    #[inline]
    #[must_use]
    pub fn is_store(self) -> bool {
        self.0 & Self::STORE != 0
    }

    /// Whether the request fetches a line because a modified victim from above missed here.
    #[inline]
    #[must_use]
    pub fn is_for_victim(self) -> bool {
        self.0 & Self::FOR_VICTIM != 0
    }

    /// Whether it writes back a modified line from above. Such a request does not use the line if it
    /// hits.
    #[inline]
    #[must_use]
    pub fn writes_back(self) -> bool {
        self.0 & Self::WRITES_BACK != 0
    }

    /// 1 if the line is modified afterwards.
    #[inline(always)]
    pub(super) fn modifies(self) -> u32 {
        low_u32(self.0 >> Self::MODIFIES.trailing_zeros()) & 1
    }

    /// 1 if it [writes back](Self::writes_back).
    #[inline(always)]
    pub(super) fn written_back(self) -> u32 {
        low_u32(self.0 >> Self::WRITES_BACK.trailing_zeros()) & 1
    }

    /// The write-back of a modified victim.
    #[inline(always)]
    pub(super) fn write_back(line: u32) -> Self {
        Self(u64::from(line) | Self::MODIFIES | Self::WRITES_BACK)
    }
}

/// Whether the level below has been asked for a line of the present reference.
#[derive(Clone, Copy, Default)]
pub(super) struct HeadState {
    /// The bit of [`Request::HEAD`], or zero.
    head_gone: u64,
}

impl HeadState {
    /// The request to the level below if the line is `missing`, which is 1 or 0. (Bits only: the
    /// outcome is unpredictable, so a branch would cost more than all other instructions.)
    #[inline(always)]
    pub(super) fn below(&mut self, request: Request, missing: u32) -> Request {
        let Request(asked) = request;
        let gone_before = self.head_gone & !asked;
        let line_of_reference = asked << 1 & Request::HEAD;
        self.head_gone = gone_before | line_of_reference & u64::from(missing).wrapping_neg();
        let for_victim = (asked & Request::WRITES_BACK) << 1;
        Request(asked & Request::KEPT_BELOW | for_victim | line_of_reference & !gone_before)
    }
}
