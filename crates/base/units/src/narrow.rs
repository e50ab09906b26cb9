//! Conversions into a type with fewer bits. Each name says what happens to the other bits.
//!
//! A plain `as` truncates silently, so a lint refuses it. Input (a file, a command line, a register of
//! the host) is converted by `try_from`, with an error that the user can act on. Other values use one
//! of these; none adds an instruction to a release build.

const _: () = assert!(usize::BITS >= 32, "numbers of lines and sets are indices of arrays");

/// A number of lines, bytes or entries as an index or length.
///
/// # Panics
/// Where `usize` has fewer than 64 bits, as in WebAssembly, if the number has more: nothing so large is in
/// memory there.
#[inline(always)]
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "asserted where usize has fewer bits")]
pub const fn usize_from(number: u64) -> usize {
    #[cfg(not(target_pointer_width = "64"))]
    assert!(number <= usize::MAX as u64, "more than this machine can address");
    number as usize
}

/// The low 32 bits of a line's number (where the rest is known or not used), of a hash or of a
/// register.
#[inline(always)]
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "the caller wants the low bits")]
pub const fn low_u32(bits: u64) -> u32 {
    bits as u32
}

/// The low 16 bits, as [`low_u32`].
#[inline(always)]
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "the caller wants the low bits")]
pub const fn low_u16(bits: u64) -> u16 {
    bits as u16
}

/// The low 8 bits, as [`low_u32`].
#[inline(always)]
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "the caller wants the low bits")]
pub const fn low_u8(bits: u64) -> u8 {
    bits as u8
}

/// The integer part; zero for a negative number or NaN, `u64::MAX` if it is larger.
#[inline(always)]
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "the fraction is dropped, excess saturates")]
#[expect(clippy::cast_sign_loss, reason = "a negative number becomes zero")]
pub const fn whole(number: f64) -> u64 {
    number as u64
}

/// `number` in fewer bits, where it is known to fit: a count of components with ids of that width, a
/// remainder, a value that was checked when it was read.
///
/// # Panics
/// In builds with debug assertions, if it does not fit.
#[inline(always)]
#[must_use]
#[track_caller]
pub fn fit<N, W: Fit<N>>(number: W) -> N {
    number.fit()
}

/// Numbers that may fit in the narrower type `N`.
pub trait Fit<N> {
    /// See [`fit`].
    #[must_use]
    fn fit(self) -> N;
}

macro_rules! fits {
    ($($wide:ident to $($narrow:ident)+;)+) => { $($(
        impl Fit<$narrow> for $wide {
            #[inline(always)]
            #[track_caller]
            #[expect(clippy::cast_possible_truncation, reason = "asserted; see `fit`")]
            fn fit(self) -> $narrow {
                debug_assert!(
                    $narrow::try_from(self).is_ok(),
                    concat!("{} does not fit in ", stringify!($narrow)), self,
                );
                self as $narrow
            }
        }
    )+)+ };
}

fits! {
    u16 to u8;
    u32 to u8 u16;
    u64 to u8 u16 u32;
    u128 to u64;
    usize to u8 u16 u32;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_bits_are_cut_out() {
        assert_eq!(low_u32(0x0123_4567_89ab_cdef), 0x89ab_cdef);
        assert_eq!(low_u16(0x0123_4567_89ab_cdef), 0xcdef);
        assert_eq!(low_u8(0x0123_4567_89ab_cdef), 0xef);
    }

    #[test]
    fn the_whole_part_saturates() {
        assert_eq!(whole(2.9), 2);
        assert_eq!(whole(-2.9), 0);
        assert_eq!(whole(f64::NAN), 0);
        assert_eq!(whole(1e30), u64::MAX);
    }

    #[test]
    fn the_greatest_number_fits() {
        assert_eq!(fit::<u8, _>(255_u32), 255);
        assert_eq!(fit::<u32, _>(u64::from(u32::MAX)), u32::MAX);
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "65536 does not fit in u16")]
    fn a_number_that_does_not_fit_is_a_bug() {
        let _: u16 = fit(65_536_usize);
    }
}
