//! Runs a renderer's program within limits: a cleared environment, a private home, a time limit, bounds on output and memory.
//!
//! Takes a [`Call`]; hands on what the program wrote, or a [`ProgramError`]. Nothing that a program starts outlives its time.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::calls::Calls;
use super::charts::access::Access;
use super::leftovers::{Group, end_group};
use super::scratch::Scratch;

/// The shell that sets limits. Where there is none, memory is not bounded.
const SHELL: &str = "/bin/sh";
/// How long a program that has closed its output may take to end.
const POLL: Duration = Duration::from_millis(2);
/// How long a program may take to say its version.
const VERSION_TIME: Duration = Duration::from_secs(10);
/// Bytes of standard error that are kept.
const MAX_ERROR_BYTES: u64 = 1 << 20;

/// The programs that render.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Programs {
    helm: Option<PathBuf>,
    kustomize: Option<PathBuf>,
    kubectl: Option<PathBuf>,
    presync: Option<PathBuf>,
    helm_access: Access,
    calls: Calls,
}

/// How Kustomize is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KustomizeProgram<'a> {
    /// `kustomize build`.
    Kustomize(&'a Path),
    /// `kubectl kustomize`.
    Kubectl(&'a Path),
}

impl Programs {
    /// The programs that `PRESYNC_HELM`, `PRESYNC_KUSTOMIZE` and `PRESYNC_KUBECTL` name, else those found through `PATH`, and the user's
    /// configuration of helm.
    pub fn from_environment() -> Self {
        let find = |variable: &str, name: &str| match std::env::var_os(variable).filter(|path| !path.is_empty()) {
            Some(path) => Some(PathBuf::from(path)).filter(|path| is_program(path)),
            None => in_path(name),
        };
        Self {
            helm: find("PRESYNC_HELM", "helm"),
            kustomize: find("PRESYNC_KUSTOMIZE", "kustomize"),
            kubectl: find("PRESYNC_KUBECTL", "kubectl"),
            presync: None,
            helm_access: Access::from_environment(),
            calls: Calls::default(),
        }
    }

    /// The programs that lie in a folder, and none besides.
    pub fn in_folder(folder: &Path) -> Self {
        let find = |name: &str| Some(program_in(folder, name)).filter(|path| is_program(path));
        Self { helm: find("helm"), kustomize: find("kustomize"), kubectl: find("kubectl"), ..Self::default() }
    }

    /// The same with these programs, each a name to be looked up in `PATH` or an absolute path. What the environment names wins.
    #[must_use]
    pub fn named(self, helm: Option<&str>, kustomize: Option<&str>, kubectl: Option<&str>) -> Self {
        let find = |variable: &str, name: Option<&str>, else_this: Option<PathBuf>| match name {
            Some(name) if std::env::var_os(variable).is_none_or(|path| path.is_empty()) => in_path(name),
            _ => else_this,
        };
        Self {
            helm: find("PRESYNC_HELM", helm, self.helm),
            kustomize: find("PRESYNC_KUSTOMIZE", kustomize, self.kustomize),
            kubectl: find("PRESYNC_KUBECTL", kubectl, self.kubectl),
            ..self
        }
    }

    /// The same with presync itself at this path: what may take too much runs in a process of its own.
    #[must_use]
    pub fn with_presync(self, presync: PathBuf) -> Self {
        Self { presync: Some(presync), ..self }
    }

    /// The same, with what is run noted here.
    #[must_use]
    pub fn noted(self, calls: Calls) -> Self {
        Self { calls, ..self }
    }

    /// Where it is noted what is run.
    pub fn calls(&self) -> &Calls {
        &self.calls
    }

    /// The user's configuration of helm; empty where programs were not looked for in the environment.
    pub fn helm_access(&self) -> &Access {
        &self.helm_access
    }

    /// presync itself.
    pub fn presync(&self) -> Option<&Path> {
        self.presync.as_deref()
    }

    /// Helm.
    ///
    /// # Errors
    /// When it is not installed.
    pub fn helm(&self) -> Result<&Path, MissingProgram> {
        self.helm.as_deref().ok_or(MissingProgram::Helm)
    }

    /// Kustomize, or kubectl where that is what there is.
    ///
    /// # Errors
    /// When neither is installed.
    pub fn kustomize(&self) -> Result<KustomizeProgram<'_>, MissingProgram> {
        let own = self.kustomize.as_deref().map(KustomizeProgram::Kustomize);
        own.or_else(|| self.kubectl.as_deref().map(KustomizeProgram::Kubectl)).ok_or(MissingProgram::Kustomize)
    }
}

