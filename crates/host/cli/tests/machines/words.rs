//! Does completion learn every command and option, and does no one else meet its command?

use crate::on_machine::{OnMachine, Run};

/// As `skipline host` asks: without any other argument.
fn run(arguments: &[&str]) -> Run {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_skipline-host"));
    let output = command.args(arguments).output().expect("the binary runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Run { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

/// Compares the words of a command with its definition, and those below it.
fn check(words: &serde_json::Value, command: &clap::Command) {
    let names = |key: &str| -> Vec<String> {
        let list = words[key].as_array().expect("a list").iter();
        list.map(|one| one["name"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(words["name"], command.get_name());
    let shown = command.get_arguments().filter(|option| !option.is_hide_set());
    let options = shown.filter_map(clap::Arg::get_long);
    let options: Vec<String> = options.map(|name| format!("--{name}")).collect();
    assert_eq!(names("options"), options, "{}", command.get_name());
    let below: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    assert_eq!(names("commands"), below);
    for (words, command) in
        words["commands"].as_array().expect("a list").iter().zip(command.get_subcommands())
    {
        check(words, command);
    }
}

#[test]
fn every_command_and_option_is_told() {
    let told = run(&["__words"]);
    assert_eq!((told.code, told.err.as_str()), (Some(0), ""));
    let words: serde_json::Value = serde_json::from_str(&told.out).expect("one JSON object");
    assert_eq!(words["schema_version"], 1);
    let mut command = skipline_host::command();
    command.build();
    check(&words, &command);
    let tune = words["commands"].as_array().expect("a list").iter();
    let tune = tune.clone().find(|command| command["name"] == "tune").expect("tune");
    let ddio = tune["commands"].as_array().expect("a list").iter();
    let ddio = ddio.clone().find(|command| command["name"] == "ddio").expect("tune ddio");
    assert_eq!(ddio["values"], serde_json::json!(["on", "off"]));
}

#[test]
fn the_command_of_completion_is_neither_listed_nor_guessed() {
    let machine = OnMachine::new("skylake", &[]);
    for (arguments, code) in [
        (["help"].as_slice(), 0),
        (&["--help"], 0),
        (&["help", "__words"], 2),
        (&["words"], 2),
        (&["__wrods"], 2),
        (&["__words", "--help"], 2),
    ] {
        let run = machine.run(arguments);
        assert_eq!(run.code, Some(code), "{arguments:?}: {}{}", run.out, run.err);
        let guessed = run.err.contains("similar subcommand exists") || run.err.contains("tip:");
        assert!(!run.out.contains("words") && !guessed, "{arguments:?}: {}{}", run.out, run.err);
    }
}
