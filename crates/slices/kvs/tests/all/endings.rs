//! Clients beyond a limit, Ctrl-C, and servers that cannot start.

use crate::server::{Client, Server, command};
use serde_json::Value;
use std::net::TcpListener;
use tempfile::TempDir;

#[test]
fn many_clients_are_served_and_those_beyond_the_limit_refused() {
    let server = Server::start(&["--max-clients", "200"]);
    let mut clients: Vec<Client> = (0..200).map(|_| server.client()).collect();
    for client in &mut clients {
        assert_eq!(client.ask(&[b"PING"]), b"+PONG\r\n");
    }
    assert_eq!(server.client().rest(), b"-ERR max number of clients reached\r\n");
    for client in &mut clients {
        assert_eq!(client.ask(&[b"PING"]), b"+PONG\r\n");
    }
    let mut leaving = clients.pop().expect("there are some");
    assert_eq!(leaving.ask(&[b"QUIT"]), b"+OK\r\n");
    assert!(leaving.rest().is_empty());
    assert_eq!(server.client().ask(&[b"PING"]), b"+PONG\r\n", "there is room again");
}

#[test]
fn ctrl_c_ends_it_with_statistics_while_clients_are_there() {
    let server = Server::start(&["--format", "json", "--rank-every", "1024"]);
    let mut client = server.client();
    assert_eq!(client.ask(&[b"SET", b"a", b"1"]), b"+OK\r\n");
    for _ in 0..3000 {
        client.ask(&[b"GET", b"a"]);
    }
    client.ask(&[b"GET", b"none"]);
    client.ask(&[b"NONE"]);
    let ended = server.interrupt();
    assert_eq!(ended.code, Some(0));
    let summary: Value = serde_json::from_str(&ended.out).expect("is JSON");
    let core = &summary["cores"][0];
    assert_eq!((&core["connections"], &core["commands"]), (&1.into(), &3003.into()), "{core}");
    assert_eq!((&core["errors"], &core["look_ups"]["missed"]), (&1.into(), &1.into()), "{core}");
    let [hot, cold] = ["hot", "cold"].map(|pool| core["look_ups"][pool].as_u64().expect("a count"));
    assert_eq!(hot + cold, 3000);
    assert!((1000..1100).contains(&cold), "the first ranking moves it: {core}");
    assert_eq!((&core["keys"], &core["hot_keys"]), (&1.into(), &1.into()), "{core}");
    assert!(client.rest().is_empty(), "the connection is closed");
    let ended = Server::start(&[]).interrupt();
    assert_eq!(ended.code, Some(0));
    assert!(ended.out.starts_with("core 0: 0 commands of 0 clients, 0 errors;"), "{}", ended.out);
}

#[test]
fn what_keeps_it_from_starting_is_told() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    for (options, expected) in [
        (&["--port", &port][..], "cannot listen on 127.0.0.1:"),
        (&["--cores", "0,1", "--port", "65535"], "--port 65535: no port is left for core 1"),
        (&["--cores", "2"], "no latencies of core 2"),
        (&["--cores", "1,1"], "1 is given twice"),
        (&["--lines", "0"], "0 is not in 1.."),
    ] {
        let folder = TempDir::new().expect("can be made");
        let output = command(&folder, options).output().expect("was built");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{options:?}: {errors}");
        assert!(errors.contains(expected), "{options:?}: {errors}");
    }
}
