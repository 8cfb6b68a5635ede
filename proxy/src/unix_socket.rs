//! A Unix socket of ours: only its owner may connect, one process has it, and it is removed at the end.
//!
//! A process that was killed leaves its socket behind. Whether one that is found is such a leftover can't be told by
//! connecting alone: of two processes that start at once, the later could remove what the earlier has just bound. So the
//! right to the path is a lock on a file beside it, `PATH.lock`, which the kernel gives back however its holder ends; the
//! file itself stays, since removing it would let two hold "the" lock. Another program's socket knows no lock: one that
//! answers is left alone too, and so is a file that is no socket.

use crate::listening::BACKLOG;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net;
use std::path::{Path, PathBuf};
use tokio::net::{UnixListener, UnixStream};

/// Read and write for the owner, which is what connecting needs.
const MODE: u32 = 0o600;

/// A Unix socket that is bound; dropping it removes it.
#[derive(Debug)]
pub(crate) struct UnixSocket {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode, so that nobody else's socket is removed.
    file: (u64, u64),
    /// Held until after the removal: fields are dropped after [`Drop::drop`].
    _lock: File,
}

impl UnixSocket {
    /// Binds `path`, after removing what a process has left there that is no more.
    pub(crate) fn bind(path: &Path) -> io::Result<Self> {
        let lock = lock(path)?;
        remove_leftover(path)?;
        let socket = socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        socket.bind(&socket2::SockAddr::unix(path)?)?;
        // Nobody can connect before `listen`, so nobody can while the mode is still what the umask left.
        fs::set_permissions(path, Permissions::from_mode(MODE))?;
        socket.listen(BACKLOG)?;
        Ok(Self {
            listener: UnixListener::from_std(socket.into())?,
            path: path.to_owned(),
            file: identity(path)?,
            _lock: lock,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) async fn accept(&self) -> io::Result<UnixStream> {
        self.listener.accept().await.map(|(stream, _)| stream)
    }
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|file| file == self.file)
            && let Err(error) = fs::remove_file(&self.path)
        {
            tracing::warn!(%error, path = %self.path.display(), "cannot remove our socket");
        }
    }
}

/// The right to the path, until it is dropped.
fn lock(path: &Path) -> io::Result<File> {
    let mut name = OsString::from(path);
    name.push(".lock");
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(MODE)
        .open(&name)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(in_use("another loadproof listens there")),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn remove_leftover(path: &Path) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !found.file_type().is_socket() {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "what is there is no socket; remove it, or give another path",
        ));
    }
    match net::UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) => Err(error),
        Ok(_) => Err(in_use("another process listens there")),
    }
}

fn in_use(by: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::AddrInUse,
        format!("{by}; stop it, or give another path"),
    )
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|file| (file.dev(), file.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    fn refusal(path: &Path) -> String {
        UnixSocket::bind(path).unwrap_err().to_string()
    }

    #[tokio::test]
    async fn fault_80_only_the_owner_may_connect_and_nothing_but_the_lock_stays() {
        let folder = folder();
        let path = folder.path().join("data.sock");
        let socket = UnixSocket::bind(&path).unwrap();
        let mode = fs::symlink_metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        UnixStream::connect(&path).await.unwrap();
        drop(socket);
        assert!(!path.exists());
        drop(UnixSocket::bind(&path).unwrap());
    }

    #[tokio::test]
    async fn fault_80_a_socket_of_a_process_that_was_killed_is_replaced() {
        let folder = folder();
        let path = folder.path().join("data.sock");
        drop(net::UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "nobody removes it");
        let _socket = UnixSocket::bind(&path).unwrap();
        UnixStream::connect(&path).await.unwrap();
    }

    #[tokio::test]
    async fn fault_80_what_is_in_use_or_is_no_socket_is_left_alone() {
        let folder = folder();
        let ours = folder.path().join("ours.sock");
        let socket = UnixSocket::bind(&ours).unwrap();
        assert!(refusal(&ours).starts_with("another loadproof"));
        drop(socket);
        let theirs = folder.path().join("theirs.sock");
        let listener = net::UnixListener::bind(&theirs).unwrap();
        assert!(refusal(&theirs).starts_with("another process"));
        net::UnixStream::connect(&theirs).unwrap();
        drop(listener);
        let file = folder.path().join("file");
        fs::write(&file, "precious").unwrap();
        assert!(refusal(&file).contains("is no socket"));
        assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
    }

    #[tokio::test]
    async fn a_socket_that_took_our_place_is_not_removed() {
        let folder = folder();
        let path = folder.path().join("data.sock");
        let socket = UnixSocket::bind(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let _other = net::UnixListener::bind(&path).unwrap();
        drop(socket);
        assert!(path.exists());
    }

    #[tokio::test]
    async fn fault_80_of_many_that_start_at_once_over_a_leftover_one_has_the_path() {
        let folder = folder();
        let path = folder.path().join("data.sock");
        drop(net::UnixListener::bind(&path).unwrap());
        let (starts, runtime) = (Barrier::new(8), tokio::runtime::Handle::current());
        let sockets: Vec<_> = std::thread::scope(|scope| {
            let bind = || {
                let _in = runtime.enter();
                starts.wait();
                UnixSocket::bind(&path)
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(bind)).collect();
            threads.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert_eq!(sockets.iter().filter(|socket| socket.is_ok()).count(), 1);
        UnixStream::connect(&path).await.unwrap();
    }
}
