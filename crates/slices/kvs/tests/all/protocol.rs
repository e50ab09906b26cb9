//! Is every command answered as Redis answers it, and bad input too, without harm to others?

use crate::server::{Client, Server, bulk, request};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A command in words, and its reply.
fn check(client: &mut Client, command: &str, expected: &str) {
    let words: Vec<&[u8]> = command.split(' ').map(str::as_bytes).collect();
    let reply = client.ask(&words);
    assert_eq!(String::from_utf8_lossy(&reply), expected, "{command}");
}

#[test]
fn commands_are_answered_as_in_redis() {
    let server = Server::start(&[]);
    let client = &mut server.client();
    for (command, expected) in [
        ("PING", "+PONG\r\n"),
        ("ping hello", "$5\r\nhello\r\n"),
        ("ECHO hello", "$5\r\nhello\r\n"),
        ("GET a", "$-1\r\n"),
        ("SET a 1", "+OK\r\n"),
        ("GET a", "$1\r\n1\r\n"),
        ("SET a 2 NX", "$-1\r\n"),
        ("SET b 2 XX", "$-1\r\n"),
        ("SET a 2 XX GET", "$1\r\n1\r\n"),
        ("SET b 3 NX GET", "$-1\r\n"),
        ("SET b 4 NX GET", "$1\r\n3\r\n"),
        ("SET a 1 NX XX", "-ERR syntax error\r\n"),
        ("SET a 1 EX 10", "-ERR values do not expire here\r\n"),
        ("MSET a 5 c 6 a 7", "+OK\r\n"),
        ("MSET a 5 c", "-ERR wrong number of arguments for 'mset' command\r\n"),
        ("MGET a b none c", "*4\r\n$1\r\n7\r\n$1\r\n3\r\n$-1\r\n$1\r\n6\r\n"),
        ("EXISTS a a none", ":2\r\n"),
        ("DBSIZE", ":3\r\n"),
        ("DEL a none b", ":2\r\n"),
        ("SELECT 0", "+OK\r\n"),
        ("SELECT 1", "-ERR DB index is out of range\r\n"),
        ("SELECT x", "-ERR value is not an integer or out of range\r\n"),
        ("CONFIG GET save", "*2\r\n$4\r\nsave\r\n$0\r\n\r\n"),
        ("CONFIG GET none", "*0\r\n"),
        ("COMMAND COUNT", ":19\r\n"),
        (
            "COMMAND INFO get",
            "*1\r\n*6\r\n$3\r\nget\r\n:2\r\n*2\r\n+readonly\r\n+fast\r\n:1\r\n:1\r\n:1\r\n",
        ),
        ("HELLO 3", "-NOPROTO unsupported protocol version\r\n"),
        ("CLUSTER NODES", "-ERR This instance has cluster support disabled\r\n"),
        ("GET", "-ERR wrong number of arguments for 'get' command\r\n"),
        ("GET a b", "-ERR wrong number of arguments for 'get' command\r\n"),
        ("INCR a b", "-ERR unknown command 'INCR', with args beginning with: 'a' 'b' \r\n"),
        ("FLUSHALL", "+OK\r\n"),
        ("DBSIZE", ":0\r\n"),
        ("FLUSHALL NOW", "-ERR syntax error\r\n"),
    ] {
        check(client, command, expected);
    }
    let hello = String::from_utf8(client.ask(&[b"HELLO", b"2"])).expect("is text");
    assert!(hello.starts_with("*10\r\n$6\r\nserver\r\n") && hello.contains(":2\r\n"), "{hello}");
    let info = String::from_utf8(client.ask(&[b"INFO"])).expect("is text");
    for line in ["redis_mode:standalone", "connected_clients:1", "placement:slice-aware", "slice:2"]
    {
        assert!(info.contains(&format!("{line}\r\n")), "{line}: {info}");
    }
    let reply = client.ask(&[b"no\r\n+OK", b"x\r\ny"]);
    assert!(reply.ends_with(b"\r\n") && reply.iter().filter(|byte| **byte == b'\n').count() == 1);
    check(client, "QUIT", "+OK\r\n");
}

