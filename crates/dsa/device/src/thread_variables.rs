//! Variables of a thread that signal handlers, allocators and libraries in LD_PRELOAD use.
//!
//! A `thread_local!` of a library is found by `__tls_get_addr`, which may allocate at its first call, and a
//! handler may have interrupted an allocation. These variables have the initial-exec model instead: two
//! instructions find them. Stable Rust cannot express that, so they are defined in assembly. A library that
//! has them can only be loaded at the start of a process, or with `dlopen` while the C library has spare
//! static storage, of which they take their bytes.
//!
//! Source: "ELF Handling for Thread-Local Storage" (Drepper), section 4.4.6, initial exec for x86-64.

/// Defines a function that returns the variables of the calling thread, of a type that consists of cells or
/// atomics and whose bits may all be zero: they are zero when the thread starts. The literals are the name of
/// the symbol, which no other crate in a library may use, and the bytes of the type. It is unsafe code, which
/// the caller's file has to allow.
///
/// ```
/// mod variables {
///     pub struct Counts {
///         pub calls: std::cell::Cell<u64>,
///     }
///     dsa::thread_variables!(pub fn counts() -> Counts = "example_counts", 8);
/// }
/// use variables::counts;
///
/// counts().calls.set(5);
/// assert_eq!(counts().calls.get(), 5);
/// assert_eq!(std::thread::spawn(|| counts().calls.get()).join().ok(), Some(0));
/// ```
#[macro_export]
macro_rules! thread_variables {
    ($visibility:vis fn $name:ident() -> $variables:ty = $symbol:literal, $bytes:literal) => {
        const _: () = assert!(size_of::<$variables>() == $bytes);
        const _: () = assert!(align_of::<$variables>() <= 16);

        ::std::arch::global_asm!(
            concat!(".pushsection .tbss.", $symbol, ",\"awT\",@nobits"),
            ".p2align 4",
            concat!(".hidden ", $symbol),
            concat!(".globl ", $symbol),
            concat!(".type ", $symbol, ", @object"),
            concat!(".size ", $symbol, ", ", $bytes),
            concat!($symbol, ":"),
            concat!(".zero ", $bytes),
            ".popsection",
        );

        #[inline]
        $visibility fn $name() -> &'static $variables {
            let address: *const $variables;
            // SAFETY: the variable has this layout, and lives as long as its thread; the reference is not
            // sent to another one, as cells cannot be. The instructions read the variable's offset and the
            // thread's base, and change nothing.
            unsafe {
                ::std::arch::asm!(
                    concat!("mov {address}, qword ptr [rip + ", $symbol, "@GOTTPOFF]"),
                    "add {address}, qword ptr fs:[0]",
                    address = out(reg) address,
                    options(nostack, pure, readonly),
                );
                &*address
            }
        }
    };
}