/// A program by its name or absolute path.
fn in_path(name: &str) -> Option<PathBuf> {
    if Path::new(name).is_absolute() {
        return Some(PathBuf::from(name)).filter(|path| is_program(path));
    }
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| program_in(&folder, name)).find(|path| is_program(path))
}

fn program_in(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// A program that is not installed. The message says what to install.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MissingProgram {
    /// Helm.
    #[error("helm is not installed; install Helm 3 or 4 (https://helm.sh/docs/intro/install), or name it with PRESYNC_HELM")]
    Helm,
    /// Neither Kustomize nor kubectl.
    #[error(
        "neither kustomize nor kubectl is installed; install Kustomize (https://kubectl.docs.kubernetes.io/installation/kustomize), or name one \
         with PRESYNC_KUSTOMIZE or PRESYNC_KUBECTL"
    )]
    Kustomize,
}

/// Variables that a program with network access gets from the user: proxies and certificate authorities.
const NETWORK_VARIABLES: [&str; 9] =
    ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO"];

/// The variables of the user's environment that a program needs for the network, and one that keeps Git from asking for passwords.
pub fn network_environment() -> Vec<(OsString, OsString)> {
    let inherited = NETWORK_VARIABLES.iter().filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)));
    // Without `file` Git clones nothing that lies on this machine.
    let git = [("GIT_TERMINAL_PROMPT", "0"), ("GIT_ALLOW_PROTOCOL", "http:https:ssh:git")];
    inherited.chain(git.map(|(name, value)| (name.into(), value.into()))).collect()
}

/// The versions of programs, each asked for once a run.
#[derive(Default)]
pub struct Versions {
    known: Mutex<HashMap<PathBuf, Arc<OnceLock<Option<String>>>>>,
}

impl Versions {
    /// What a program says when it is asked for its version, and its size, which tells builds of one version apart; `None` where it does
    /// not say.
    pub fn of(&self, program: &Path, arguments: &[&str], scratch: &Scratch) -> Option<String> {
        let cell = Arc::clone(self.known.lock().unwrap_or_else(PoisonError::into_inner).entry(program.to_owned()).or_default());
        cell.get_or_init(|| {
            let home = scratch.home().ok()?;
            let call = Call {
                program,
                arguments: arguments.iter().map(OsString::from).collect(),
                directory: home.path(),
                home: home.path(),
                environment: Vec::new(),
                limits: Limits { time: VERSION_TIME, ..Limits::default() },
            };
            let said = String::from_utf8(call.run().ok()?.stdout).ok().filter(|said| !said.trim().is_empty())?;
            Some(format!("{said} {}", fs::metadata(program).ok()?.len()))
        })
        .clone()
    }
}

/// How much a program may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From start to end.
    pub time: Duration,
    /// Bytes of standard output.
    pub output: u64,
    /// Bytes of address space of each process.
    pub memory: u64,
    /// Where it is noted what was run.
    pub calls: Calls,
}

impl Default for Limits {
    /// The time is Argo CD's own (`ARGOCD_EXEC_TIMEOUT`).
    fn default() -> Self {
        Self { time: Duration::from_secs(90), output: 256 << 20, memory: 8 << 30, calls: Calls::default() }
    }
}

/// One run of a program.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// The program.
    pub program: &'a Path,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Its working directory.
    pub directory: &'a Path,
    /// Its home and the place for its temporary files: a folder that nothing else is in.
    pub home: &'a Path,
    /// Variables besides `PATH`, `HOME` and `TMPDIR`.
    pub environment: Vec<(OsString, OsString)>,
    /// How much it may take.
    pub limits: Limits,
}

/// What a program wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: String,
}

/// Why a program gave no result.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// It cannot be started.
    #[error("{program} cannot be started: {source}")]
    Start {
        /// Its name.
        program: String,
        /// What the operating system says.
        source: io::Error,
    },
    /// It ended with an error.
    #[error("{program} failed: {}", .stderr.trim())]
    Failed {
        /// Its name.
        program: String,
        /// How it ended, for example `exit status: 1`.
        status: String,
        /// What it said.
        stderr: String,
    },
    /// It took too long.
    #[error("{program} did not end within {} seconds and was stopped", .limit.as_secs())]
    TimedOut {
        /// Its name.
        program: String,
        /// How long it might take.
        limit: Duration,
    },
    /// It wrote too much.
    #[error("{program} wrote more than {limit} bytes and was stopped")]
    TooMuchOutput {
        /// Its name.
        program: String,
        /// How much it might write.
        limit: u64,
    },
}

