//! Text that others chose, made fit to be shown: names of files, groups and processes, values, paths.
//!
//! Control characters move a terminal's cursor, hide text and rename windows; marks of direction turn letters
//! around. Each of them becomes a replacement character. `python/skipline/text/foreign.py` has the same set, and
//! leaves the tags in a flag.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter, Write};

/// Stands for a character that is not shown.
pub const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

/// Whether a character does more in a text of lines than show a letter: controls but tab and newline,
/// separators of lines and paragraphs, spaces without width, marks of direction, tags, and what stands for no
/// character. Soft hyphens, joiners and non-joiners are parts of words.
#[must_use]
pub fn is_unprintable(c: char) -> bool {
    matches!(c,
        '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{61c}'
        | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e007f}')
}

/// A text of lines without what does more than show letters.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    match text.contains(is_unprintable) {
        true => text.replace(is_unprintable, "\u{fffd}").into(),
        false => text.into(),
    }
}

/// A text for one line or one cell: a tab or the end of a line becomes a space.
#[must_use]
pub fn in_line(text: &str) -> Cow<'_, str> {
    match text.contains(['\t', '\n']) {
        true => printable(text).replace(['\t', '\n'], " ").into(),
        false => printable(text),
    }
}

/// Shows a value, like a path, in one line ([`in_line`]).
#[derive(Clone, Copy, Debug)]
pub struct Shown<T>(pub T);

impl<T: Display> Display for Shown<T> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        struct OneLine<'a, 'b>(&'a mut Formatter<'b>);
        impl Write for OneLine<'_, '_> {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                self.0.write_str(&in_line(text))
            }
        }
        write!(OneLine(formatter), "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_of_a_foreign_text_does_more_than_show_a_letter() {
        for (text, shown) in [
            ("Xeon(R) Gold 6140 CPU @ 2.30GHz", "Xeon(R) Gold 6140 CPU @ 2.30GHz"),
            ("Grüße, 缓存", "Grüße, 缓存"),
            ("می\u{200c}خواهم क्\u{200d}ष", "می\u{200c}خواهم क्\u{200d}ष"),
            ("a\u{1b}]0;title\u{7}b", "a\u{fffd}]0;title\u{fffd}b"),
            ("\u{9b}8mhidden", "\u{fffd}8mhidden"),
            ("\rover", "\u{fffd}over"),
            ("\u{202e}txt.exe", "\u{fffd}txt.exe"),
            ("\u{feff}a\u{200b}b\u{e0041}", "\u{fffd}a\u{fffd}b\u{fffd}"),
        ] {
            assert_eq!(printable(text), shown);
            assert_eq!(in_line(text), shown);
            assert_eq!(Shown(text).to_string(), shown);
        }
        assert_eq!(printable("two\nlines\tand a tab"), "two\nlines\tand a tab");
        assert_eq!(in_line("two\nlines\tand\u{7f}"), "two lines and\u{fffd}");
        assert_eq!(Shown("two\nlines").to_string(), "two lines");
    }

    #[test]
    fn every_control_character_is_replaced() {
        for c in ('\0'..char::MAX).filter(|c| c.is_control() && !['\t', '\n'].contains(c)) {
            assert_eq!(printable(&c.to_string()), "\u{fffd}", "{c:?}");
        }
    }
}
