//! A forked child: it has neither portals, as the kernel's driver does not pass them on, nor engines.

use crate::descriptor_log;
use crate::engines;
use crate::portals;
use crate::signals::actions;

/// Installs the function that forgets the parent's portals, engines and log in each forked child.
pub fn prepare() {
    extern "C" fn forget() {
        portals::remove(0, u64::MAX);
        engines::forget();
        descriptor_log::forget();
        actions::unlock_in_child();
    }
    // SAFETY: the function touches atomics only.
    unsafe { libc::pthread_atfork(None, None, Some(forget)) };
}
