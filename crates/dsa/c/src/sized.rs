//! Structures that state their size, so that a program and a library of different versions notice before they
//! misread each other.
#![allow(unsafe_code)]

use crate::boundary::{SkdFailure, missing};

/// A structure of the interface whose first four bytes are its size.
///
/// # Safety
/// The structure is `repr(C)`, begins with a `u32`, and any bytes form one.
pub unsafe trait Sized32: Copy {
    /// Name of the structure in C.
    const NAME: &'static str;

    /// The size that the structure has to state, in bytes.
    fn stated() -> u32 {
        units::narrow::fit(size_of::<Self>())
    }
}

/// Reads a structure of the caller, after a check of its size.
///
/// # Safety
/// `pointer` is NULL, or valid for reads of as many bytes as the structure states.
pub unsafe fn read_structure<T: Sized32>(pointer: *const T, name: &str) -> Result<T, SkdFailure> {
    if pointer.is_null() {
        return Err(missing(name));
    }
    // SAFETY: the caller vouches for at least the size.
    check::<T>(unsafe { pointer.cast::<u32>().read_unaligned() }, name)?;
    // SAFETY: it has the size of the structure.
    Ok(unsafe { pointer.read_unaligned() })
}

/// A structure that the function fills.
pub struct OutStructure<T>(*mut T);

impl<T: Sized32> OutStructure<T> {
    /// Checks the size of a structure that may be NULL.
    ///
    /// # Safety
    /// `pointer` is NULL, or valid for reads and writes of as many bytes as the structure states.
    pub unsafe fn optional(pointer: *mut T, name: &str) -> Result<Self, SkdFailure> {
        if !pointer.is_null() {
            // SAFETY: as above.
            check::<T>(unsafe { pointer.cast::<u32>().read_unaligned() }, name)?;
        }
        Ok(Self(pointer))
    }

    /// Checks the size of a structure that must not be NULL.
    ///
    /// # Safety
    /// As for [`Self::optional`].
    pub unsafe fn required(pointer: *mut T, name: &str) -> Result<Self, SkdFailure> {
        if pointer.is_null() {
            return Err(missing(name));
        }
        // SAFETY: the caller promises the same.
        unsafe { Self::optional(pointer, name) }
    }

    /// Writes the structure, unless the pointer is NULL.
    pub fn write(&self, value: T) {
        if !self.0.is_null() {
            // SAFETY: the caller vouches for it, and it has the size.
            unsafe { self.0.write_unaligned(value) };
        }
    }
}

fn check<T: Sized32>(stated: u32, name: &str) -> Result<(), SkdFailure> {
    if stated == T::stated() {
        return Ok(());
    }
    let (kind, known) = (T::NAME, T::stated());
    Err(SkdFailure::invalid(format!(
        "`{name}` states a size of {stated} bytes, and {kind} of this library ({}) has {known}: its \
         `size` was not set, or the program was built against another version",
        env!("CARGO_PKG_VERSION")
    )))
}
