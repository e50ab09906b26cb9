//! How often settings may change.

use std::collections::VecDeque;
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

/// Lets through so many changes in any minute.
#[derive(Clone, Debug)]
pub struct Governor {
    most_per_minute: usize,
    /// Times of the changes of the last minute.
    made: VecDeque<Duration>,
}

impl Governor {
    /// Lets through at most `most_per_minute` changes in any minute.
    #[must_use]
    pub fn new(most_per_minute: usize) -> Self {
        Self { most_per_minute, made: VecDeque::new() }
    }

    /// Whether a change may be made `now`, a time since any beginning; it then counts as made.
    pub fn permits(&mut self, now: Duration) -> bool {
        while self.made.front().is_some_and(|made| now.saturating_sub(*made) >= MINUTE) {
            self.made.pop_front();
        }
        if self.made.len() >= self.most_per_minute {
            return false;
        }
        self.made.push_back(now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_minute_has_more_changes(
            most in 1_usize..9,
            gaps in prop::collection::vec(0_u64..40, 1..200),
        ) {
            let mut governor = Governor::new(most);
            let (mut now, mut made) = (Duration::ZERO, Vec::new());
            for gap in gaps {
                now += Duration::from_secs(gap);
                if governor.permits(now) {
                    made.push(now);
                } else {
                    let recent = made.iter().filter(|then| now - **then < MINUTE).count();
                    prop_assert_eq!(recent, most, "refused without a reason");
                }
            }
            for window in made.windows(most + 1) {
                prop_assert!(window[most] - window[0] >= MINUTE);
            }
        }
    }
}
