//! A server of a test, and clients that speak to it byte by byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

use crate::comparison::{LATENCIES, TABLE};

/// Two cores with latencies.
pub fn latencies() -> String {
    LATENCIES.replace("38]]", "38], [41, 47, 44, 32, 44, 41, 35, 38]]")
}

pub struct Server {
    child: Child,
    out: BufReader<ChildStdout>,
    /// Where each core listens.
    pub addresses: Vec<SocketAddr>,
    _folder: TempDir,
}

/// How a server ended.
pub struct Ended {
    pub code: Option<i32>,
    pub out: String,
}

pub fn command(folder: &TempDir, options: &[&str]) -> Command {
    std::fs::write(folder.path().join("table.toml"), TABLE).expect("the folder can be written");
    std::fs::write(folder.path().join("latencies.toml"), latencies()).expect("can be written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_slice-kvs"));
    command.current_dir(folder.path());
    command.args(["serve", "--table", "table.toml", "--latencies", "latencies.toml"]);
    command.args(options);
    command
}

impl Server {
    /// A server on free ports, with little memory unless the options say otherwise.
    pub fn start(options: &[&str]) -> Self {
        let folder = TempDir::new().expect("can be made");
        let mut command = command(&folder, &["--port", "0"]);
        if !options.contains(&"--lines") {
            command.args(["--lines", "16384", "--hot-lines", "1024"]);
        }
        command.args(options).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("was built");
        let out = BufReader::new(child.stdout.take().expect("is piped"));
        let mut server = Self { child, out, addresses: Vec::new(), _folder: folder };
        loop {
            let mut line = String::new();
            server.out.read_line(&mut line).expect("is text");
            assert!(!line.is_empty(), "the server ended before it served");
            if line.starts_with("serving") {
                return server;
            }
            let address = line.split([' ', ',']).nth(2).expect("core N: ADDRESS, ...");
            server.addresses.push(address.parse().expect("an address"));
        }
    }

    pub fn client(&self) -> Client {
        Client::to(self.addresses[0])
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ctrl-C.
    pub fn interrupt(mut self) -> Ended {
        let pid = rustix::process::Pid::from_raw(self.child.id().cast_signed()).expect("a process");
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
        let mut out = String::new();
        self.out.read_to_string(&mut out).expect("is text");
        Ended { code: self.child.wait().expect("it ends").code(), out }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub struct Client {
    pub stream: BufReader<TcpStream>,
}

impl Client {
    pub fn to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_nodelay(true).expect("a socket");
        // Longer than any answer takes: a test that would wait for ever fails.
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
        Self { stream: BufReader::new(stream) }
    }

    pub fn write(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).expect("the server reads");
    }

    /// One reply, as it is on the wire, with its parts if it is an array.
    pub fn reply(&mut self) -> Vec<u8> {
        let mut reply = Vec::new();
        self.stream.read_until(b'\n', &mut reply).expect("a reply");
        let number = || String::from_utf8_lossy(&reply[1..]).trim().parse::<i64>();
        match reply.first() {
            Some(b'$') => {
                let length = number().expect("a length");
                if let Ok(length) = usize::try_from(length) {
                    let start = reply.len();
                    reply.resize(start + length + 2, 0);
                    self.stream.read_exact(&mut reply[start..]).expect("a value");
                }
            }
            Some(b'*') => {
                for _ in 0..number().expect("a length").max(0) {
                    reply.extend(self.reply());
                }
            }
            _ => {}
        }
        reply
    }

    pub fn ask(&mut self, arguments: &[&[u8]]) -> Vec<u8> {
        self.write(&request(arguments));
        self.reply()
    }

    /// All bytes until the server closes the connection.
    pub fn rest(mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        // A reset ends it too: the server has not read all that was sent.
        let _ = self.stream.read_to_end(&mut rest);
        rest
    }
}

pub fn request(arguments: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", arguments.len()).into_bytes();
    for argument in arguments {
        bytes.extend(format!("${}\r\n", argument.len()).bytes());
        bytes.extend_from_slice(argument);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

pub fn bulk(bytes: &[u8]) -> Vec<u8> {
    [format!("${}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}
