//! Requests of HTTP/1, read as their bytes arrive, and the heads of the answers.
//!
//! Source: RFC 9110, RFC 9112. Only the request line and the field Host are looked at; other fields may be
//! long. A web page that a browser fetched by a name which now resolves to this machine sends that name as
//! Host: such requests are refused, so that no foreign page reads the counters.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Greatest length of a request line.
const REQUEST_LINE_BYTES: usize = 8192;
/// Greatest length of a field line whose beginning is looked at; the rest of longer ones is skipped.
const FIELD_LINE_BYTES: usize = 512;
/// Greatest length of a request line and all fields together.
const HEAD_BYTES: usize = 1 << 20;

/// Answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HttpReply {
    /// The page of metrics; `head_only` leaves its text out.
    Page {
        /// Whether the request was HEAD.
        head_only: bool,
    },
    /// A path other than /metrics.
    NotFound {
        /// Whether the request was HEAD.
        head_only: bool,
    },
    /// A method other than GET and HEAD.
    WrongMethod,
    /// Not a request of HTTP.
    Malformed,
    /// The request line is longer than is read.
    LineTooLong,
    /// The fields are longer than is read.
    FieldsTooLong,
    /// Host is the name of another machine.
    ForeignHost,
}

impl HttpReply {
    /// The whole answer, with the page as it is now.
    pub(super) fn text(self, page: &str) -> String {
        let (status, body) = match self {
            Self::Page { .. } => ("200 OK", page),
            Self::NotFound { .. } => ("404 Not Found", "see /metrics\n"),
            Self::WrongMethod => {
                ("405 Method Not Allowed\r\nAllow: GET, HEAD", "GET and HEAD only\n")
            }
            Self::Malformed => ("400 Bad Request", "not a request of HTTP/1\n"),
            Self::LineTooLong => ("414 URI Too Long", "see /metrics\n"),
            Self::FieldsTooLong => {
                ("431 Request Header Fields Too Large", "at most 1 MiB of fields\n")
            }
            Self::ForeignHost => {
                ("421 Misdirected Request", "Host: an IP address or localhost is served\n")
            }
        };
        let is_head =
            matches!(self, Self::Page { head_only: true } | Self::NotFound { head_only: true });
        let sent = if is_head { "" } else { body };
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n{sent}",
            body.len()
        )
    }
}

/// A request whose bytes arrive in any pieces.
#[derive(Debug, Default)]
pub(super) struct RequestReader {
    /// The beginning of the line that is being read.
    line: Vec<u8>,
    /// Bytes of all lines so far.
    head_bytes: usize,
    /// The answer that the request line asks for; `None` before its end.
    asked: Option<HttpReply>,
    has_host: bool,
    /// An answer that a field made necessary.
    refused: Option<HttpReply>,
}

impl RequestReader {
    /// Takes the next bytes; the answer once the request is whole or cannot be served.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Option<HttpReply> {
        bytes.iter().find_map(|&byte| self.push_byte(byte))
    }

    fn push_byte(&mut self, byte: u8) -> Option<HttpReply> {
        self.head_bytes += 1;
        if byte == b'\n' {
            let mut line = std::mem::take(&mut self.line);
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            return self.end_line(&line);
        }
        let is_first = self.asked.is_none();
        let limit = if is_first { REQUEST_LINE_BYTES } else { FIELD_LINE_BYTES };
        match self.line.len() < limit {
            true => self.line.push(byte),
            false if is_first => return Some(HttpReply::LineTooLong),
            false => {}
        }
        (self.head_bytes > HEAD_BYTES).then_some(HttpReply::FieldsTooLong)
    }

    fn end_line(&mut self, line: &[u8]) -> Option<HttpReply> {
        match self.asked {
            None => {
                let asked = self.read_request_line(line);
                self.asked = Some(asked);
                // Nothing that a field says changes these.
                matches!(asked, HttpReply::WrongMethod | HttpReply::Malformed).then_some(asked)
            }
            Some(asked) if line.is_empty() => Some(self.refused.unwrap_or(asked)),
            Some(_) => {
                self.read_field(line);
                None
            }
        }
    }

    fn read_request_line(&mut self, line: &[u8]) -> HttpReply {
        let text = String::from_utf8_lossy(line);
        let words: Vec<&str> = text.split(' ').collect();
        let head_only = match words[0] {
            "GET" => false,
            "HEAD" => true,
            _ => return HttpReply::WrongMethod,
        };
        // Scripts leave out the version.
        let (target, version) = match words[1..] {
            [target] => (target, "HTTP/1.0"),
            [target, version] => (target, version),
            _ => return HttpReply::Malformed,
        };
        if !version.starts_with("HTTP/1.") {
            return HttpReply::Malformed;
        }
        let path = match target.split_once("://") {
            Some((_, rest)) => {
                let (authority, _) = rest.split_once('/').unwrap_or((rest, ""));
                self.check_host(authority);
                &rest[authority.len()..]
            }
            None => target,
        };
        match path.split('?').next() {
            Some("/metrics") => HttpReply::Page { head_only },
            _ => HttpReply::NotFound { head_only },
        }
    }

    fn read_field(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let Some((name, value)) = text.split_once(':') else { return };
        if !name.eq_ignore_ascii_case("host") {
            return;
        }
        if std::mem::replace(&mut self.has_host, true) {
            self.refused = Some(HttpReply::Malformed);
        }
        self.check_host(value.trim());
    }

    fn check_host(&mut self, host: &str) {
        if !is_own_host(host) {
            self.refused.get_or_insert(HttpReply::ForeignHost);
        }
    }
}

