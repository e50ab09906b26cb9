//! Do clients at the same time see what a map would show them, on one core and on several?

use crate::server::{Client, Server, bulk};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::HashMap;
use std::net::SocketAddr;

/// A client of all cores, which goes where it is sent.
struct Following {
    clients: Vec<(SocketAddr, Client)>,
    moved: u32,
}

impl Following {
    fn to(server: &Server) -> Self {
        let connect = |&address| (address, Client::to(address));
        Self { clients: server.addresses.iter().map(connect).collect(), moved: 0 }
    }

    fn ask(&mut self, arguments: &[&[u8]]) -> Vec<u8> {
        let reply = self.clients[0].1.ask(arguments);
        let text = String::from_utf8_lossy(&reply);
        let Some(moved) = text.strip_prefix("-MOVED ") else { return reply };
        let address: SocketAddr =
            moved.split_whitespace().nth(1).and_then(|to| to.parse().ok()).expect("an address");
        self.moved += 1;
        let (_, client) = self.clients.iter_mut().find(|(own, _)| *own == address).expect("a core");
        client.ask(arguments)
    }
}

/// Random commands about keys of the client's own, compared with a map.
fn random_commands(server: &Server, client: u64, commands: u32) -> u32 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(soak::seed(1).wrapping_add(client));
    let mut asking = Following::to(server);
    let mut expected: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
    for number in 0..commands {
        // A few keys are asked for most: rankings move them.
        let draw = random.next_u32();
        let key = if draw.is_multiple_of(2) { draw / 2 % 8 } else { draw / 2 % 300 };
        let key = format!("{client}:{key}").into_bytes();
        match random.next_u32() % 10 {
            0..4 => {
                let size = if random.next_u32().is_multiple_of(16) { 3000 } else { 100 };
                let value = vec![number.to_le_bytes()[0]; (random.next_u32() % size) as usize];
                assert_eq!(asking.ask(&[b"SET", &key, &value]), b"+OK\r\n");
                expected.insert(key, value);
            }
            4 => {
                let there = expected.remove(&key).is_some();
                assert_eq!(
                    asking.ask(&[b"DEL", &key]),
                    format!(":{}\r\n", u8::from(there)).as_bytes()
                );
            }
            5 => {
                let there = u8::from(expected.contains_key(&key));
                assert_eq!(asking.ask(&[b"EXISTS", &key]), format!(":{there}\r\n").as_bytes());
            }
            _ => {
                let wanted = expected.get(&key).map_or(b"$-1\r\n".to_vec(), |value| bulk(value));
                assert_eq!(asking.ask(&[b"GET", &key]), wanted);
            }
        }
    }
    for (key, value) in &expected {
        assert_eq!(asking.ask(&[b"GET", key]), bulk(value));
    }
    asking.moved
}

fn by_clients_at_the_same_time(server: &Server) -> u32 {
    let commands = soak::amount(3000, 50_000);
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..6)
            .map(|client| scope.spawn(move || random_commands(server, client, commands)))
            .collect();
        clients.into_iter().map(|client| client.join().expect("answers as the map")).sum()
    })
}

#[test]
fn one_core_answers_as_a_map() {
    for placement in ["normal", "slice-aware"] {
        let options = ["--placement", placement, "--rank-every", "1024"];
        let server =
            Server::start(&[&options[..], &["--lines", "65536", "--hot-lines", "64"]].concat());
        assert_eq!(by_clients_at_the_same_time(&server), 0, "nothing moves");
    }
}

#[test]
fn two_cores_answer_as_a_map_each_its_own_keys() {
    let server = Server::start(&[
        "--cores",
        "0,1",
        "--rank-every",
        "1024",
        "--lines",
        "65536",
        "--hot-lines",
        "64",
    ]);
    assert_eq!(server.addresses.len(), 2);
    assert!(by_clients_at_the_same_time(&server) > 1000, "half of the keys are the other core's");
    let mut client = server.client();
    assert_eq!(client.ask(&[b"CLUSTER", b"KEYSLOT", b"foo"]), b":12182\r\n");
    let [first, second] = server.addresses[..] else { panic!("two cores") };
    let moved = format!("-MOVED 12182 {second}\r\n");
    assert_eq!(client.ask(&[b"GET", b"foo"]), moved.as_bytes());
    assert_eq!(client.ask(&[b"MGET", b"{foo}a", b"{foo}b"]), moved.as_bytes());
    let crossing = client.ask(&[b"MSET", b"a", b"1", b"b", b"2"]);
    assert_eq!(crossing, b"-CROSSSLOT Keys in request don't hash to the same slot\r\n");
    // Where it listens on all addresses, clients are sent to the one that they know.
    let everywhere = Server::start(&["--cores", "0,1", "--bind", "0.0.0.0"]);
    let ports: Vec<u16> = everywhere.addresses.iter().map(SocketAddr::port).collect();
    let reply = Client::to(([127, 0, 0, 1], ports[0]).into()).ask(&[b"GET", b"foo"]);
    assert_eq!(reply, format!("-MOVED 12182 127.0.0.1:{}\r\n", ports[1]).as_bytes());
    let nodes = String::from_utf8(client.ask(&[b"CLUSTER", b"NODES"])).expect("is text");
    assert!(nodes.contains(&format!("{first}@")) && nodes.contains("8192-16383"), "{nodes}");
}
