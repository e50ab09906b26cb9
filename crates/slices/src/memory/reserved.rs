//! Lists as long as a memory is large. Failure to allocate one is an error for the caller: the process
//! goes on.

use std::collections::TryReserveError;

/// All items in an allocation of exactly their size.
pub(super) fn collected<T>(
    items: impl ExactSizeIterator<Item = T>,
) -> Result<Vec<T>, TryReserveError> {
    let mut all = Vec::new();
    all.try_reserve_exact(items.len())?;
    all.extend(items);
    Ok(all)
}
