//! Times as clocks of real machines give them: jumps, repetitions, nights without a packet.

use super::dice::Dice;

pub const SECOND_PS: i128 = 1_000_000_000_000;
const TEN_MINUTES_PS: i128 = 600 * SECOND_PS;

/// The times of a file, one after the other; each is since 1970, or before.
pub struct Clock {
    now_ps: i128,
    /// Time that is added at most for an ordinary packet.
    step_ps: usize,
    /// Whether the first packet has a time of 1970, and the others have not.
    begins_in_1970: bool,
}

impl Clock {
    pub fn draw(dice: &mut Dice) -> Self {
        let start_s = dice.pick(&[-90_000, 0, 1, 1_099_511_627, 1_750_000_000, 2_147_483_647]);
        let fraction_ps = dice.below(1_000_000) as i128 * 1_000_000 + dice.below(1_000_000) as i128;
        Self {
            now_ps: start_s * SECOND_PS + fraction_ps,
            step_ps: dice.pick(&[3, 4_000, 5_000_000, 1_000_000_000, 2_000_000_000_000]),
            begins_in_1970: dice.happens(10),
        }
    }

    pub fn now_ps(&self) -> i128 {
        self.now_ps
    }

    pub fn advance(&mut self, dice: &mut Dice) -> i128 {
        if std::mem::take(&mut self.begins_in_1970) {
            return dice.below(3) as i128 * SECOND_PS;
        }
        let step_ps = dice.below(self.step_ps) as i128;
        self.now_ps += match dice.below(20) {
            0 => 0,
            1 => -20 * step_ps,
            2 => dice.pick(&[
                TEN_MINUTES_PS,
                TEN_MINUTES_PS + 1,
                TEN_MINUTES_PS - 1,
                6 * TEN_MINUTES_PS,
                50_000 * TEN_MINUTES_PS,
            ]),
            _ => step_ps,
        };
        self.now_ps
    }
}
