//! Whose turn it is: the earliest of many agents.
//!
//! Models: nothing; a tournament in which the earlier of two agents goes on, round by round, so that
//! a changed time is compared once per round and not with every other agent's.
//! Source: Knuth, volume 3, section 5.4.1 (selection trees).
//! Simplifies: nothing.

use units::Picos;

/// When each agent wants to act next.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    /// Times of all agents, filled up with [`Picos::NEVER`] to a power of two.
    wake: Vec<Picos>,
    /// Winner of each match: the final at 1, matches 2i and 2i + 1 lead to match i.
    winners: Vec<u32>,
    agents: usize,
    /// Ties go to the highest agent instead of the lowest.
    ties_to_last: bool,
}

impl Schedule {
    /// Agents that wake at these times, ties going to the lowest.
    ///
    /// # Panics
    /// Without agents: a machine has at least one.
    pub(crate) fn new(mut wake: Vec<Picos>) -> Self {
        assert!(!wake.is_empty());
        let agents = wake.len();
        let places = agents.next_power_of_two().max(2);
        wake.resize(places, Picos::NEVER);
        let mut schedule = Self { wake, winners: vec![0; places], agents, ties_to_last: false };
        schedule.play_all();
        schedule
    }

    /// Turns the tie-break round.
    pub(crate) fn give_ties_to_last(&mut self) {
        self.ties_to_last = true;
        self.play_all();
    }

    /// Who acts next, and when.
    #[inline]
    pub(crate) fn earliest(&self) -> (usize, Picos) {
        let agent = self.winners[1] as usize;
        (agent, self.wake[agent])
    }

    /// When `agent` acts next.
    #[inline]
    pub(crate) fn wake(&self, agent: usize) -> Picos {
        self.wake[agent]
    }

    /// Lets `agent` act next at `time`.
    #[inline]
    pub(crate) fn set(&mut self, agent: usize, time: Picos) {
        debug_assert!(agent < self.agents);
        if self.wake[agent] == time {
            return;
        }
        self.wake[agent] = time;
        let mut game = (self.wake.len() + agent) / 2;
        while game > 0 {
            self.play(game);
            game /= 2;
        }
    }

    fn play_all(&mut self) {
        for game in (1..self.wake.len()).rev() {
            self.play(game);
        }
    }

    #[inline]
    fn play(&mut self, game: usize) {
        let places = self.wake.len();
        let winner_of = |game: usize| {
            if game < places { self.winners[game] } else { (game - places) as u32 }
        };
        let (low, high) = (winner_of(2 * game), winner_of(2 * game + 1));
        let (low_time, high_time) = (self.wake[low as usize], self.wake[high as usize]);
        let tie_to_high = self.ties_to_last && (high as usize) < self.agents;
        let high_wins = high_time < low_time || (high_time == low_time && tie_to_high);
        self.winners[game] = if high_wins { high } else { low };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_tournament_has_the_winner_of_a_search_through_all(
            agents in 1usize..70,
            changes in prop::collection::vec((0usize..70, 0u64..9), 0..200),
            ties_to_last in any::<bool>(),
        ) {
            let mut times = vec![Picos::NEVER; agents];
            let mut schedule = Schedule::new(times.clone());
            if ties_to_last {
                schedule.give_ties_to_last();
            }
            for (agent, time) in changes {
                let agent = agent % agents;
                let time = if time == 8 { Picos::NEVER } else { Picos(time) };
                times[agent] = time;
                schedule.set(agent, time);
                let earliest = times.iter().copied().min().expect("there are agents");
                let first = times.iter().position(|&time| time == earliest);
                let last = times.iter().rposition(|&time| time == earliest);
                let expected = if ties_to_last { last } else { first };
                prop_assert_eq!(Some(schedule.earliest().0), expected);
                prop_assert_eq!(schedule.earliest().1, earliest);
            }
        }
    }
}
