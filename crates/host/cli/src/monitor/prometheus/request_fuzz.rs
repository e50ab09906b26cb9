//! Requests made by chance: none is answered otherwise in other pieces, none that names a foreign machine gets
//! the page, and what is put together from known parts is answered as the parts say.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use units::narrow::usize_from;

use super::*;

/// Parts of a request line and of the field Host; of the answers that they ask for the first one counts.
const METHODS: [(&str, Option<HttpReply>); 6] = [
    ("GET", None),
    ("GET", None),
    ("HEAD", None),
    ("POST", Some(HttpReply::WrongMethod)),
    ("get", Some(HttpReply::WrongMethod)),
    ("", Some(HttpReply::WrongMethod)),
];
const TARGETS: [(&str, bool); 6] = [
    ("/metrics", true),
    ("/metrics?a=%00&b", true),
    ("http://127.0.0.1:1/metrics", true),
    ("/", false),
    ("/metrics/..", false),
    ("*", false),
];
const VERSIONS: [(&str, bool); 4] =
    [("HTTP/1.1", true), ("HTTP/1.0", true), ("HTTP/2", false), ("", false)];
const HOSTS: [(&str, Option<HttpReply>); 6] = [
    ("", None),
    ("Host: 127.0.0.1:9400\r\n", None),
    ("hOST:[::1]\r\n", None),
    ("Host: evil.example\r\n", Some(HttpReply::ForeignHost)),
    ("Host: localhost.evil.example:80\r\n", Some(HttpReply::ForeignHost)),
    ("Host: localhost\r\nhost: localhost\r\n", Some(HttpReply::Malformed)),
];

struct Chance(Xoshiro256PlusPlus);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        usize_from(self.0.next_u64()) % end.max(1)
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// A request of known parts, and its answer.
    fn request(&mut self) -> (Vec<u8>, HttpReply) {
        let (method, refused) = self.of(&METHODS);
        let (target, is_page) = self.of(&TARGETS);
        let (version, is_known) = self.of(&VERSIONS);
        let (host, of_host) = self.of(&HOSTS);
        let field = format!("X-Field: {}\r\n", "a".repeat(self.below(1200)));
        let fields =
            if self.below(2) == 0 { format!("{field}{host}") } else { format!("{host}{field}") };
        let text = format!("{method} {target} {version}\r\n{fields}\r\n");
        let head_only = method == "HEAD";
        let found =
            if is_page { HttpReply::Page { head_only } } else { HttpReply::NotFound { head_only } };
        let of_line = refused.or((!is_known).then_some(HttpReply::Malformed));
        (text.into_bytes(), of_line.or(of_host).unwrap_or(found))
    }

    /// Changes bits, removes, repeats or inserts bytes.
    fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            match self.below(6) {
                _ if bytes.is_empty() => bytes.push(0),
                0 => bytes[at] ^= 1 << self.below(8),
                1 => bytes.truncate(at),
                2 => drop(bytes.drain(at..(at + self.below(40)).min(bytes.len()))),
                3 => bytes.insert(at, self.0.next_u64().to_le_bytes()[0]),
                4 => bytes.insert(at, self.of(b"\r\n: /\0")),
                _ => {
                    let again = bytes[at..(at + self.below(100)).min(bytes.len())].to_vec();
                    bytes.splice(at..at, again).for_each(drop);
                }
            }
        }
    }
}

/// The answer to a request that arrives in pieces of the given sizes in turn.
fn reply(request: &[u8], pieces: [usize; 3]) -> Option<HttpReply> {
    let (mut reader, mut rest) = (RequestReader::default(), request);
    for piece in pieces.into_iter().cycle() {
        let (now, later) = rest.split_at(piece.min(rest.len()));
        if now.is_empty() {
            return None;
        }
        if let Some(answer) = reader.push(now) {
            return Some(answer);
        }
        rest = later;
    }
    None
}

/// Whether a field of the request names the foreign machine whole: a page of a browser cannot do less.
fn names_foreign_machine(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_ascii_lowercase();
    let mut fields = text.split('\n').skip(1).map(|line| line.trim_end_matches('\r'));
    fields.by_ref().take_while(|line| !line.is_empty()).any(|line| {
        line.strip_prefix("host:").is_some_and(|value| {
            let name = value.trim().split(':').next().unwrap_or_default();
            name.ends_with("evil.example") && line.len() < FIELD_LINE_BYTES
        })
    })
}

#[test]
fn requests_by_chance_are_answered_by_what_they_are_in_any_pieces() {
    let mut chance = Chance(Xoshiro256PlusPlus::seed_from_u64(58));
    let (mut pages, mut foreign) = (0, 0);
    for _ in 0..20_000 {
        let (mut bytes, expected) = chance.request();
        let pieces = std::array::from_fn(|_| 1 + chance.below(200));
        assert_eq!(reply(&bytes, pieces), Some(expected), "{:?}", bytes.escape_ascii().to_string());
        chance.damage(&mut bytes);
        let shown = || bytes.escape_ascii().to_string();
        let answer = reply(&bytes, [usize::MAX; 3]);
        assert_eq!(reply(&bytes, pieces), answer, "{}", shown());
        let is_page = matches!(answer, Some(HttpReply::Page { .. }));
        assert!(
            !is_page || bytes.starts_with(b"GET ") || bytes.starts_with(b"HEAD "),
            "{}",
            shown()
        );
        let is_foreign = names_foreign_machine(&bytes);
        assert!(!(is_page && is_foreign), "{}", shown());
        pages += u32::from(is_page);
        foreign += u32::from(is_foreign);
        if let Some(answer) = answer {
            let text = answer.text("skipline_window_seconds 1\n");
            assert!(text.starts_with("HTTP/1.1 ") && text.contains("\r\n\r\n"), "{text}");
        }
    }
    // Both kinds are among them.
    assert!(pages > 400 && foreign > 400, "{pages} {foreign}");
}
