//! The server with clients in the same thread and a clock that stands still unless a test moves it.

use std::cell::Cell;
use std::net::{Ipv4Addr, SocketAddr};
use std::thread;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::*;

const REQUEST: &[u8] = b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
const PAGE: &str = "skipline_window_seconds 1\n";

fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    (listener, address)
}

/// Connects, and lets the server accept the connection.
fn connect(server: &mut Server<'_>, address: SocketAddr) -> TcpStream {
    let before = server.connections.len();
    let client = TcpStream::connect(address).expect("a connection");
    until(server, |server| server.connections.len() > before);
    client
}

fn until(server: &mut Server<'_>, is_so: impl Fn(&Server<'_>) -> bool) {
    while !is_so(server) {
        server.turn().expect("events");
    }
}

fn is_answered(server: &Server<'_>) -> bool {
    matches!(server.connections.last().map(|it| &it.stage), Some(ConnectionStage::Close))
}

/// The answer of the server, which has shut the connection down.
fn answer(client: &mut TcpStream) -> String {
    let mut text = String::new();
    client.read_to_string(&mut text).expect("an answer");
    text
}

fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).expect("its own limit");
}

#[test]
fn a_scrape_is_answered_beside_a_thousand_idle_and_a_thousand_slow_connections() {
    allow_many_files();
    let (listener, address) = listener();
    let (now, page) = (|| Duration::ZERO, || Arc::from(PAGE));
    let mut server = Server::new(listener, MOST_CONNECTIONS, &now, &page).expect("a server");
    let mut held = Vec::new();
    for number in 0..2000 {
        let mut client = connect(&mut server, address);
        if number % 2 == 1 {
            client.write_all(&REQUEST[..10]).expect("a part");
        }
        held.push(client);
    }
    let mut client = connect(&mut server, address);
    client.write_all(&REQUEST[..8]).expect("a segment");
    server.turn().expect("events");
    client.write_all(&REQUEST[8..]).expect("another segment");
    until(&mut server, is_answered);
    assert!(answer(&mut client).ends_with(PAGE));
    // The clock has stood still, so it closed no connection.
    assert_eq!(server.connections.len(), 2001);
}

#[test]
fn several_scrapes_at_once_get_the_same_page() {
    let (listener, address) = listener();
    let (now, page) = (|| Duration::ZERO, || Arc::from(PAGE));
    let mut server = Server::new(listener, MOST_CONNECTIONS, &now, &page).expect("a server");
    let mut clients: Vec<TcpStream> = (0..50).map(|_| connect(&mut server, address)).collect();
    for client in &mut clients {
        client.write_all(REQUEST).expect("a request");
    }
    let is_over = |it: &Connection| matches!(it.stage, ConnectionStage::Close);
    until(&mut server, |server| server.connections.iter().all(is_over));
    let answers: Vec<String> = clients.iter_mut().map(answer).collect();
    assert!(answers[0].ends_with(PAGE) && answers.iter().all(|other| *other == answers[0]));
    drop(clients);
    until(&mut server, |server| server.connections.is_empty());
}

#[test]
fn a_connection_ends_with_its_time_however_slowly_bytes_come() {
    let (listener, address) = listener();
    let time = Cell::new(Duration::ZERO);
    let (now, page) = (|| time.get(), || Arc::from(PAGE));
    let mut server = Server::new(listener, MOST_CONNECTIONS, &now, &page).expect("a server");
    let mut slow = connect(&mut server, address);
    for byte in &REQUEST[..5] {
        slow.write_all(&[*byte]).expect("a byte");
        server.turn().expect("events");
        time.set(time.get() + REQUEST_TIME / 6);
    }
    assert_eq!(server.connections.len(), 1);
    let mut late = connect(&mut server, address);
    time.set(REQUEST_TIME);
    server.turn().expect("a deadline");
    assert_eq!(server.connections.len(), 1, "the later one has time left");
    assert_eq!(slow.read(&mut [0]).expect("its end"), 0);
    late.write_all(REQUEST).expect("a request");
    until(&mut server, is_answered);
    time.set(REQUEST_TIME + CLOSE_TIME);
    server.turn().expect("a deadline");
    assert!(server.connections.is_empty(), "a client that does not close is closed");
    assert!(answer(&mut late).ends_with(PAGE));
}

#[test]
fn an_answer_that_nobody_takes_ends_with_its_time() {
    let (listener, address) = listener();
    let time = Cell::new(Duration::ZERO);
    let long = "a".repeat(64 << 20);
    let (now, page) = (|| time.get(), || Arc::from(long.as_str()));
    let mut server = Server::new(listener, MOST_CONNECTIONS, &now, &page).expect("a server");
    let mut client = connect(&mut server, address);
    client.write_all(REQUEST).expect("a request");
    let has_answer = |it: &Connection| matches!(it.stage, ConnectionStage::Answer(..));
    until(&mut server, |server| server.connections.iter().any(has_answer));
    time.set(ANSWER_TIME);
    until(&mut server, |server| server.connections.is_empty());
}

#[test]
fn beyond_the_limit_the_connection_that_has_waited_longest_is_closed() {
    let (listener, address) = listener();
    let (now, page) = (|| Duration::ZERO, || Arc::from(PAGE));
    let mut server = Server::new(listener, 3, &now, &page).expect("a server");
    let mut held: Vec<TcpStream> = (0..3).map(|_| connect(&mut server, address)).collect();
    let mut client = TcpStream::connect(address).expect("a connection");
    client.write_all(REQUEST).expect("a request");
    until(&mut server, is_answered);
    assert!(answer(&mut client).ends_with(PAGE));
    assert_eq!(held[0].read(&mut [0]).expect("its end"), 0);
    assert_eq!(server.connections.len(), 3);
    for client in &mut held[1..] {
        client.set_nonblocking(true).expect("its mode");
        let read = client.read(&mut [0]).map_err(|error| error.kind());
        assert_eq!(read, Err(ErrorKind::WouldBlock), "it still waits");
    }
}

#[test]
fn the_answer_is_read_whole_also_after_fields_that_are_too_long() {
    for (field_bytes, status) in [(200_000, "HTTP/1.1 200"), (4 << 20, "HTTP/1.1 431")] {
        let (listener, address) = listener();
        let (now, page) = (|| Duration::ZERO, || Arc::from(PAGE));
        let mut server = Server::new(listener, MOST_CONNECTIONS, &now, &page).expect("a server");
        let client = thread::spawn(move || {
            let mut client = TcpStream::connect(address).expect("a connection");
            let cookie = "a".repeat(field_bytes);
            let request = format!("GET /metrics HTTP/1.1\r\nCookie: {cookie}\r\n\r\n");
            client.write_all(request.as_bytes()).expect("all of it is read");
            answer(&mut client)
        });
        until(&mut server, |server| server.connections.len() == 1);
        until(&mut server, |server| server.connections.is_empty());
        let text = client.join().expect("no reset");
        assert!(text.starts_with(status) && text.ends_with('\n'), "{text}");
    }
}
