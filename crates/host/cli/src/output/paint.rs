//! Styles of this program's own output, which pass where nothing else passes that is not printable.
//!
//! Names of devices and groups come from files, which may contain sequences that colour or hide text or
//! steer the terminal. A style passes only behind a mark that is drawn at random for each process, so that
//! no file can contain it.

use std::collections::hash_map::RandomState;
use std::fmt::Display;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, IsTerminal};
use std::sync::OnceLock;

use anstyle::{AnsiColor, Style};
use inputs::foreign::{REPLACEMENT, is_unprintable};

/// The mark before each of this program's styles, which is removed when the text is written.
fn mark() -> &'static str {
    static MARK: OnceLock<String> = OnceLock::new();
    MARK.get_or_init(|| format!("\u{1b}{:016x}", RandomState::new().build_hasher().finish()))
}

/// Replaces what is not printable (`inputs::foreign`), but for marked styles, whose marks it removes.
pub fn printable(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_unprintable) {
        safe += &rest[..at];
        rest = &rest[at..];
        if let Some((style, after)) = marked_style(rest) {
            safe += style;
            rest = after;
        } else {
            safe.push(REPLACEMENT);
            rest = &rest[rest.chars().next().map_or(0, char::len_utf8)..];
        }
    }
    safe + rest
}

/// The style that the text begins with, and what follows it.
fn marked_style(text: &str) -> Option<(&str, &str)> {
    let style = text.strip_prefix(mark())?;
    let codes = style.strip_prefix("\u{1b}[")?;
    let length = codes.find('m')? + "\u{1b}[m".len();
    Some(style.split_at(length))
}

/// Adds styles to text on terminals; leaves the text as it is elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    coloured: bool,
}

impl Paint {
    /// A value that adds styles if standard output is a terminal and NO_COLOR is not set.
    pub fn for_stdout() -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { coloured: io::stdout().is_terminal() && !refused }
    }

    /// A value that leaves all text plain.
    pub fn none() -> Self {
        Self { coloured: false }
    }

    fn with(self, style: Style, text: impl Display) -> String {
        let mark = mark();
        if self.coloured { format!("{mark}{style}{text}{mark}{style:#}") } else { text.to_string() }
    }

    /// Formats a heading, in bold.
    pub fn heading(self, text: impl Display) -> String {
        self.with(Style::new().bold(), text)
    }

    /// Formats a good state, in green.
    pub fn good(self, text: impl Display) -> String {
        self.with(AnsiColor::Green.on_default(), text)
    }

    /// Formats a state that deserves attention, in yellow.
    pub fn warning(self, text: impl Display) -> String {
        self.with(AnsiColor::Yellow.on_default(), text)
    }

    /// Formats secondary text, dimmed.
    pub fn quiet(self, text: impl Display) -> String {
        self.with(Style::new().dimmed(), text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_neither_colour_nor_hide_nor_steer_a_terminal() {
        for (name, shown) in [
            ("a\u{1b}]0;pwn\u{7}b", "a\u{fffd}]0;pwn\u{fffd}b"),
            ("\u{1b}[2J", "\u{fffd}[2J"),
            ("\u{1b}[", "\u{fffd}["),
            ("web\u{1b}[8mhidden", "web\u{fffd}[8mhidden"),
            ("\u{1b}[1;33mwarning\u{1b}[0m\n", "\u{fffd}[1;33mwarning\u{fffd}[0m\n"),
            ("\u{9b}8mhidden", "\u{fffd}8mhidden"),
        ] {
            assert_eq!(printable(name), shown);
        }
    }

    #[test]
    fn the_programs_own_styles_pass_and_those_of_a_name_within_do_not() {
        let paint = Paint { coloured: true };
        let text = printable(&format!("{}\n", paint.warning("a\u{1b}[8mb")));
        assert_eq!(text, "\u{1b}[33ma\u{fffd}[8mb\u{1b}[0m\n");
        let styles = [paint.heading("c"), paint.good("c"), paint.quiet("c")];
        for text in styles.map(|text| printable(&text)) {
            assert!(text.starts_with("\u{1b}[") && text.ends_with("c\u{1b}[0m"), "{text:?}");
        }
        assert_eq!(printable(mark()).chars().next(), Some('\u{fffd}'), "a mark alone");
    }
}
