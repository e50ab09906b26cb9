//! The next of many agents: the one with the earliest time.
//!
//! Models: the order of agents as a tournament in which the earlier of two agents advances, so that a
//! changed time is compared once per round and not with every other agent's.
//! Source: Knuth, volume 3, section 5.4.1 (selection trees).

use units::Picos;

/// The next time of each agent.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    /// Winner of each match: the final at 1, matches 2i and 2i + 1 lead to match i. The second half is
    /// the agents themselves, padded with [`Picos::NEVER`] to a power of two. Times are stored with the
    /// winners, so that a match reads only one more entry than the one that it comes from.
    winners: Vec<Winner>,
    agents: usize,
    /// Ties go to the highest agent instead of the lowest.
    ties_to_last: bool,
}

/// The winner of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Winner {
    time: Picos,
    agent: usize,
}

impl Schedule {
    /// Agents with these next times; ties go to the lowest.
    ///
    /// # Panics
    /// Without agents: a machine has at least one.
    pub(crate) fn new(wake: Vec<Picos>) -> Self {
        assert!(!wake.is_empty());
        let agents = wake.len();
        let places = agents.next_power_of_two().max(2);
        let times = wake.into_iter().chain(std::iter::repeat(Picos::NEVER));
        let leaves = times.take(places).enumerate().map(|(agent, time)| Winner { time, agent });
        let unplayed = Winner { time: Picos::NEVER, agent: 0 };
        let winners = std::iter::repeat_n(unplayed, places).chain(leaves).collect();
        let mut schedule = Self { winners, agents, ties_to_last: false };
        schedule.play_all();
        schedule
    }

    /// Reverses the tie-break.
    pub(crate) fn give_ties_to_last(&mut self) {
        self.ties_to_last = true;
        self.play_all();
    }

    /// The next agent, and its time.
    #[inline]
    pub(crate) fn earliest(&self) -> (usize, Picos) {
        let Winner { time, agent } = self.winners[1];
        (agent, time)
    }

    /// The earliest time of all agents except `agent`.
    #[inline]
    pub(crate) fn earliest_beside(&self, agent: usize) -> Picos {
        let mut place = self.leaf(agent);
        let mut earliest = Picos::NEVER;
        while place > 1 {
            earliest = earliest.min(self.winners[place ^ 1].time);
            place /= 2;
        }
        earliest
    }

    /// The next time of `agent`.
    #[inline]
    pub(crate) fn wake(&self, agent: usize) -> Picos {
        self.winners[self.leaf(agent)].time
    }

    /// Sets the next time of `agent`.
    #[inline]
    pub(crate) fn set(&mut self, agent: usize, time: Picos) {
        debug_assert!(agent < self.agents);
        let mut place = self.leaf(agent);
        let mut winner = Winner { time, agent };
        // If a match has the same winner as before, no match above it changes.
        while self.winners[place] != winner {
            self.winners[place] = winner;
            if place == 1 {
                return;
            }
            let other = self.winners[place ^ 1];
            winner = match place.is_multiple_of(2) {
                true => self.play(winner, other),
                false => self.play(other, winner),
            };
            place /= 2;
        }
    }

    fn leaf(&self, agent: usize) -> usize {
        self.winners.len() / 2 + agent
    }

    fn play_all(&mut self) {
        for game in (1..self.winners.len() / 2).rev() {
            self.winners[game] = self.play(self.winners[2 * game], self.winners[2 * game + 1]);
        }
    }

    /// The winner of two agents, of which the first comes from the lower half.
    #[inline]
    fn play(&self, low: Winner, high: Winner) -> Winner {
        let tie_to_high = self.ties_to_last && high.agent < self.agents;
        let high_wins = high.time < low.time || (high.time == low.time && tie_to_high);
        if high_wins { high } else { low }
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
                times[agent] = Picos::NEVER;
                let beside = times.iter().min().expect("there are agents");
                prop_assert_eq!(schedule.earliest_beside(agent), *beside);
                times[agent] = time;
            }
        }
    }
}
