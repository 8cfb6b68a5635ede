//! Keys of age: the public ones that texts are encrypted to, and the private ones that open them.

use std::fmt;
use std::io::Write;
use std::path::Path;

use age::x25519;

use super::TextError;

/// Public keys. Whoever holds one of the private keys reads; who holds only these doesn't.
#[derive(Clone)]
pub struct Recipients(Vec<x25519::Recipient>);

/// Private keys, for reading. They come near a reader only, never near the process that captures.
pub struct Identities(Vec<x25519::Identity>);

// ---- Recipients

impl Recipients {
    /// Reads public keys, `age1…`.
    ///
    /// # Errors
    /// There is none, or one is anything else: a plugin's or an SSH key would run or need other code, and a private key
    /// would undo what encryption is for.
    pub fn parse<S: AsRef<str>>(keys: &[S]) -> Result<Self, TextError> {
        let recipients = keys
            .iter()
            .map(|key| recipient(key.as_ref().trim()))
            .collect::<Result<Vec<_>, _>>()?;
        if recipients.is_empty() {
            return Err(TextError::NoRecipient);
        }
        Ok(Self(recipients))
    }

    /// Encrypts what was written into a whole age file.
    pub(super) fn encrypt(&self, plain: &[u8]) -> Result<Vec<u8>, TextError> {
        let keys = self.0.iter().map(|key| key as &dyn age::Recipient);
        let encryptor = age::Encryptor::with_recipients(keys)
            .map_err(|error| TextError::Encrypt(std::io::Error::other(error)))?;
        let mut sealed = Vec::with_capacity(plain.len() + 1024);
        let mut writer = encryptor
            .wrap_output(&mut sealed)
            .map_err(TextError::Encrypt)?;
        writer.write_all(plain).map_err(TextError::Encrypt)?;
        writer.finish().map_err(TextError::Encrypt)?;
        Ok(sealed)
    }
}

fn recipient(key: &str) -> Result<x25519::Recipient, TextError> {
    if key.to_ascii_uppercase().contains("SECRET-KEY") {
        return Err(TextError::PrivateRecipient);
    }
    key.parse()
        .map_err(|_| TextError::Recipient(key.to_owned()))
}

impl fmt::Debug for Recipients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(ToString::to_string))
            .finish()
    }
}

// ---- Identities

impl Identities {
    /// Reads a file as `age-keygen` writes it: an identity a line, comments after `#`.
    ///
    /// # Errors
    /// It can't be read, or has no X25519 identity.
    pub fn from_file(path: &Path) -> Result<Self, TextError> {
        let text = std::fs::read_to_string(path).map_err(TextError::file("reading", path))?;
        let identities = Self::parse(&text);
        if identities.0.is_empty() {
            return Err(TextError::NoIdentity(path.to_owned()));
        }
        Ok(identities)
    }

    fn parse(text: &str) -> Self {
        let identities = text.lines().filter_map(|line| line.trim().parse().ok());
        Self(identities.collect())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &dyn age::Identity> {
        self.0.iter().map(|key| key as &dyn age::Identity)
    }
}

impl fmt::Debug for Identities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identities({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_x25519_keys_are_recipients() {
        let identity = x25519::Identity::generate();
        let public = identity.to_public().to_string();
        assert!(Recipients::parse(&[format!(" {public}\n")]).is_ok());
        let private = age::secrecy::ExposeSecret::expose_secret(&identity.to_string()).to_owned();
        let error = Recipients::parse(std::slice::from_ref(&private)).unwrap_err();
        assert!(matches!(error, TextError::PrivateRecipient));
        assert!(!error.to_string().contains(&private[20..]));
        // RUSTSEC-2024-0433: the name of a plugin is the name of a program.
        for key in [
            "age1yubikey1qwt50d05nh5vutpdzmlg5wn80xq5negm4uj9ghv0snvdd3yysf5yw3rhl3t",
            "age1../../bin/sh1qwt50d05nh5v",
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHsKLqeplhpW+uObz5dvMgjz1OxfM/XXUB+VHtZ6isGN",
            "age1",
            "",
        ] {
            let error = Recipients::parse(&[key]).unwrap_err();
            assert!(matches!(error, TextError::Recipient(_)), "{key}: {error}");
        }
        let none: [&str; 0] = [];
        assert!(matches!(
            Recipients::parse(&none),
            Err(TextError::NoRecipient)
        ));
    }
}
