//! Error numbers of Linux, as the driver's functions return them.

use std::fmt;

/// An error number of Linux, as a positive number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Errno(pub i32);

macro_rules! errnos {
    ($($name:ident $number:literal $words:literal)*) => {
        impl Errno {
            $(
                #[doc = $words]
                pub const $name: Self = Self($number);
            )*

            fn name_and_words(self) -> Option<(&'static str, &'static str)> {
                match self {
                    $(Self::$name => Some((stringify!($name), $words)),)*
                    _ => None,
                }
            }
        }
    };
}

errnos! {
    EPERM 1 "operation not permitted"
    ENOENT 2 "no such file or directory"
    EIO 5 "input/output error"
    ENXIO 6 "no such device or address"
    EACCES 13 "permission denied"
    EBUSY 16 "device or resource busy"
    ENODEV 19 "no such device"
    EINVAL 22 "invalid argument"
    EROFS 30 "read-only file system"
    EOPNOTSUPP 95 "operation not supported"
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name_and_words() {
            Some((name, words)) => write!(f, "{name}, {words}"),
            None => write!(f, "error {}", self.0),
        }
    }
}

impl std::error::Error for Errno {}
