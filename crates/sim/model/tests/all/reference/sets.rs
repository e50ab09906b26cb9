//! A set-associative cache as plain data: the content of each way, and the order of their last use.

use address_map::AddressMap;
use units::{LineAddr, WayMask};

/// The set function.
#[derive(Clone, Debug)]
pub enum Index {
    /// The line's number modulo the sets.
    Modulo(u32),
    /// The slices of an LLC.
    Sliced(AddressMap),
}

impl Index {
    fn sets(&self) -> usize {
        match self {
            Self::Modulo(sets) => *sets as usize,
            Self::Sliced(map) => map.total_sets() as usize,
        }
    }

    fn set_of(&self, line: LineAddr) -> usize {
        match self {
            Self::Modulo(sets) => (line.0 % u64::from(*sets)) as usize,
            Self::Sliced(map) => map.set_of(line).0 as usize,
        }
    }
}

#[derive(Clone, Debug)]
struct Set<E> {
    places: Vec<Option<(LineAddr, E)>>,
    /// All ways, the least recently used first.
    oldest_first: Vec<usize>,
}

/// A cache of entries `E` with LRU replacement.
#[derive(Clone, Debug)]
pub struct Sets<E> {
    index: Index,
    sets: Vec<Set<E>>,
}

impl<E: Clone> Sets<E> {
    pub fn new(index: Index, ways: u32) -> Self {
        let ways = ways as usize;
        let empty = Set { places: vec![None; ways], oldest_first: (0..ways).collect() };
        Self { sets: vec![empty; index.sets()], index }
    }

    fn set(&self, line: LineAddr) -> &Set<E> {
        &self.sets[self.index.set_of(line)]
    }

    fn set_mut(&mut self, line: LineAddr) -> &mut Set<E> {
        &mut self.sets[self.index.set_of(line)]
    }

    /// The way that holds a line.
    pub fn way_of(&self, line: LineAddr) -> Option<usize> {
        let holds = |place: &Option<(LineAddr, E)>| place.as_ref().is_some_and(|p| p.0 == line);
        self.set(line).places.iter().position(holds)
    }

    /// The number of a line's set.
    pub fn set_number(&self, line: LineAddr) -> usize {
        self.index.set_of(line)
    }

    /// Set and way of a line that hits.
    pub fn place_of(&self, line: LineAddr) -> Option<(usize, usize)> {
        self.way_of(line).map(|way| (self.set_number(line), way))
    }

    pub fn has(&self, line: LineAddr) -> bool {
        self.way_of(line).is_some()
    }

    pub fn get(&self, line: LineAddr) -> Option<&E> {
        self.set(line).places.iter().flatten().find(|place| place.0 == line).map(|place| &place.1)
    }

    pub fn get_mut(&mut self, line: LineAddr) -> Option<&mut E> {
        let places = &mut self.set_mut(line).places;
        places.iter_mut().flatten().find(|place| place.0 == line).map(|place| &mut place.1)
    }

    /// Marks a line that hits as used.
    pub fn used(&mut self, line: LineAddr) {
        if let Some(way) = self.way_of(line) {
            self.set_mut(line).use_way(way);
        }
    }

    /// The victim if a line that misses were filled into a way of `allowed`.
    pub fn victim(&self, line: LineAddr, allowed: WayMask) -> Option<&E> {
        let set = self.set(line);
        let may = |way: &usize| allowed.0 >> way & 1 == 1;
        if (0..set.places.len()).filter(may).any(|way| set.places[way].is_none()) {
            return None;
        }
        let oldest = set.oldest_first.iter().copied().find(may);
        oldest.and_then(|way| set.places[way].as_ref()).map(|place| &place.1)
    }

    /// Ways of a line's set whose entries satisfy `is_such`.
    pub fn ways_with(&self, line: LineAddr, is_such: impl Fn(&E) -> bool) -> WayMask {
        let places = self.set(line).places.iter().enumerate();
        let such =
            places.filter(|(_, place)| place.as_ref().is_some_and(|place| is_such(&place.1)));
        WayMask(such.fold(0, |mask, (way, _)| mask | 1 << way))
    }

    /// Fills a line that misses into a way of `allowed`: the lowest empty one, or else the least
    /// recently used, whose line is evicted.
    pub fn put(
        &mut self,
        line: LineAddr,
        entry: E,
        allowed: WayMask,
    ) -> (usize, Option<(LineAddr, E)>) {
        assert!(!self.has(line), "{line:?} is here already");
        let set = self.set_mut(line);
        let may = |way: usize| allowed.0 >> way & 1 == 1;
        let ways = 0..set.places.len();
        let empty = ways.clone().find(|&way| may(way) && set.places[way].is_none());
        let oldest = set.oldest_first.iter().copied().find(|&way| may(way));
        let way = empty.or(oldest).expect("some way is allowed");
        let victim = set.places[way].replace((line, entry));
        set.use_way(way);
        (way, victim)
    }

    /// Ways of a set.
    pub fn ways(&self) -> usize {
        self.sets[0].places.len()
    }

    /// Whether a way of the set of `line` is empty.
    pub fn is_empty_at(&self, line: LineAddr, way: usize) -> bool {
        self.set(line).places[way].is_none()
    }

    /// Removes a line.
    pub fn take(&mut self, line: LineAddr) -> Option<E> {
        let way = self.way_of(line)?;
        self.set_mut(line).places[way].take().map(|place| place.1)
    }

    /// The whole content: way, line, entry.
    pub fn iter(&self) -> impl Iterator<Item = (usize, LineAddr, &E)> {
        let places = |set: &'_ Set<E>| set.places.len();
        self.sets.iter().flat_map(move |set| {
            (0..places(set))
                .filter_map(|way| set.places[way].as_ref().map(|(line, entry)| (way, *line, entry)))
        })
    }
}

impl<E> Set<E> {
    fn use_way(&mut self, way: usize) {
        self.oldest_first.retain(|&other| other != way);
        self.oldest_first.push(way);
    }
}