#[test]
fn values_of_any_size_come_back_and_too_large_ones_are_refused() {
    let server = Server::start(&["--lines", "65536", "--hot-lines", "64"]);
    let client = &mut server.client();
    for size in [0, 1, 39, 40, 41, 56, 100, 4096, 100_000, 1 << 20] {
        let value: Vec<u8> = (0..size).map(|at: u32| at.to_le_bytes()[0] ^ 0xa5).collect();
        assert_eq!(client.ask(&[b"SET", b"key", &value]), b"+OK\r\n", "{size}");
        assert_eq!(client.ask(&[b"GET", b"key"]), bulk(&value), "{size}");
    }
    let key = [b'k'; 4097];
    let reply = client.ask(&[b"SET", &key, b"v"]);
    assert_eq!(reply, b"-ERR a key of 4097 bytes; allowed: up to 4096\r\n");
    assert_eq!(client.ask(&[b"SET", &key[1..], b"v"]), b"+OK\r\n");
    client.write(b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1048577\r\n");
    assert_eq!(client.reply(), b"-ERR Protocol error: invalid bulk length\r\n");
}

#[test]
fn a_full_store_refuses_what_needs_more_and_keeps_what_it_has() {
    let server = Server::start(&["--lines", "48", "--hot-lines", "16"]);
    let client = &mut server.client();
    for key in 0..64u8 {
        assert_eq!(client.ask(&[b"SET", &[key], b"one line"]), b"+OK\r\n");
    }
    let full = b"-OOM command not allowed when used memory > 'maxmemory'.\r\n";
    assert_eq!(client.ask(&[b"SET", b"one more", b""]), full);
    assert_eq!(client.ask(&[b"SET", &[3], &[b'x'; 60]]), full);
    assert_eq!(client.ask(&[b"MSET", &[3], b"new", b"one more", b""]), full);
    assert_eq!(client.ask(&[b"GET", &[3]]), bulk(b"one line"), "nothing of it was done");
    assert_eq!(client.ask(&[b"SET", &[3], b"another"]), b"+OK\r\n");
    assert_eq!(client.ask(&[b"DEL", &[4]]), b":1\r\n");
    assert_eq!(client.ask(&[b"SET", &[3], &[b'x'; 60]]), b"+OK\r\n");
}

#[test]
fn what_is_no_request_is_answered_and_ends_that_connection_alone() {
    let server = Server::start(&[]);
    let mut other = server.client();
    for (bytes, expected) in [
        (&b"PING\r\n*1\r\n:1\r\n"[..], "+PONG\r\n-ERR Protocol error: expected '$', got ':'\r\n"),
        (b"*x\r\n", "-ERR Protocol error: invalid multibulk length\r\n"),
        (b"*1\r\n$-3\r\n", "-ERR Protocol error: invalid bulk length\r\n"),
        (b"GET \"\r\n", "-ERR Protocol error: unbalanced quotes in request\r\n"),
        (b"QUIT\r\nPING\r\n", "+OK\r\n"),
        (b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\nFLUSHALL\r\n", ""),
        (b"Host: localhost:6379\r\nFLUSHALL\r\n", ""),
    ] {
        let mut client = server.client();
        client.write(bytes);
        assert_eq!(String::from_utf8_lossy(&client.rest()), expected);
        assert_eq!(other.ask(&[b"PING"]), b"+PONG\r\n");
    }
}

#[test]
fn random_bytes_of_many_clients_harm_no_other() {
    let server = Server::start(&[]);
    let mut other = server.client();
    assert_eq!(other.ask(&[b"SET", b"key", b"value"]), b"+OK\r\n");
    let mut random = Xoshiro256PlusPlus::seed_from_u64(soak::seed(1));
    let pieces: [&[u8]; 9] =
        [b"*", b"$", b"\r\n", b"3", b"GET", b"key", b"-1", b"\"", b"*1\r\n$4\r\nPING\r\n"];
    for _ in 0..soak::amount(200, 5_000) {
        let mut client = server.client();
        let mut bytes = Vec::new();
        for _ in 0..random.next_u32() % 40 {
            match random.next_u32() % 10 {
                9 => bytes.push(random.next_u32().to_le_bytes()[0]),
                piece => bytes.extend_from_slice(pieces[piece as usize]),
            }
        }
        client.write(&bytes);
    }
    assert_eq!(other.ask(&[b"GET", b"key"]), bulk(b"value"));
}

#[test]
fn requests_in_one_piece_or_byte_by_byte_are_answered_in_order() {
    let server = Server::start(&[]);
    let mut client = server.client();
    let number = |at: u32| at.to_string().into_bytes();
    let all: Vec<u8> = (0..10_000)
        .flat_map(|at| {
            let key = number(at % 100);
            [request(&[b"SET", &key, &number(at)]), request(&[b"GET", &key])].concat()
        })
        .collect();
    let mut writer = client.stream.get_ref().try_clone().expect("a socket");
    std::thread::scope(|scope| {
        scope.spawn(move || std::io::Write::write_all(&mut writer, &all).expect("it reads"));
        for at in 0..10_000 {
            assert_eq!(client.reply(), b"+OK\r\n");
            assert_eq!(client.reply(), bulk(&number(at)));
        }
    });
    for byte in [request(&[b"SET", b"slow", b"value"]), b"GET slow\r\n".to_vec()].concat() {
        client.write(&[byte]);
    }
    assert_eq!((client.reply(), client.reply()), (b"+OK\r\n".to_vec(), bulk(b"value")));
}

#[test]
fn a_client_that_takes_nothing_is_not_read_from_and_others_go_on() {
    let server = Server::start(&[]);
    let mut slow = server.client();
    let value = vec![b'v'; 10_000];
    assert_eq!(slow.ask(&[b"SET", b"key", &value]), b"+OK\r\n");
    // 500 MB of answers: more than any buffer between the two holds.
    let requests = request(&[b"GET", b"key"]).repeat(50_000);
    let mut writer = slow.stream.get_ref().try_clone().expect("a socket");
    std::thread::scope(|scope| {
        scope.spawn(move || std::io::Write::write_all(&mut writer, &requests).expect("it reads"));
        let mut other = server.client();
        for _ in 0..1000 {
            assert_eq!(other.ask(&[b"GET", b"key"]), bulk(&value));
        }
        assert!(resident_kib(server.pid()) < 200 << 10, "answers pile up");
        for _ in 0..50_000 {
            assert!(slow.reply() == bulk(&value));
        }
    });
}

/// Memory of a process.
fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a line");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number")
}