impl ProgramError {
    /// Why a failure says nothing about what Argo CD comes to: a bound of this machine, or a program that does not start. `None` where the
    /// program itself refused its input.
    pub fn bound(&self) -> Option<String> {
        match self {
            Self::Failed { program, stderr, .. } => {
                // As Go's runtime says it.
                let is_memory = ["runtime: out of memory", "cannot allocate memory"].iter().any(|sign| stderr.contains(sign));
                is_memory.then(|| format!("{program} took more memory than it may have"))
            }
            other => Some(other.to_string()),
        }
    }
}

/// What comes from the threads that read.
enum Piece {
    Stdout(Option<Vec<u8>>),
    Stderr(Vec<u8>),
}

impl Call<'_> {
    /// Runs the program to its end.
    ///
    /// # Errors
    /// When it cannot be started, fails, takes too long or writes too much.
    pub fn run(&self) -> Result<Output, ProgramError> {
        let started = Instant::now();
        let result = self.run_to_its_end();
        self.limits.calls.note(self.program, &self.arguments, started.elapsed(), result.is_ok());
        result
    }

    fn run_to_its_end(&self) -> Result<Output, ProgramError> {
        let name = self.program.file_stem().unwrap_or(self.program.as_os_str()).to_string_lossy().into_owned();
        let start = |source| ProgramError::Start { program: name.clone(), source };
        let mut child = self.command().spawn().map_err(start)?;
        let _group = Group::of(child.id());
        let (sender, receiver) = mpsc::channel();
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            end(&mut child);
            return Err(start(io::Error::other("its output is not connected")));
        };
        let limit = self.limits.output;
        let to_main = sender.clone();
        thread::spawn(move || to_main.send(Piece::Stdout(read(stdout, limit))));
        thread::spawn(move || sender.send(Piece::Stderr(read_start(stderr, MAX_ERROR_BYTES))));
        let (status, stdout, stderr) = self.collect(&mut child, &receiver, &name).inspect_err(|_| end(&mut child))?;
        let stderr = String::from_utf8_lossy(&stderr).into_owned();
        if status.success() {
            return Ok(Output { stdout, stderr });
        }
        Err(ProgramError::Failed { program: name, status: status.to_string(), stderr })
    }

    fn collect(
        &self,
        child: &mut Child,
        receiver: &mpsc::Receiver<Piece>,
        name: &str,
    ) -> Result<(ExitStatus, Vec<u8>, Vec<u8>), ProgramError> {
        let deadline = Instant::now() + self.limits.time;
        let timed_out = || ProgramError::TimedOut { program: name.to_owned(), limit: self.limits.time };
        let (mut stdout, mut stderr) = (None, None);
        while stdout.is_none() || stderr.is_none() {
            match receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(Piece::Stdout(Some(bytes))) => stdout = Some(bytes),
                Ok(Piece::Stdout(None)) => return Err(ProgramError::TooMuchOutput { program: name.to_owned(), limit: self.limits.output }),
                Ok(Piece::Stderr(bytes)) => stderr = Some(bytes),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Err(timed_out()),
            }
        }
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Ok((status, stdout.unwrap_or_default(), stderr.unwrap_or_default())),
                Ok(None) if Instant::now() >= deadline => return Err(timed_out()),
                Ok(None) => thread::sleep(POLL),
                Err(source) => return Err(ProgramError::Start { program: name.to_owned(), source }),
            }
        }
    }

    fn command(&self) -> Command {
        let shell = Path::new(SHELL);
        let mut command = if cfg!(target_os = "linux") && shell.is_file() {
            let mut command = Command::new(shell);
            let script = format!("ulimit -c 0; ulimit -v {}; exec \"$@\"", self.limits.memory / 1024);
            command.arg("-c").arg(script).arg("sh").arg(self.program);
            command
        } else {
            Command::new(self.program)
        };
        command.args(&self.arguments).current_dir(self.directory).env_clear();
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command.env("HOME", self.home).env("TMPDIR", self.home).envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command
    }
}

/// Everything, or nothing where there is more than the limit.
fn read(from: impl Read, limit: u64) -> Option<Vec<u8>> {
    let bytes = read_start(from, limit.saturating_add(1));
    (bytes.len() as u64 <= limit).then_some(bytes)
}

