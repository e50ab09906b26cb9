//! Inline commands: words, which may be quoted as in Redis.

use std::ops::Range;

/// Splits a line into words, which are appended to `words` without quotes, and returns their ranges. `None` if
/// a quote is not closed, or another character follows it directly.
pub fn split(line: &[u8], words: &mut Vec<u8>) -> Option<Vec<Range<usize>>> {
    let mut ranges = Vec::new();
    let mut rest = line;
    loop {
        rest = rest.trim_ascii_start();
        if rest.is_empty() {
            return Some(ranges);
        }
        let start = words.len();
        rest = word(rest, words)?;
        ranges.push(start..words.len());
    }
}

/// Reads a word and returns the rest of the line.
fn word<'a>(mut rest: &'a [u8], words: &mut Vec<u8>) -> Option<&'a [u8]> {
    while let Some((&byte, after)) = rest.split_first() {
        match byte {
            _ if byte.is_ascii_whitespace() => return Some(rest),
            b'"' | b'\'' => {
                let after = quoted(byte, after, words)?;
                let ends = after.first().is_none_or(u8::is_ascii_whitespace);
                return ends.then_some(after);
            }
            _ => words.push(byte),
        }
        rest = after;
    }
    Some(rest)
}

/// Reads a quoted word up to the closing quote and returns the rest of the line.
fn quoted<'a>(quote: u8, mut rest: &'a [u8], words: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        match (quote, rest) {
            (_, [first, after @ ..]) if *first == quote => return Some(after),
            (b'"', [b'\\', b'x', high, low, after @ ..])
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                words.push(digit(*high) << 4 | digit(*low));
                rest = after;
            }
            (b'"', [b'\\', escaped, after @ ..]) => {
                words.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 8,
                    b'a' => 7,
                    other => *other,
                });
                rest = after;
            }
            (b'\'', [b'\\', b'\'', after @ ..]) => {
                words.push(b'\'');
                rest = after;
            }
            (_, [byte, after @ ..]) => {
                words.push(*byte);
                rest = after;
            }
            (_, []) => return None,
        }
    }
}

fn digit(character: u8) -> u8 {
    match character {
        b'0'..=b'9' => character - b'0',
        _ => (character | 0x20) - b'a' + 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &[u8]) -> Option<Vec<Vec<u8>>> {
        let mut bytes = Vec::new();
        let ranges = split(line, &mut bytes)?;
        Some(ranges.into_iter().map(|range| bytes[range].to_vec()).collect())
    }

    #[test]
    fn words_are_split_and_unquoted_as_redis_does() {
        let expect = |line: &[u8], expected: &[&[u8]]| {
            let expected: Vec<Vec<u8>> = expected.iter().map(|word| word.to_vec()).collect();
            assert_eq!(words(line), Some(expected), "{}", String::from_utf8_lossy(line));
        };
        expect(b"  SET\tkey  value ", &[b"SET", b"key", b"value"]);
        expect(br#"SET "a b" 'c "d'"#, &[b"SET", b"a b", br#"c "d"#]);
        expect(br#""\x00\xfF\n\r\t\b\a\\\"\q" '\''"#, &[b"\x00\xff\n\r\t\x08\x07\\\"q", b"'"]);
        expect(br#""""#, &[b""]);
        expect(b"", &[]);
    }

    #[test]
    fn quotes_have_to_close_before_a_blank() {
        for line in [&br#"SET "a"#[..], br#"SET 'a"#, br#"SET "a"b"#, br#""\"#] {
            assert_eq!(words(line), None, "{}", String::from_utf8_lossy(line));
        }
    }
}
