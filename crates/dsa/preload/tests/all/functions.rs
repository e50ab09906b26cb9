//! The functions by their names, as a program calls them, and the C library's own beside them.

use std::ffi::{CStr, c_int, c_void};

pub type Copy = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void;
pub type Fill = unsafe extern "C" fn(*mut c_void, c_int, usize) -> *mut c_void;
pub type Compare = unsafe extern "C" fn(*const c_void, *const c_void, usize) -> c_int;
pub type CheckedCopy =
    unsafe extern "C" fn(*mut c_void, *const c_void, usize, usize) -> *mut c_void;
pub type CheckedFill = unsafe extern "C" fn(*mut c_void, c_int, usize, usize) -> *mut c_void;

/// The first function of a name: the library's, where it is preloaded.
pub fn preloaded(name: &CStr) -> *mut c_void {
    // SAFETY: the name ends with zero.
    found(name, unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) })
}

/// The C library's function of a name.
pub fn of_libc(name: &CStr) -> *mut c_void {
    // SAFETY: names end with zero; the C library is loaded.
    let function = unsafe {
        let library = libc::dlopen(c"libc.so.6".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        libc::dlsym(library, name.as_ptr())
    };
    found(name, function)
}

fn found(name: &CStr, function: *mut c_void) -> *mut c_void {
    assert!(!function.is_null(), "there is no {}", name.to_string_lossy());
    function
}

/// Both functions of a name, the library's first, as functions of a type.
macro_rules! both {
    ($name:literal as $type:ty) => {{
        let both = [$crate::functions::preloaded($name), $crate::functions::of_libc($name)];
        assert_ne!(both[0], both[1], "the library is not preloaded");
        // SAFETY: the functions of that name have this type.
        both.map(|function| unsafe {
            std::mem::transmute::<*mut std::ffi::c_void, $type>(function)
        })
    }};
}
pub(crate) use both;

/// Numbers that look random, the same ones for a seed (splitmix64).
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below a limit.
    pub fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit).expect("fits");
        usize::try_from(self.next() % limit).expect("fits")
    }

    /// A byte.
    pub fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }

    /// A size: small and large ones are as frequent.
    pub fn size(&mut self, most: usize) -> usize {
        let bits = self.below(most.ilog2() as usize + 1);
        self.below(1 << bits) + (1 << bits >> 1)
    }

    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count.div_ceil(8)).flat_map(|_| self.next().to_le_bytes()).take(count).collect()
    }
}