/// The first bytes. What follows is left unread where the limit is reached.
fn read_start(from: impl Read, limit: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A pipe that breaks ends the output like any other end.
    let _ = from.take(limit).read_to_end(&mut bytes);
    bytes
}

/// Ends a program and all that it started. The program has not been waited for, so that its number is still its own.
fn end(child: &mut Child) {
    end_group(child.id());
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn shell(script: &str, limits: Limits) -> Result<Output, ProgramError> {
        let home = tempfile::tempdir().unwrap();
        let call = Call {
            program: Path::new(SHELL),
            arguments: vec!["-c".into(), script.into()],
            directory: home.path(),
            home: home.path(),
            environment: vec![("GIVEN".into(), "yes".into())],
            limits,
        };
        call.run()
    }

    #[test]
    fn a_program_sees_only_the_variables_it_is_given() {
        let output = shell("echo \"$GIVEN $CARGO_MANIFEST_DIR $HOME $TMPDIR\"; echo warning >&2", Limits::default()).unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let words: Vec<&str> = text.split_whitespace().collect();
        assert_eq!((words.len(), words[0], words[1]), (3, "yes", words[2]), "{text}");
        assert_eq!(output.stderr, "warning\n");
    }

    #[test]
    fn a_failure_carries_what_the_program_said() {
        let error = shell("echo no such chart >&2; exit 3", Limits::default()).unwrap_err();
        assert_eq!(error.to_string(), "sh failed: no such chart");
        assert!(matches!(error, ProgramError::Failed { status, .. } if status.contains('3')));
    }

    #[test]
    fn a_program_that_hangs_is_stopped_with_all_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("mark");
        let script = format!("(sleep 1; echo late > {}) & sleep 60", mark.display());
        let started = Instant::now();
        let error = shell(&script, Limits { time: Duration::from_millis(200), ..Limits::default() }).unwrap_err();
        assert!(matches!(error, ProgramError::TimedOut { .. }), "{error}");
        assert!(started.elapsed() < Duration::from_secs(30));
        thread::sleep(Duration::from_millis(1500));
        assert!(!mark.exists());
    }

    #[test]
    fn a_program_that_writes_without_end_is_stopped() {
        let error = shell("while :; do echo more; done", Limits { output: 10_000, ..Limits::default() }).unwrap_err();
        assert!(matches!(error, ProgramError::TooMuchOutput { limit: 10_000, .. }), "{error}");
    }

    #[test]
    fn a_program_without_end_on_standard_error_is_stopped_too() {
        let limits = Limits { time: Duration::from_millis(500), ..Limits::default() };
        assert!(shell("while :; do echo more >&2; done", limits).is_err());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn memory_is_bounded() {
        let limits = Limits { memory: 64 << 20, ..Limits::default() };
        let output = shell("ulimit -v", limits).unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), "65536");
    }

    #[test]
    fn bounds_of_this_machine_are_told_from_what_the_program_refuses() {
        let failed = |script: &str| shell(script, Limits::default()).unwrap_err().bound();
        assert_eq!(failed("echo 'Error: no chart' >&2; exit 1"), None);
        let told = failed("echo 'fatal error: runtime: out of memory' >&2; echo 'goroutine 1 [running]:' >&2; exit 2").unwrap();
        assert!(told.ends_with("took more memory than it may have"), "{told}");
        let slow = shell("sleep 60", Limits { time: Duration::from_millis(50), ..Limits::default() }).unwrap_err();
        assert!(slow.bound().unwrap().contains("was stopped"), "{slow}");
    }

    #[test]
    fn a_missing_program_says_what_to_install() {
        let folder = tempfile::tempdir().unwrap();
        let programs = Programs::in_folder(folder.path());
        assert!(programs.helm().unwrap_err().to_string().contains("install Helm 3 or 4"));
        assert!(programs.kustomize().unwrap_err().to_string().contains("PRESYNC_KUBECTL"));
    }

    #[test]
    fn kubectl_stands_in_for_kustomize_only_where_there_is_none() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let install = |name: &str| {
            let path = folder.path().join(name);
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        };
        install("kubectl");
        assert!(matches!(Programs::in_folder(folder.path()).kustomize(), Ok(KustomizeProgram::Kubectl(_))));
        install("kustomize");
        assert!(matches!(Programs::in_folder(folder.path()).kustomize(), Ok(KustomizeProgram::Kustomize(_))));
    }
}
