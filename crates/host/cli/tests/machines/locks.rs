//! Can a lock that any user can take keep root's values from being put back, or a command from ending?

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, lchown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::on_machine::{OnMachine, STATE};

const OTHER_USER: u32 = 4321;
/// The flag of open of this name.
const O_NONBLOCK: i32 = 0o4000;

/// A machine that other users can look at; `None` without the right to be another user.
fn machine_of_root() -> Option<OnMachine> {
    let machine = OnMachine::new("skylake", &[]);
    fs::set_permissions(machine.path(), PermissionsExt::from_mode(0o755)).expect("its mode");
    let mine = machine.path().join("mine");
    fs::write(&mine, "").expect("a file");
    let may_give = lchown(&mine, Some(OTHER_USER), None).is_ok();
    fs::remove_file(&mine).expect("a file");
    if !may_give {
        eprintln!("skipped: without the right to give files to other users");
    }
    may_give.then_some(machine)
}

/// Whether this process may look at open files of other users. Containers have CAP_SYS_PTRACE only if asked.
fn has_sys_ptrace() -> bool {
    const SYS_PTRACE: u64 = 1 << 19;
    let status = fs::read_to_string("/proc/self/status").expect("its state");
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:")).expect("capabilities");
    u64::from_str_radix(set.trim(), 16).expect("a number") & SYS_PTRACE != 0
}

/// A program of a user that holds the lock of a file or directory until this value is dropped.
struct Held(Child);

impl Held {
    fn new(path: &Path, user: u32) -> Self {
        let mut command = Command::new("flock");
        command.arg(path).args(["sh", "-c", "echo held; read line"]).uid(user).gid(user);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut holding = command.spawn().expect("starts");
        let mut said = String::new();
        let out = holding.stdout.take().expect("is piped");
        BufReader::new(out).read_line(&mut said).expect("a line");
        assert_eq!(said, "held\n");
        Self(holding)
    }

