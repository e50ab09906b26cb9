//! Do clients that others have written work? They are in the package `redis-tools` of Debian.

use crate::server::Server;
use std::process::Command;

/// The output of a program; `None` if it is not installed, which a soak does not accept.
fn run(program: &str, arguments: &[&str]) -> Option<String> {
    match Command::new(program).args(arguments).output() {
        Ok(output) => {
            let out = String::from_utf8_lossy(&output.stdout).into_owned();
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{program} {arguments:?}: {out}{errors}");
            assert!(!errors.to_lowercase().contains("error"), "{program} {arguments:?}: {errors}");
            Some(out)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            assert!(soak::amount(true, false), "{program} is not installed (redis-tools)");
            eprintln!("not tested: {program} is not installed");
            None
        }
        Err(error) => panic!("{program}: {error}"),
    }
}

#[test]
fn redis_benchmark_runs_through_with_and_without_pipelines() {
    let requests = soak::amount("5000", "100000");
    let server = Server::start(&["--rank-every", "4096"]);
    let port = server.addresses[0].port().to_string();
    for pipeline in ["1", "16"] {
        let arguments = [
            "-p",
            &port,
            "-n",
            requests,
            "-r",
            "2000",
            "-d",
            "32",
            "-c",
            "20",
            "-P",
            pipeline,
            "-t",
            "ping,set,get,mset",
            "--csv",
        ];
        let Some(table) = run("redis-benchmark", &arguments) else { return };
        for test in ["PING_INLINE", "PING_MBULK", "SET", "GET", "MSET (10 keys)"] {
            let row = table.lines().find(|line| line.starts_with(&format!("\"{test}\",")));
            let rate = row.and_then(|row| row.split('"').nth(3)?.parse::<f64>().ok());
            assert!(rate.is_some_and(|rate| rate > 0.0), "{test}: {table}");
        }
    }
    let ended = server.interrupt();
    assert!(ended.out.contains(" 0 errors;"), "{}", ended.out);
}

#[test]
fn redis_benchmark_finds_the_cores_of_a_cluster() {
    let server = Server::start(&["--cores", "0,1"]);
    let port = server.addresses[0].port().to_string();
    let arguments =
        ["-p", &port, "--cluster", "-n", "5000", "-r", "2000", "-t", "set,get", "-q", "-c", "20"];
    let Some(out) = run("redis-benchmark", &arguments) else { return };
    assert!(out.contains("Cluster has 2 master nodes"), "{out}");
    let ended = server.interrupt();
    let keys = |line: &str| !line.contains(" 0 keys") && line.contains(" 0 errors;");
    assert!(ended.out.lines().count() == 2 && ended.out.lines().all(keys), "{}", ended.out);
}

#[test]
fn redis_cli_talks_to_one_core_and_follows_to_the_other() {
    let server = Server::start(&["--cores", "0,1"]);
    let port = server.addresses[0].port().to_string();
    let ask = |words: &[&str]| run("redis-cli", &[&["-c", "-p", port.as_str()], words].concat());
    for key in ["foo", "bar", "hello", "a key"] {
        let Some(stored) = ask(&["SET", key, "some value"]) else { return };
        assert_eq!(stored.trim(), "OK");
        assert_eq!(ask(&["GET", key]).as_deref().map(str::trim), Some("some value"), "{key}");
    }
    let slots = ask(&["CLUSTER", "SLOTS"]).expect("it is installed");
    assert!(slots.contains("8191") && slots.contains("16383"), "{slots}");
    assert!(ask(&["INFO"]).expect("it is installed").contains("redis_mode:cluster"));
}
