//! Sizes in bytes with a unit, and ranges of them, as options have them.

/// Powers of two behind the letters of sizes.
const UNITS: [(char, u32); 3] = [('k', 10), ('m', 20), ('g', 30)];

/// Parses a size in bytes: `64`, `4k`, `4K`, `1M`, `2G`.
///
/// # Errors
/// If the text is not such a size, or larger than 64 bits: a sentence with the allowed form.
pub fn parse(text: &str) -> Result<u64, String> {
    let lower = text.to_ascii_lowercase();
    let unit = UNITS.into_iter().find(|(letter, _)| lower.ends_with(*letter));
    let (digits, shift) = match unit {
        Some((_, shift)) => (&lower[..lower.len() - 1], shift),
        None => (lower.as_str(), 0),
    };
    let number =
        digits.parse::<u64>().ok().filter(|_| digits.bytes().all(|it| it.is_ascii_digit()));
    let bytes = number.and_then(|number| number.checked_mul(1 << shift));
    bytes.ok_or_else(|| {
        "allowed: bytes, with K, M or G for 2^10, 2^20 or 2^30, such as 256 or 4K".into()
    })
}

/// The shortest exact text of a size: `4K` for 4096, `4097` for 4097.
#[must_use]
pub fn show(bytes: u64) -> String {
    let unit =
        UNITS.into_iter().rev().find(|(_, shift)| bytes > 0 && bytes.is_multiple_of(1 << shift));
    match unit {
        Some((letter, shift)) => format!("{}{}", bytes >> shift, letter.to_ascii_uppercase()),
        None => bytes.to_string(),
    }
}

/// Parses a range of sizes: `FROM-TO`, each size twice the one before, or `FROM-TO*FACTOR`. All sizes are
/// returned; TO is among them only if the factor meets it.
///
/// # Errors
/// If the text is not such a range: a sentence with the allowed form.
pub fn parse_range(text: &str) -> Result<Vec<u64>, String> {
    let allowed = || {
        "allowed: FROM-TO, or FROM-TO*FACTOR with a factor from 2 on, such as 64-64K or 1K-1M*4"
            .to_owned()
    };
    let (range, factor) = match text.split_once('*') {
        Some((range, factor)) => (range, factor.parse::<u64>().map_err(|_| allowed())?),
        None => (text, 2),
    };
    let (from, to) = range.split_once('-').ok_or_else(allowed)?;
    let (from, to) = (parse(from)?, parse(to)?);
    if from == 0 || to < from || factor < 2 {
        return Err(allowed());
    }
    let next = |&size: &u64| size.checked_mul(factor).filter(|&size| size <= to);
    Ok(std::iter::successors(Some(from), next).collect())
}

#[cfg(test)]
mod tests {
    use super::{parse, parse_range, show};

    #[test]
    fn sizes_are_read_as_they_are_shown() {
        for (text, bytes) in [("64", 64), ("4K", 4096), ("1M", 1 << 20), ("3G", 3 << 30)] {
            assert_eq!(parse(text), Ok(bytes));
            assert_eq!(show(bytes), text);
        }
        assert_eq!(parse("4k"), Ok(4096));
        for wrong in ["", "K", "-4", "+4", "4KB", "99999999999G", "0x40"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_range_doubles_or_takes_its_factor() {
        assert_eq!(parse_range("64-256"), Ok(vec![64, 128, 256]));
        assert_eq!(parse_range("1K-64K*8"), Ok(vec![1024, 8192, 65536]));
        for wrong in ["64", "64-32", "0-64", "64-128*1", "64-128*x"] {
            assert!(parse_range(wrong).is_err(), "{wrong}");
        }
    }
}