    /// How messages name it.
    fn words(&self, user: u32) -> String {
        match user == 0 || has_sys_ptrace() {
            true => format!("process {} (flock) of user {user}", self.0.id()),
            false => format!("process {} took it and may have ended", self.0.id()),
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().expect("its end");
    }
}

const WAYS: [&str; 4] = ["tune", "ddio-ways", "4", "--apply"];
const MASK: [&str; 5] = ["tune", "cat", "web", "0x3", "--apply"];

#[test]
fn restore_puts_registers_back_names_who_holds_the_lock_and_ends() {
    let Some(machine) = machine_of_root() else { return };
    let before = machine.content();
    let resctrl = machine.path().join("sys/fs/resctrl");
    for changes in [[&WAYS[..], &MASK], [&MASK, &WAYS]] {
        for change in changes {
            assert_eq!(machine.run(change).code, Some(0));
        }
        let holding = Held::new(&resctrl, OTHER_USER);
        for arguments in [&["restore"][..], &["restore", "--wait=1ms"], &["restore", "--all"]] {
            let run = machine.run(arguments);
            assert_eq!(run.code, Some(3), "{}{}", run.out, run.err);
            assert!(run.err.contains(&holding.words(OTHER_USER)), "{}", run.err);
            assert!(!machine.path().join("registers.state").exists(), "a register is not put back");
        }
        // Commands that read take no lock.
        for command in [&["status"][..], &["doctor"], &["monitor", "--windows", "1"]] {
            assert_eq!(machine.run(command).code, Some(0), "{command:?}");
        }
        drop(holding);
        assert_eq!(machine.run(&["restore"]).code, Some(0));
        assert!(machine.content() == before);
    }
}

#[test]
fn what_is_held_for_a_while_is_put_back_up_to_what_the_lock_is_for() {
    let Some(machine) = machine_of_root() else { return };
    let before = machine.content();
    let resctrl = machine.path().join("sys/fs/resctrl");
    // The command of `run` has its program take the lock and stay behind.
    let taken = machine.path().join("run/taken");
    let lock = format!(
        "mkfifo {taken} {taken}.end; setpriv --reuid={OTHER_USER} --clear-groups flock {resctrl} \
         sh -c 'echo $PPID; timeout 60 cat {taken}.end' > {taken} 2>/dev/null & read process < {taken}; \
         chmod 666 {taken}.end",
        taken = taken.display(),
        resctrl = resctrl.display()
    );
    let settings = ["run", "--ddio-ways", "4", "--cat", "web=0x3", "--apply", "--", "sh", "-c"];
    for (ending, code, words) in [
        ("exit 0", Some(1), "what is left stays in the journal"),
        ("kill -KILL $PPID", None, "what is left stays in the journal"),
    ] {
        fs::create_dir_all(machine.path().join("run")).expect("a directory");
        let script = format!("exec 2>/dev/null; {lock}; {ending}");
        let run = machine.run(&[&settings[..], &[&script]].concat());
        assert_eq!(run.code, code, "{}{}", run.out, run.err);
        assert!(run.err.contains(words), "{}", run.err);
        let named = match has_sys_ptrace() {
            true => format!("(flock) of user {OTHER_USER}"),
            false => "took it and may have ended".to_owned(),
        };
        assert!(run.err.contains(&named), "{}", run.err);
        assert!(!machine.path().join("registers.state").exists(), "a register is not put back");
        // The lock of the machine is free as soon as the guard has ended, a moment after its last word.
        let mut again = machine.run(&["restore"]);
        for _ in 0..1000 {
            if !again.err.contains("another skipline-host is changing this machine") {
                break;
            }
            again = machine.run(&["restore"]);
        }
        assert!(again.err.contains("changing the groups of cache allocation"), "{}", again.err);
        // Without a reader, should the program have ended, the open fails and does not wait.
        let end =
            File::options().write(true).custom_flags(O_NONBLOCK).open(taken.with_extension("end"));
        drop(end.expect("a reader"));
        assert_eq!(machine.run(&["restore", "--wait=1m"]).code, Some(0));
        for name in ["taken", "taken.end"] {
            fs::remove_file(machine.path().join("run").join(name)).expect("a pipe");
        }
        assert!(machine.content() == before);
    }
}

#[test]
fn the_lock_file_of_an_earlier_version_keeps_nothing_from_being_set_and_put_back() {
    let Some(machine) = machine_of_root() else { return };
    let before = machine.content();
    fs::create_dir_all(machine.path().join("run")).expect("a directory");
    let lock = machine.path().join("run/skipline-host.lock");
    fs::write(&lock, "").expect("a file");
    fs::set_permissions(&lock, PermissionsExt::from_mode(0o666)).expect("its mode");
    let holding = Held::new(&lock, OTHER_USER);
    let commands: [&[&str]; 6] = [
        &WAYS,
        &["restore"],
        &["run", "--ddio-ways", "4", "--apply", "--", "true"],
        &["tune", "ddio-ways", "4", "--apply", "--for", "1ms"],
        &["steer", "--apply", "--windows", "1"],
        &["status"],
    ];
    for command in commands {
        let ended = machine.run(command);
        assert_eq!(ended.code, Some(0), "{command:?}: {}{}", ended.out, ended.err);
    }
    drop(holding);
    assert!(machine.content() == before);
    assert!(!machine.path().join(STATE).join("journal.json").exists());
}

#[test]
fn a_lock_of_root_is_waited_for_no_longer_than_asked_and_its_holder_is_named() {
    let Some(machine) = machine_of_root() else { return };
    assert_eq!(machine.run(&WAYS).code, Some(0));
    let before = machine.content();
    let holding = Held::new(&machine.lock_file(), 0);
    let commands: [&[&str]; 4] =
        [&WAYS, &["restore"], &["run", "--ddio-ways", "4", "--apply", "--", "true"], &MASK];
    for command in commands {
        for wait in [&[][..], &["--wait=1ms"]] {
            let run = machine.run(&[wait, command].concat());
            assert_eq!(run.code, Some(3), "{command:?}: {}", run.err);
            assert!(run.err.contains(&holding.words(0)), "{}", run.err);
        }
    }
    assert!(machine.content() == before);
    drop(holding);
    let run = machine.run(&["restore", "--wait=0s"]);
    assert_eq!(run.code, Some(2), "{}", run.err);
    assert_eq!(machine.run(&["restore", "--wait"]).code, Some(0));
}
