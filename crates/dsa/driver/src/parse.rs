//! Parsers for texts written to attributes, as the kernel's (`kstrtox.c`, `string.c`, `bitmap-str.c`).

use crate::Errno;

/// The text without the newline that `echo` adds.
fn line(text: &str) -> &str {
    text.strip_suffix('\n').unwrap_or(text)
}

/// Parses digits alone; `str::parse` would accept signs, too.
fn digits(text: &str, radix: u32) -> Result<u64, Errno> {
    if text.is_empty() || !text.chars().all(|digit| digit.is_digit(radix)) {
        return Err(Errno::EINVAL);
    }
    u64::from_str_radix(text, radix).map_err(|_| Errno::EINVAL)
}

/// Parses as `kstrtoul(text, 10)` of the kernel: a sign `+` is allowed.
pub(crate) fn unsigned(text: &str) -> Result<u64, Errno> {
    let text = line(text);
    digits(text.strip_prefix('+').unwrap_or(text), 10)
}

/// Parses as `kstrtol(text, 10)` of the kernel.
pub(crate) fn signed(text: &str) -> Result<i64, Errno> {
    match line(text).strip_prefix('-') {
        Some(rest) => {
            let magnitude = digits(rest, 10)?;
            0_i64.checked_sub_unsigned(magnitude).ok_or(Errno::EINVAL)
        }
        None => i64::try_from(unsigned(text)?).map_err(|_| Errno::EINVAL),
    }
}

/// `kstrtou64(text, 0)`, rounded up to a power of two. The prefix gives the base; 0 is refused.
pub(crate) fn power_of_two(text: &str) -> Result<u64, Errno> {
    let text = line(text);
    let text = text.strip_prefix('+').unwrap_or(text);
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let number = match (hexadecimal, text.strip_prefix('0')) {
        (Some(rest), _) => digits(rest, 16)?,
        (None, Some(rest)) if !rest.is_empty() => digits(rest, 8)?,
        (None, _) => digits(text, 10)?,
    };
    if number == 0 {
        return Err(Errno::EINVAL);
    }
    number.checked_next_power_of_two().ok_or(Errno::EINVAL)
}

/// `kstrtobool`: the first letter decides, after `o` the second.
pub(crate) fn boolean(text: &str) -> Result<bool, Errno> {
    let mut letters = text.chars().map(|letter| letter.to_ascii_lowercase());
    match letters.next() {
        Some('y' | 't' | '1') => Ok(true),
        Some('n' | 'f' | '0') => Ok(false),
        Some('o') => match letters.next() {
            Some('n') => Ok(true),
            Some('f') => Ok(false),
            _ => Err(Errno::EINVAL),
        },
        _ => Err(Errno::EINVAL),
    }
}

/// `sysfs_streq`: whether the text is the word, with one newline or none.
pub(crate) fn is_word(text: &str, word: &str) -> bool {
    line(text) == word
}

/// A name of at most `most` bytes, without blanks around it.
pub(crate) fn name(text: &str, most: usize) -> Result<&str, Errno> {
    let name = text.trim_matches(|letter: char| letter.is_ascii_whitespace());
    if name.is_empty() || name.len() > most || name.contains('\0') {
        return Err(Errno::EINVAL);
    }
    Ok(name)
}

/// `bitmap_parse` of 256 bits: words of 32 bits in hexadecimal, the most significant first. The
/// lowest 64 bits stand for operations; a higher bit is refused.
pub(crate) fn operations(text: &str) -> Result<u64, Errno> {
    let words: Vec<&str> = line(text).split(',').collect();
    if words.len() > 8 {
        return Err(Errno::EINVAL);
    }
    words.into_iter().try_fold(0_u64, |above, word| {
        let word = digits(word, 16)?;
        if word > u64::from(u32::MAX) || above > u64::from(u32::MAX) {
            return Err(Errno::EINVAL);
        }
        Ok(above << 32 | word)
    })
}
