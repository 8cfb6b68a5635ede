//! What is served with as files change, and what is said of files that can't be.

#[path = "../../../tests/support/certificates.rs"]
#[expect(dead_code, reason = "it is shared with other tests")]
mod certificates;

use super::*;
use crate::tls::date;
use certificates::{Authority, Signed};
use rustls::version::TLS13;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;
use tokio::io::duplex;
use tokio_rustls::TlsConnector;

/// Files in a folder of their own.
struct Files {
    folder: TempDir,
    authority: Authority,
}

impl Files {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            authority: Authority::new("house"),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, signed: &Signed) -> Tls {
        let (certificate, key) = signed.write(self.folder.path());
        Tls {
            certificate,
            key,
            client_ca: None,
        }
    }

    fn fault(&self, files: &Tls) -> (&'static str, String) {
        let fault = Serving::load(files, date()).err().unwrap();
        let wrong = fault.wrong;
        let folder = format!("{}/", self.folder.path().display());
        (fault.key, wrong.replace(&folder, ""))
    }
}

/// Whether a client that asks for `name` is served.
async fn serves(serving: &Serving, authority: &Authority, name: &'static str) -> bool {
    let (client, server) = duplex(64 * 1024);
    let connector = TlsConnector::from(Arc::new(authority.client(&[&TLS13], None)));
    let name = name.try_into().unwrap();
    let (client, _) = tokio::join!(
        connector.connect(name, client),
        serving.acceptor().accept(server)
    );
    client.is_ok()
}

#[tokio::test]
async fn fault_79_new_files_are_served_with_and_faulty_ones_are_told_once() {
    let files = Files::new();
    let authority = &files.authority;
    let tls = files.write(&authority.sign("old.test"));
    let serving = Serving::load(&tls, date()).unwrap();
    assert_eq!(serving.look(date()).await, Look::Same);

    // A key that comes before its certificate.
    let new = authority.sign("new.test");
    fs::write(&tls.key, &new.key).unwrap();
    let Look::Refused(fault) = serving.look(date()).await else {
        panic!("a key of another certificate was taken");
    };
    assert_eq!(fault.key, "tls.key");
    assert!(
        fault.wrong.contains("not that of the certificate"),
        "{fault}"
    );
    assert_eq!(serving.look(date()).await, Look::Same, "told once");
    assert!(serves(&serving, authority, "old.test").await);

    fs::write(&tls.certificate, &new.certificate).unwrap();
    assert_eq!(serving.look(date()).await, Look::Replaced);
    assert!(serves(&serving, authority, "new.test").await);
    assert!(!serves(&serving, authority, "old.test").await);
}

#[tokio::test]
async fn fault_79_an_expired_certificate_and_files_that_are_gone_leave_the_old_one() {
    let files = Files::new();
    let good = files.authority.sign("front.test");
    let tls = files.write(&good);
    let serving = Serving::load(&tls, date()).unwrap();

    files.write(&files.authority.sign_for("front.test", 2020, 2021));
    let Look::Refused(fault) = serving.look(date()).await else {
        panic!("an expired certificate was taken");
    };
    assert_eq!(fault.key, "tls.certificate");
    assert!(fault.wrong.contains("not in its time"), "{fault}");

    fs::remove_file(&tls.certificate).unwrap();
    let Look::Refused(fault) = serving.look(date()).await else {
        panic!("a file that is gone was taken");
    };
    assert!(fault.wrong.contains("cannot be read"), "{fault}");
    assert_eq!(serving.look(date()).await, Look::Same, "told once");
    assert!(serves(&serving, &files.authority, "front.test").await);

    files.write(&good);
    assert_eq!(serving.look(date()).await, Look::Replaced);
}

#[test]
fn faulty_files_at_the_start_are_told_by_key_and_file() {
    let files = Files::new();
    let authority = &files.authority;
    let signed = authority.sign("front.test");
    let good = files.write(&signed);
    let with = |change: &dyn Fn(&mut Tls)| {
        let mut tls = good.clone();
        change(&mut tls);
        files.fault(&tls)
    };
    let odd = files.path("odd.pem");
    fs::write(&odd, "nothing").unwrap();
    let cut = files.path("cut.pem");
    fs::write(&cut, &signed.certificate[..200]).unwrap();
    let gone = files.path("gone.pem");
    for (said, key, wrong) in [
        (
            with(&|tls| tls.certificate.clone_from(&gone)),
            "tls.certificate",
            "gone.pem cannot be read: No such file",
        ),
        (
            with(&|tls| tls.certificate.clone_from(&odd)),
            "tls.certificate",
            "odd.pem holds no certificate",
        ),
        (
            with(&|tls| tls.certificate.clone_from(&cut)),
            "tls.certificate",
            "cut.pem is not readable as PEM",
        ),
        (
            with(&|tls| tls.key.clone_from(&good.certificate)),
            "tls.key",
            "tls.crt holds no private key",
        ),
        (
            with(&|tls| tls.client_ca = Some(odd.clone())),
            "tls.client_ca",
            "odd.pem holds no certificate",
        ),
    ] {
        assert_eq!(said.0, key, "{said:?}");
        assert!(said.1.starts_with(wrong), "{said:?} is not {wrong}");
    }
    let early = files.write(&authority.sign_for("front.test", 2090, 2100));
    let (key, wrong) = files.fault(&early);
    assert_eq!(key, "tls.certificate");
    assert!(wrong.contains("not in its time"), "{wrong}");
}
