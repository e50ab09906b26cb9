//! Structures that say how large they are, so that a program and a library of different versions find
//! out before they misread each other.
#![allow(unsafe_code)]

use crate::boundary::{Failure, missing};

/// A structure of the interface whose first four bytes are its size.
///
/// # Safety
/// It is `repr(C)`, begins with a `u32`, and any bytes form one.
pub unsafe trait Sized32: Copy {
    const NAME: &'static str;

    /// The size that it states.
    fn stated() -> u32 {
        units::narrow::fit(size_of::<Self>())
    }
}

/// What a structure of the caller's says.
///
/// # Safety
/// `pointer` is NULL, or valid for reads of as many bytes as the structure states.
pub unsafe fn given<T: Sized32>(pointer: *const T, name: &str) -> Result<T, Failure> {
    if pointer.is_null() {
        return Err(missing(name));
    }
    // SAFETY: the caller vouches for at least the size.
    check::<T>(unsafe { pointer.cast::<u32>().read_unaligned() }, name)?;
    // SAFETY: it has the size of the structure.
    Ok(unsafe { pointer.read_unaligned() })
}

/// A structure that the function fills.
pub struct Out<T>(*mut T);

impl<T: Sized32> Out<T> {
    /// # Safety
    /// `pointer` is NULL, or valid for reads and writes of as many bytes as the structure states.
    pub unsafe fn optional(pointer: *mut T, name: &str) -> Result<Self, Failure> {
        if !pointer.is_null() {
            // SAFETY: as above.
            check::<T>(unsafe { pointer.cast::<u32>().read_unaligned() }, name)?;
        }
        Ok(Self(pointer))
    }

    /// # Safety
    /// As for [`Self::optional`].
    pub unsafe fn required(pointer: *mut T, name: &str) -> Result<Self, Failure> {
        if pointer.is_null() {
            return Err(missing(name));
        }
        // SAFETY: handed on.
        unsafe { Self::optional(pointer, name) }
    }

    /// Fills it, if the caller wants it.
    pub fn write(&self, value: T) {
        if !self.0.is_null() {
            // SAFETY: the caller vouches for it, and it has the size.
            unsafe { self.0.write_unaligned(value) };
        }
    }
}

fn check<T: Sized32>(stated: u32, name: &str) -> Result<(), Failure> {
    if stated == T::stated() {
        return Ok(());
    }
    let (kind, known) = (T::NAME, T::stated());
    Err(Failure::invalid(format!(
        "`{name}` says that it has {stated} bytes, and {kind} of this library ({}) has {known}: its \
         `size` was not set, or the program was built against another version",
        env!("CARGO_PKG_VERSION")
    )))
}
