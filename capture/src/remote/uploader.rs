//! The thread that brings sealed files up.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::watch;

use super::pending::Spool;
use super::{Remote, RemoteError, chain_of};

/// Time between two looks at the disk.
const LOOK: Duration = Duration::from_secs(5);

/// The first pause after a failure; each further one is twice as long.
const PAUSE_MIN: Duration = Duration::from_secs(1);

/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(300);

/// What is brought up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploaderSettings {
    /// The capture's folder.
    pub folder: PathBuf,
    /// Whose files.
    pub pod: String,
    /// What becomes of a file that is up.
    pub after: AfterUpload,
}

/// What becomes of a file that is up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AfterUpload {
    /// It is deleted here.
    #[default]
    Delete,
    /// It stays until retention takes it.
    Keep,
}

/// Where uploading stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uploads {
    /// Files that went up since the start.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Tries that failed.
    pub failed: u64,
    /// Files on disk that are not up.
    pub pending_files: u64,
    /// Their bytes.
    pub pending_bytes: u64,
    /// Why the last try failed; `None` once one has gone well.
    pub error: Option<String>,
}

/// The thread. Dropping it lets it go on until its next pause.
#[derive(Debug)]
pub struct Uploader {
    shared: Arc<Mutex<Uploads>>,
    /// How long it may still take, once it is to end.
    ending: watch::Sender<Option<Duration>>,
    thread: JoinHandle<()>,
}

/// What the thread works with.
struct Work {
    remote: Remote,
    spool: Spool,
    after: AfterUpload,
    shared: Arc<Mutex<Uploads>>,
}

// ---- Uploader

impl Uploader {
    /// Begins with what is on disk already.
    ///
    /// # Errors
    /// The folder can't be read, or no thread can be started.
    pub fn start(remote: Remote, settings: &UploaderSettings) -> Result<Self, RemoteError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(RemoteError::Start)?;
        let shared = Arc::new(Mutex::new(Uploads::default()));
        let mut work = Work {
            remote,
            spool: Spool::new(&settings.folder, &settings.pod)?,
            after: settings.after,
            shared: Arc::clone(&shared),
        };
        work.count_pending()?;
        let (ending, ended) = watch::channel(None);
        let thread = std::thread::Builder::new()
            .name("uploader".to_owned())
            .spawn(move || runtime.block_on(run(&mut work, ended)))
            .map_err(RemoteError::Start)?;
        Ok(Self {
            shared,
            ending,
            thread,
        })
    }

    /// Where it stands.
    pub fn status(&self) -> Uploads {
        self.shared
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Ends it after one more look at the disk, or after `patience`. What is not up by then goes up after the next start.
    pub fn finish(self, patience: Duration) -> Uploads {
        self.ending.send_replace(Some(patience));
        // A thread that panicked has nothing more to say.
        let _ = self.thread.join();
        self.shared
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

async fn run(work: &mut Work, ended: watch::Receiver<Option<Duration>>) {
    let limit = async {
        let mut ended = ended.clone();
        let patience = match ended.wait_for(Option::is_some).await {
            Ok(patience) => patience.unwrap_or_default(),
            // Dropped: the pass that is under way is finished, and no other.
            Err(_) => PAUSE_MAX,
        };
        tokio::time::sleep(patience).await;
    };
    tokio::select! {
        () = look_and_send(work, ended.clone()) => {}
        () = limit => {}
    }
}

/// Until a look that began after the end was asked for is through.
async fn look_and_send(work: &mut Work, mut ended: watch::Receiver<Option<Duration>>) {
    let mut pause = PAUSE_MIN;
    loop {
        let is_last = ended.borrow().is_some() || ended.has_changed().is_err();
        let went_well = work.pass().await;
        if is_last {
            return;
        }
        let now = if went_well { LOOK } else { pause };
        pause = if went_well {
            PAUSE_MIN
        } else {
            (pause * 2).min(PAUSE_MAX)
        };
        // Asked to end, or dropped: one more look at once.
        let _ = tokio::time::timeout(now, ended.wait_for(Option::is_some)).await;
    }
}

// ---- Work

impl Work {
    /// Sends what waits, up to the first failure; whether there was none.
    async fn pass(&mut self) -> bool {
        let result = self.send_all().await;
        // The disk is looked at again for the figures alone; the error of this pass is the one that tells.
        let counted = self.count_pending();
        let error = result.and(counted).err();
        self.note(|uploads| {
            uploads.failed += u64::from(error.is_some());
            uploads.error = error.as_ref().map(|error| chain_of(error));
        });
        error.is_none()
    }

    async fn send_all(&mut self) -> Result<(), RemoteError> {
        for file in self.spool.waiting()? {
            match self.remote.put(&file).await {
                // Retention was faster.
                Err(RemoteError::File { source, .. })
                    if source.kind() == std::io::ErrorKind::NotFound =>
                {
                    continue;
                }
                sent => sent?,
            }
            match self.after {
                AfterUpload::Delete => Spool::delete(&file)?,
                AfterUpload::Keep => self.spool.keep(&file)?,
            }
            self.note(|uploads| {
                uploads.files += 1;
                uploads.bytes += file.bytes;
                uploads.pending_files = uploads.pending_files.saturating_sub(1);
                uploads.pending_bytes = uploads.pending_bytes.saturating_sub(file.bytes);
            });
        }
        Ok(())
    }

    fn count_pending(&mut self) -> Result<(), RemoteError> {
        let waiting = self.spool.waiting()?;
        self.note(|uploads| {
            uploads.pending_files = waiting.len() as u64;
            uploads.pending_bytes = waiting.iter().map(|file| file.bytes).sum();
        });
        Ok(())
    }

    fn note(&self, change: impl FnOnce(&mut Uploads)) {
        change(&mut self.shared.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
