//! Compares every kernel with a list of lines per set and with each other.

use super::*;
use proptest::prelude::*;

/// Reference model: sets as lists of (line, modified), the next victim last.
struct Lists {
    sets: Vec<Vec<(u32, bool)>>,
    ways: usize,
    leaves: EvictionOrder,
}

/// A request in plain fields, and whether a reference begins with it.
#[derive(Clone, Copy, Debug)]
struct Asked {
    line: u32,
    kind: u8,
    head: bool,
}

impl Asked {
    fn request(self) -> Request {
        match self.kind {
            0 => Request::reference(self.line, self.head, false, false),
            1 => Request::reference(self.line, self.head, true, true),
            2 => Request::reference(self.line, self.head, false, true),
            3 => Request::write_back(self.line),
            _ => below_of(Request::write_back(self.line), false),
        }
    }
}

/// The request below as the documentation defines it.
fn below_of(request: Request, head: bool) -> Request {
    if request.writes_back() || request.is_for_victim() {
        return request::HeadState::default().below(Request::write_back(request.line()), 1);
    }
    Request::reference(request.line(), head, request.is_store(), false)
}

impl Lists {
    /// Whether the line hit, and the victim.
    fn ask(&mut self, set: u32, request: Request) -> (bool, Option<(u32, bool)>) {
        let list = &mut self.sets[set as usize];
        let modifies = request.modifies() == 1;
        if let Some(place) = list.iter().position(|held| held.0 == request.line()) {
            list[place].1 |= modifies;
            if self.leaves == EvictionOrder::LeastRecentlyUsed && !request.writes_back() {
                let held = list.remove(place);
                list.insert(0, held);
            }
            return (true, None);
        }
        list.insert(0, (request.line(), modifies));
        (false, if list.len() > self.ways { list.pop() } else { None })
    }

    /// All requests to the level below, and the counts of modified lines.
    fn serve(&mut self, asked: &[(u32, Request)]) -> (Vec<Request>, WriteBackCounts) {
        let (mut below, mut written, mut went_on) = (Vec::new(), WriteBackCounts::default(), false);
        for &(set, request) in asked {
            if request.is_head() {
                went_on = false;
            }
            let (hit, victim) = self.ask(set, request);
            if hit {
                continue;
            }
            let of_reference = !request.writes_back() && !request.is_for_victim();
            below.push(below_of(request, !went_on));
            went_on |= of_reference;
            written.victims_missed += u64::from(request.writes_back());
            if let Some((line, true)) = victim {
                below.push(Request::write_back(line));
                written.write_backs += 1;
            }
        }
        (below, written)
    }

    fn lines_of(&self, set: u32) -> Vec<u32> {
        self.sets[set as usize].iter().map(|held| held.0).collect()
    }
}

fn lists(sets: u32, ways: u32, leaves: EvictionOrder) -> Lists {
    Lists { sets: vec![Vec::new(); sets as usize], ways: ways as usize, leaves }
}

fn requests() -> impl Strategy<Value = Vec<Asked>> {
    let one = (0u32..96, 0u8..5, any::<bool>());
    prop::collection::vec(one.prop_map(|(line, kind, head)| Asked { line, kind, head }), 1..400)
}

fn leaves() -> impl Strategy<Value = EvictionOrder> {
    prop::sample::select(vec![EvictionOrder::LeastRecentlyUsed, EvictionOrder::FirstIn])
}

/// Set numbers that are not low bits of the line, for three sets.
fn scattered(line: u32) -> u32 {
    line / 5 % 3
}

proptest! {
    #[test]
    fn every_kernel_serves_requests_as_lists_do(
        ways in 1u32..=32,
        leaves in leaves(),
        batches in prop::collection::vec(requests(), 1..4),
    ) {
        for kernel in Kernel::available() {
            let mut low = RecencySets::with_kernel(4, ways, leaves, kernel);
            let mut listed = RecencySets::with_kernel(3, ways, leaves, kernel);
            let (mut of_low, mut of_listed) = (lists(4, ways, leaves), lists(3, ways, leaves));
            for batch in &batches {
                let asked: Vec<Request> = batch.iter().map(|asked| asked.request()).collect();
                let mut below = Vec::new();
                let written = low.serve(&asked, Places::LowBits, &mut below);
                let with_sets = asked.iter().map(|&request| (request.line() % 4, request));
                let expected = of_low.serve(&with_sets.collect::<Vec<_>>());
                prop_assert_eq!((&below, written), (&expected.0, expected.1), "{:?}", kernel);

                let sets: Vec<u32> = asked.iter().map(|request| scattered(request.line())).collect();
                below.clear();
                let written = listed.serve(&asked, Places::Listed(&sets), &mut below);
                let with_sets = sets.iter().copied().zip(asked.iter().copied());
                let expected = of_listed.serve(&with_sets.collect::<Vec<_>>());
                prop_assert_eq!((&below, written), (&expected.0, expected.1), "{:?}", kernel);
            }
            for set in 0..3 {
                prop_assert_eq!(low.lines_of(set).collect::<Vec<_>>(), of_low.lines_of(set));
                prop_assert_eq!(listed.lines_of(set).collect::<Vec<_>>(), of_listed.lines_of(set));
            }
        }
    }

    #[test]
    fn reads_are_served_as_by_the_loop_that_knows_modified_lines(
        ways in 1u32..=32,
        leaves in leaves(),
        sets in prop::sample::select(vec![1u32, 2, 16, 512]),
        lines in prop::collection::vec(0u32..1500, 1..1500),
    ) {
        for kernel in Kernel::available() {
            let mut sets_of_reads = RecencySets::with_kernel(sets, ways, leaves, kernel);
            let mut others = sets_of_reads.clone();
            let mut missed = Vec::new();
            sets_of_reads.read(&lines, Places::LowBits, &mut missed);
            let request = |&line: &u32| Request::reference(line, true, false, false);
            let asked: Vec<Request> = lines.iter().map(request).collect();
            let mut below = Vec::new();
            let written = others.serve(&asked, Places::LowBits, &mut below);
            prop_assert_eq!(written, WriteBackCounts::default());
            let below: Vec<u32> = below.iter().map(|request| request.line()).collect();
            prop_assert_eq!(missed, below);
            for set in 0..sets {
                prop_assert!(sets_of_reads.lines_of(set).eq(others.lines_of(set)));
            }
        }
    }
}

#[test]
#[should_panic(expected = "modified lines have to be told")]
fn reads_are_refused_once_lines_may_be_modified() {
    let mut sets = RecencySets::new(4, 2, EvictionOrder::FirstIn);
    sets.serve(&[], Places::LowBits, &mut Vec::new());
    sets.read(&[1], Places::LowBits, &mut Vec::new());
}

#[test]
#[should_panic(expected = "greatest < self.sets")]
fn a_set_that_does_not_exist_is_refused() {
    let mut sets = RecencySets::new(4, 2, EvictionOrder::FirstIn);
    sets.read(&[1, 2], Places::Listed(&[0, 4]), &mut Vec::new());
}
