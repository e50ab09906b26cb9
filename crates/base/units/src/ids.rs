//! Ids of a machine's components, one type for each kind, and lists that they index.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Index, IndexMut};

/// A number that identifies a component of one kind.
pub trait Id: Copy {
    /// The component with number `index`, from 0.
    ///
    /// # Panics
    /// If `index` exceeds the largest id.
    fn at(index: usize) -> Self;

    /// The number of the component among its kind, from 0.
    fn index(self) -> usize;
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)+) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u8);

        impl Id for $name {
            #[inline]
            fn at(index: usize) -> Self {
                match u8::try_from(index) {
                    Ok(number) => Self(number),
                    Err(_) => panic!("{index} is no {}", stringify!($name)),
                }
            }

            #[inline(always)]
            fn index(self) -> usize {
                usize::from(self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(out)
            }
        }
    )+ };
}

ids! {
    /// A processor socket of a machine.
    SocketId
    /// A core, counted over all sockets of a machine.
    CoreId
    /// A core, counted in its socket.
    SocketCore
    /// A root port of a machine, counted over all sockets: one device is attached to it.
    RootPortId
}

/// A list that is indexed by ids of one kind.
#[derive(Clone, Debug)]
pub struct ById<I, T> {
    entries: Vec<T>,
    id: PhantomData<I>,
}

impl<I: Id, T> ById<I, T> {
    /// The ids of all entries.
    pub fn ids(&self) -> impl Iterator<Item = I> + use<I, T> {
        (0..self.entries.len()).map(I::at)
    }
}

impl<I, T> FromIterator<T> for ById<I, T> {
    fn from_iter<E: IntoIterator<Item = T>>(entries: E) -> Self {
        Self { entries: entries.into_iter().collect(), id: PhantomData }
    }
}

impl<I, T> Deref for ById<I, T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.entries
    }
}

impl<I, T> DerefMut for ById<I, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.entries
    }
}

impl<I: Id, T> Index<I> for ById<I, T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, id: I) -> &T {
        &self.entries[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for ById<I, T> {
    #[inline(always)]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.entries[id.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_finds_its_entry() {
        let mut cores: ById<CoreId, char> = "abc".chars().collect();
        cores[CoreId(1)] = 'x';
        assert_eq!(cores.ids().map(|core| cores[core]).collect::<String>(), "axc");
        assert_eq!(CoreId::at(2), CoreId(2));
    }

    #[test]
    #[should_panic(expected = "256 is no SocketId")]
    fn a_number_that_does_not_fit_is_refused() {
        SocketId::at(256);
    }
}
