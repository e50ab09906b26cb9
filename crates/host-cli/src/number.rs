//! Numbers of the command line, with what is allowed in the message.

use std::num::IntErrorKind;
use std::ops::RangeInclusive;

/// Reads a whole number within a range.
pub fn within(range: RangeInclusive<u64>) -> impl Fn(&str) -> Result<u64, String> + Clone {
    move |text| {
        let allowed = match *range.end() {
            u64::MAX => format!("allowed: a whole number from {} on", range.start()),
            end => format!("allowed: a whole number from {} to {end}", range.start()),
        };
        match text.parse::<u64>() {
            Ok(number) if range.contains(&number) => Ok(number),
            Err(error) if *error.kind() == IntErrorKind::Empty => Err(format!("empty; {allowed}")),
            _ => Err(allowed),
        }
    }
}

/// Reads the number of a socket, cache or way.
pub fn small(text: &str) -> Result<u32, String> {
    let number = within(0..=u64::from(u32::MAX))(text)?;
    Ok(u32::try_from(number).unwrap_or(u32::MAX))
}
