//! Lists with an element for each line of a memory. If one cannot be allocated, the caller gets an error
//! instead of the end of the process.

use std::collections::TryReserveError;

/// Collects all items in an allocation of exactly their size.
///
/// # Errors
/// If there is no memory for them.
pub(super) fn try_collect<T>(
    items: impl ExactSizeIterator<Item = T>,
) -> Result<Vec<T>, TryReserveError> {
    let mut all = Vec::new();
    all.try_reserve_exact(items.len())?;
    all.extend(items);
    Ok(all)
}