/// Whether a Host names no machine, an address or localhost, each with or without a port: a name that
/// another machine's owner chose can resolve to this one, an address cannot.
fn is_own_host(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => {
            let address = rest.split_once(']').map(|(address, _)| address);
            return address.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok());
        }
        None => host.split_once(':').map_or(host, |(name, _)| name),
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    name.is_empty() || name.eq_ignore_ascii_case("localhost") || name.parse::<Ipv4Addr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer to a request that arrives in pieces of one size.
    fn reply(request: &[u8], piece_bytes: usize) -> Option<HttpReply> {
        let mut reader = RequestReader::default();
        request.chunks(piece_bytes).find_map(|piece| reader.push(piece))
    }

    const PAGE: HttpReply = HttpReply::Page { head_only: false };

    #[test]
    fn a_request_is_the_same_in_any_pieces() {
        let request = b"GET /metrics?x=1 HTTP/1.1\r\nHost: 127.0.0.1:9123\r\nAccept: */*\r\n\r\n";
        for piece_bytes in 1..=request.len() {
            assert_eq!(reply(request, piece_bytes), Some(PAGE), "{piece_bytes}");
            assert_eq!(reply(&request[..request.len() - 1], piece_bytes), None, "{piece_bytes}");
        }
        assert_eq!(reply(b"GET /metrics HTTP/1.1\n\n", 3), Some(PAGE), "lines of a script");
    }

    #[test]
    fn long_fields_are_skipped_and_longer_ones_refused() {
        let request = |bytes: usize| {
            let cookie = "a".repeat(bytes);
            format!("GET /metrics HTTP/1.1\r\nCookie: {cookie}\r\nHost: localhost\r\n\r\n")
        };
        assert_eq!(reply(request(100_000).as_bytes(), 4096), Some(PAGE));
        assert_eq!(reply(request(1 << 20).as_bytes(), 4096), Some(HttpReply::FieldsTooLong));
        let path = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(REQUEST_LINE_BYTES));
        assert_eq!(reply(path.as_bytes(), 4096), Some(HttpReply::LineTooLong));
        let many = "A: b\r\n".repeat(1 << 18);
        let many = format!("GET /metrics HTTP/1.1\r\n{many}\r\n");
        assert_eq!(reply(many.as_bytes(), 4096), Some(HttpReply::FieldsTooLong));
    }

    #[test]
    fn only_addresses_and_localhost_are_served() {
        let of_host = |host: &str| {
            reply(format!("GET /metrics HTTP/1.1\r\nhOsT:{host}\r\n\r\n").as_bytes(), 7)
        };
        for host in [
            " 127.0.0.1:9123",
            "localhost",
            "LOCALHOST:1 ",
            "[::1]:9123",
            "192.0.2.7",
            "localhost.",
            "",
        ] {
            assert_eq!(of_host(host), Some(PAGE), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:9123",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "[evil.example]",
        ] {
            assert_eq!(of_host(host), Some(HttpReply::ForeignHost), "{host}");
        }
        let twice = b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n";
        assert_eq!(reply(twice, 9), Some(HttpReply::Malformed));
        let absolute = b"GET http://evil.example/metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
        assert_eq!(reply(absolute, 9), Some(HttpReply::ForeignHost));
        let absolute = b"GET http://127.0.0.1:9123/metrics HTTP/1.1\r\n\r\n";
        assert_eq!(reply(absolute, 9), Some(PAGE));
    }

    #[test]
    fn other_requests_are_answered_by_what_they_are() {
        let head_only = true;
        for (request, expected) in [
            ("HEAD /metrics HTTP/1.0\r\n\r\n", HttpReply::Page { head_only }),
            ("HEAD / HTTP/1.1\r\n\r\n", HttpReply::NotFound { head_only }),
            ("GET /metricsx HTTP/1.1\r\n\r\n", HttpReply::NotFound { head_only: false }),
            ("GET  /metrics HTTP/1.1\r\n", HttpReply::Malformed),
            ("PRI * HTTP/2.0\r\n", HttpReply::WrongMethod),
            ("POST /metrics HTTP/1.1\r\n", HttpReply::WrongMethod),
            ("\r\n", HttpReply::WrongMethod),
            ("GET /metrics HTTP/2.0\r\n", HttpReply::Malformed),
        ] {
            assert_eq!(reply(request.as_bytes(), 5), Some(expected), "{request}");
        }
    }
}

#[cfg(test)]
#[path = "request_fuzz.rs"]
mod fuzz;
