//! Parsers of numbers and times on the command line; their errors say what is allowed.

use std::num::IntErrorKind;
use std::ops::RangeInclusive;
use std::time::Duration;

/// Longest time of temporary settings, in seconds.
const LONGEST_TIME_S: u64 = 30 * 24 * 3600;

/// A parser of whole numbers within a range.
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

/// Parses the number of a socket, cache or way: a whole number of 32 bits.
pub fn small_number(text: &str) -> Result<u32, String> {
    let number = within(0..=u64::from(u32::MAX))(text)?;
    Ok(u32::try_from(number).unwrap_or(u32::MAX))
}

/// Parses a time like 10m: a whole number of ms, s, m or h, up to 720 hours.
pub fn duration(text: &str) -> Result<Duration, String> {
    let allowed = "allowed: a whole number with its unit (ms, s, m or h), like 10m, up to 720h";
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| allowed.to_owned())?;
    let milliseconds = match unit {
        "ms" => Some(number),
        "s" => number.checked_mul(1000),
        "m" => number.checked_mul(60_000),
        "h" => number.checked_mul(3_600_000),
        _ => None,
    };
    milliseconds
        .filter(|ms| (1..=LONGEST_TIME_S * 1000).contains(ms))
        .map(Duration::from_millis)
        .ok_or_else(|| allowed.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit_and_an_end() {
        assert_eq!(duration("10m"), Ok(Duration::from_secs(600)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("720h"), Ok(Duration::from_secs(LONGEST_TIME_S)));
        for text in ["", "10", "m", "0s", "-1s", "1.5h", "721h", "99999999999999999h", "5 m", "3d"]
        {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
