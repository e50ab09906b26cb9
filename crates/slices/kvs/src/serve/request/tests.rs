//! Are requests read the same however they arrive, and is nothing else taken for one?

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;
use redis_protocol::resp2::decode::decode;
use redis_protocol::resp2::types::OwnedFrame;

/// All requests of bytes that arrive in pieces of these lengths, and how it ended.
fn read(bytes: &[u8], pieces: &[usize]) -> (Vec<Vec<Vec<u8>>>, Result<usize, ProtocolError>) {
    let mut parser = Parser::default();
    let (mut requests, mut start, mut end) = (Vec::new(), 0, 0);
    let mut pieces = pieces.iter().copied().cycle();
    loop {
        match parser.read(&bytes[start..end]) {
            Ok(Some(length)) => {
                let arguments = parser.arguments(&bytes[start..end]);
                requests.push(arguments.from(0).map(<[u8]>::to_vec).collect());
                parser.restart();
                start += length;
            }
            Ok(None) if end == bytes.len() => return (requests, Ok(bytes.len() - start)),
            Ok(None) => end = bytes.len().min(end + pieces.next().unwrap_or(1).max(1)),
            Err(error) => return (requests, Err(error)),
        }
    }
}

fn written(request: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", request.len()).into_bytes();
    for argument in request {
        bytes.extend(format!("${}\r\n", argument.len()).bytes());
        bytes.extend(argument);
        bytes.extend(b"\r\n");
    }
    bytes
}

/// Bytes that look like requests here and there.
fn noise() -> impl Strategy<Value = Vec<u8>> {
    let token = prop_oneof![
        Just(b"*".to_vec()),
        Just(b"$".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"-1".to_vec()),
        Just(b"3".to_vec()),
        Just(b"0".to_vec()),
        Just(b"\"".to_vec()),
        Just(b"9999999999999999999999".to_vec()),
        Just(b"GET".to_vec()),
        Just(b" ".to_vec()),
        vec(any::<u8>(), 0..4),
    ];
    vec(token, 0..40).prop_map(|tokens| tokens.concat())
}

proptest! {
    #[test]
    fn requests_are_read_as_written_however_they_arrive(
        requests in vec(vec(vec(any::<u8>(), 0..80), 1..6), 0..6),
        pieces in vec(1usize..40, 1..20),
    ) {
        let bytes: Vec<u8> = requests.iter().flat_map(|request| written(request)).collect();
        prop_assert_eq!(read(&bytes, &pieces), (requests.clone(), Ok(0)));
        // The crate's parser says the same.
        let mut rest = &bytes[..];
        for request in &requests {
            let (frame, length) = decode(rest).expect("is valid").expect("is complete");
            let expected = request.iter().cloned().map(OwnedFrame::BulkString).collect();
            prop_assert_eq!(frame, OwnedFrame::Array(expected));
            rest = &rest[length..];
        }
    }

    #[test]
    fn no_bytes_panic_and_their_pieces_do_not_matter(
        bytes in noise(),
        pieces in vec(1usize..9, 1..9),
    ) {
        prop_assert_eq!(read(&bytes, &pieces), read(&bytes, &[bytes.len()]));
    }
}

#[test]
fn what_is_no_request_is_answered_as_redis_does() {
    let message = |bytes: &[u8]| read(bytes, &[1 << 20]).1.expect_err("is refused").to_string();
    let long = |start: &[u8]| [start, &[b'1'; 64 << 10]].concat();
    for (bytes, expected) in [
        (b"*x\r\n".to_vec(), "invalid multibulk length"),
        (b"*1048577\r\n".to_vec(), "invalid multibulk length"),
        (b"*+1\r\n".to_vec(), "invalid multibulk length"),
        (b"*1\r\n:1\r\n".to_vec(), "expected '$', got ':'"),
        (b"*1\r\n$-1\r\n".to_vec(), "invalid bulk length"),
        (b"*1\r\n$1048577\r\n".to_vec(), "invalid bulk length"),
        (b"*1\r\n$\r\n".to_vec(), "invalid bulk length"),
        (long(b"*"), "too big mbulk count string"),
        (long(b"*1\r\n$"), "too big bulk count string"),
        (long(b"GET "), "too big inline request"),
        (b"GET \"a\r\n".to_vec(), "unbalanced quotes in request"),
    ] {
        assert_eq!(message(&bytes), format!("Protocol error: {expected}"));
    }
    let mut many = b"*17\r\n".to_vec();
    for _ in 0..16 {
        many.extend([b"$1048576\r\n".as_slice(), &vec![b'x'; 1 << 20], b"\r\n"].concat());
    }
    assert_eq!(message(&many), "Protocol error: too big request");
}

#[test]
fn empty_requests_have_no_arguments() {
    for bytes in [&b"*0\r\n"[..], b"*-5\r\n", b"\r\n", b"\n", b"  \r\n"] {
        assert_eq!(read(bytes, &[1]), (vec![Vec::new()], Ok(0)));
    }
}
