//! Lists as long as a memory is large: where there is no room for one, that is an error for the caller,
//! whose process goes on.

use std::collections::TryReserveError;

/// All items in memory of just that size.
pub(super) fn collected<T>(
    items: impl ExactSizeIterator<Item = T>,
) -> Result<Vec<T>, TryReserveError> {
    let mut all = Vec::new();
    all.try_reserve_exact(items.len())?;
    all.extend(items);
    Ok(all)
}
