//! Is every byte of the replies Redis's own, for good and for bad input? (package `redis-server`)

use crate::server::{Server, request};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

struct Redis {
    child: Child,
    address: SocketAddr,
}

impl Redis {
    /// A server without files; `None` where it is not installed, which a soak does not accept.
    fn start() -> Option<Self> {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let address = free.expect("a port");
        let mut command = Command::new("redis-server");
        command.args(["--port", &address.port().to_string(), "--save", "", "--appendonly", "no"]);
        command.args([
            "--bind",
            "127.0.0.1",
            "--proto-max-bulk-len",
            "1048576",
            "--databases",
            "1",
        ]);
        let Ok(mut child) = command.stdout(Stdio::piped()).spawn() else {
            assert!(soak::amount(true, false), "redis-server is not installed");
            eprintln!("not tested: redis-server is not installed");
            return None;
        };
        let out = child.stdout.take().expect("is piped");
        let redis = Self { child, address };
        let lines = BufReader::new(out).lines();
        let ready = lines.map_while(Result::ok).any(|line| line.contains("Ready to accept"));
        assert!(ready, "redis-server did not start");
        Some(redis)
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// All that a server answers to these bytes on a connection of their own.
fn answer(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.write_all(bytes).expect("it reads");
    // A server that has closed already has said all it has to say.
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

/// Redis drops an error, now and then, whose connection the client has ended for its part: what differs
/// has to differ again.
const TRIES: u32 = 10;

fn check(redis: &Redis, server: &Server, bytes: &[u8], tries: u32) {
    let shown = |bytes: &[u8]| bytes.escape_ascii().to_string();
    let mut answers = Vec::new();
    for _ in 0..tries {
        answers = [redis.address, server.addresses[0]].map(|to| shown(&answer(to, bytes))).into();
        if answers[0] == answers[1] {
            return;
        }
    }
    assert_eq!(answers[0], answers[1], "{}", shown(bytes));
}

#[test]
fn commands_are_answered_byte_by_byte_as_by_redis() {
    let Some(redis) = Redis::start() else { return };
    let server = Server::start(&["--rank-every", "1024"]);
    let words: [&[u8]; 24] = [
        b"GET",
        b"SET",
        b"DEL",
        b"EXISTS",
        b"MGET",
        b"MSET",
        b"PING",
        b"ECHO",
        b"DBSIZE",
        b"SELECT",
        b"FLUSHALL",
        b"mget",
        b"FLUSHDB",
        b"NONE",
        b"a",
        b"b",
        b"c",
        b"0",
        b"1",
        b"-1",
        b"NX",
        b"xx",
        b"get",
        b"",
    ];
    let mut random = Xoshiro256PlusPlus::seed_from_u64(soak::seed(1));
    for _ in 0..soak::amount(300, 10_000) {
        let mut pick = |below: u32| (random.next_u32() % below) as usize;
        let bytes: Vec<u8> = (0..1 + pick(6))
            .flat_map(|_| {
                let mut command = vec![words[pick(14)]];
                command.extend((0..pick(5)).map(|_| words[14 + pick(10)]));
                request(&command)
            })
            .collect();
        check(&redis, &server, &bytes, 1);
    }
}

#[test]
fn bad_input_is_answered_byte_by_byte_as_by_redis() {
    let Some(redis) = Redis::start() else { return };
    let server = Server::start(&[]);
    let pieces: [&[u8]; 14] = [
        b"*",
        b"$",
        b"\r\n",
        b"3",
        b"GET ",
        b"key",
        b"-1",
        b"\"",
        b"'",
        b" ",
        b"\\x4",
        b"PING\r\n",
        b"*1\r\n$4\r\nPING\r\n",
        b"SET k v\r\n",
    ];
    let mut random = Xoshiro256PlusPlus::seed_from_u64(soak::seed(2));
    for _ in 0..soak::amount(500, 20_000) {
        let count = 1 + random.next_u32() % 14;
        let piece = |_| pieces[(random.next_u32() % 14) as usize];
        check(&redis, &server, &(0..count).map(piece).collect::<Vec<_>>().concat(), TRIES);
    }
    for bytes in [
        &b"*x\r\n"[..],
        b"*-1\r\nPING\r\n",
        b"*1\r\n$1048577\r\n",
        b"*1\r\n$+4\r\nPING\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"SET \"\\x41\\n\" v\r\nGET \"A\\n\"\r\n",
    ] {
        check(&redis, &server, bytes, TRIES);
    }
}
