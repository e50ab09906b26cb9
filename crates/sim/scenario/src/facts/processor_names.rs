//! Names by which people ask for a server: its processor, its generation, its maker.

use crate::text::files;
use facts::Kind;

/// Names by which people ask for servers of other makers.
const AMD: [&str; 9] =
    ["amd", "epyc", "zen", "naples", "rome", "milan", "genoa", "bergamo", "turin"];
const ARM: [&str; 7] = ["arm", "neoverse", "graviton", "ampere", "altra", "grace", "kunpeng"];

/// A generation of Intel's servers: its name, as people write it, and the known platform next to it.
struct ServerGeneration {
    name: &'static str,
    platform: &'static str,
}

/// Xeon Scalable processors by the second digit of their number, from 1 on: Gold 6140, 6230, 6338, ...
/// Source: Intel's rule of processor numbers. Known platforms end with the fourth generation.
const SCALABLE: [ServerGeneration; 5] = [
    ServerGeneration { name: "Skylake", platform: "skylake-gold-6140" },
    ServerGeneration { name: "Cascade Lake", platform: "cascade-lake-platinum-8260" },
    ServerGeneration { name: "Ice Lake", platform: "ice-lake-40" },
    ServerGeneration { name: "Sapphire Rapids", platform: "sapphire-rapids-56" },
    ServerGeneration { name: "Emerald Rapids", platform: "sapphire-rapids-56" },
];
const HASWELL: ServerGeneration =
    ServerGeneration { name: "Haswell", platform: "haswell-e5-2667v3" };
const BROADWELL: ServerGeneration =
    ServerGeneration { name: "Broadwell", platform: "haswell-e5-2667v3" };

/// The reply to a name of a processor, a generation or a maker in place of a platform's.
pub(super) fn hint(wanted: &str) -> Option<String> {
    let name = wanted.to_ascii_lowercase();
    let words: Vec<&str> = name.split(|letter: char| !letter.is_ascii_alphanumeric()).collect();
    not_modelled(&words).or_else(|| same_generation(&name, &words))
}

/// The refusal of a platform of a maker whose servers are not modelled.
fn not_modelled(words: &[&str]) -> Option<String> {
    let is_of = |names: &[&str]| {
        words
            .iter()
            .any(|word| names.contains(&word.trim_end_matches(|c: char| c.is_ascii_digit())))
    };
    let maker = if is_of(&AMD) {
        "AMD's servers are"
    } else if is_of(&ARM) {
        "ARM servers are"
    } else {
        return None;
    };
    let known = files::names(Kind::Platform).join(", ");
    Some(format!(
        "{maker} not modelled yet; what works there: docs/how-to/other-servers.md. Known here: {known}"
    ))
}

/// The known platform of a processor's generation, or of the generation next to it.
fn same_generation(name: &str, words: &[&str]) -> Option<String> {
    let generation = by_number(words).or_else(|| by_name(name))?;
    let ServerGeneration { name, platform } = generation;
    Some(format!(
        "{} {name} server; the known platform next to it is {platform}, whose cores and caches may \
         differ: take it, or write one of your own that `extends` it (`skipline platforms show \
         {platform}`)",
        if name.starts_with(['A', 'E', 'I', 'O']) { "an" } else { "a" },
    ))
}

/// The generation that a processor's number tells: `6338`, `6338n`, or `e5` with `v3`.
fn by_number(words: &[&str]) -> Option<&'static ServerGeneration> {
    if words.iter().any(|word| *word == "e5" || word.starts_with("e526")) {
        return match words.iter().find_map(|word| word.rsplit_once('v'))? {
            (_, "3") => Some(&HASWELL),
            (_, "4") => Some(&BROADWELL),
            _ => None,
        };
    }
    let is_xeon = |word: &&str| ["xeon", "gold", "silver", "platinum", "bronze"].contains(word);
    let number = words.iter().find_map(|word| scalable_number(word))?;
    let bare = words.iter().filter(|word| !word.is_empty()).count() == 1;
    (bare || words.iter().any(is_xeon)).then(|| SCALABLE.get(number - 1)).flatten()
}

/// The generation's digit of a Xeon Scalable number: four digits that begin with 3 to 6 or 8.
fn scalable_number(word: &str) -> Option<usize> {
    let (digits, suffix) = word.split_at_checked(4)?;
    let is_number = digits.bytes().all(|digit| digit.is_ascii_digit())
        && suffix.bytes().all(|letter| letter.is_ascii_alphabetic() || letter == b'+')
        && matches!(digits.as_bytes()[0], b'3'..=b'6' | b'8');
    if !is_number {
        return None;
    }
    let digit = usize::from(digits.as_bytes()[1] - b'0');
    (digit >= 1).then_some(digit)
}

/// The generation whose name a text contains, with or without a space or hyphen in it.
fn by_name(text: &str) -> Option<&'static ServerGeneration> {
    let letters = |text: &str| -> String {
        text.chars().filter(char::is_ascii_alphabetic).map(|c| c.to_ascii_lowercase()).collect()
    };
    let wanted = letters(text);
    [&HASWELL, &BROADWELL]
        .into_iter()
        .chain(&SCALABLE)
        .find(|generation| wanted.contains(&letters(generation.name)))
}

#[cfg(test)]
mod tests {
    use super::hint;

    #[test]
    fn processors_and_generations_lead_to_the_platform_next_to_them() {
        for (wanted, platform) in [
            ("Intel(R) Xeon(R) Gold 6338N CPU @ 2.20GHz", "ice-lake-40"),
            ("xeon-gold-6154", "skylake-gold-6140"),
            ("8480+", "sapphire-rapids-56"),
            ("platinum-8592", "sapphire-rapids-56"),
            ("Cascade Lake", "cascade-lake-platinum-8260"),
            ("icelake", "ice-lake-40"),
            ("E5-2697 v3", "haswell-e5-2667v3"),
            ("xeon e5-2699v4", "haswell-e5-2667v3"),
        ] {
            let found = hint(wanted).unwrap_or_default();
            assert!(found.contains(&format!("next to it is {platform},")), "{wanted}: {found}");
        }
    }

    #[test]
    fn other_makers_are_told_so_and_other_words_nothing() {
        assert!(
            hint("aws-graviton3").is_some_and(|it| it.contains("ARM servers are not modelled"))
        );
        assert!(hint("EPYC 9354").is_some_and(|it| it.contains("AMD's servers are not modelled")));
        for unknown in ["server-2024", "gold", "e5-2670", "my 9000"] {
            assert_eq!(hint(unknown), None, "{unknown}");
        }
    }
}
