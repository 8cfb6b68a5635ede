//! What a file holds: which form it has, and the answers in it, as reads of their bodies.

use crate::head::Head;
use crate::{Error, Form, Options, chunked, har, head, timed};
use measure::{End, Nanos};

/// A file, taken apart.
#[derive(Debug)]
pub(crate) struct Recording {
    pub(crate) form: Form,
    pub(crate) answers: Vec<Recorded>,
    /// What is said of the file as a whole.
    pub(crate) notes: Vec<String>,
}

/// One answer.
#[derive(Debug)]
pub(crate) struct Recorded {
    /// Which entry of the file it is.
    pub(crate) entry: Option<usize>,
    /// Path of the request, if recorded.
    pub(crate) path: Option<String>,
    pub(crate) head: Head,
    /// When the head came, if recorded.
    pub(crate) head_at: Option<Nanos>,
    pub(crate) reads: Vec<Read>,
    pub(crate) end: End,
    /// When it ended, if recorded. With it, every read has a time.
    pub(crate) end_at: Option<Nanos>,
    /// Body of the request, if recorded.
    pub(crate) request: Option<Vec<u8>>,
    /// What was assumed.
    pub(crate) notes: Vec<String>,
}

/// Bytes of a body that came together.
#[derive(Debug)]
pub(crate) struct Read {
    /// Since the request was sent; 0 if the recording has no times.
    pub(crate) at: Nanos,
    pub(crate) bytes: Vec<u8>,
}

/// Takes a file apart.
pub(crate) fn read(bytes: &[u8], options: &Options<'_>) -> Result<Recording, Error> {
    if bytes.is_empty() {
        return Err(Error::Empty);
    }
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if timed::is_timed(text) {
        return timed::read(text);
    }
    if har::is_har(text) {
        return har::read(text, options.entry);
    }
    if head::is_status_line(text) {
        return http(text);
    }
    Ok(Recording {
        form: Form::Body,
        answers: vec![bare(bytes)],
        notes: Vec::new(),
    })
}

/// A body without a head.
fn bare(bytes: &[u8]) -> Recorded {
    let gzip = bytes.starts_with(&[0x1f, 0x8b]);
    let mut notes = vec!["without a head: status 200 and a whole body are assumed".to_owned()];
    if gzip {
        notes.push("the bytes are gzip's: taken as a compressed body".to_owned());
    }
    Recorded {
        entry: None,
        path: None,
        head: Head {
            status: 200,
            content_encoding: gzip.then(|| "gzip".to_owned()),
            ..Head::default()
        },
        head_at: None,
        reads: vec![Read {
            at: Nanos::ZERO,
            bytes: bytes.to_vec(),
        }],
        end: End::Clean,
        end_at: None,
        request: None,
        notes,
    }
}

/// One or more heads and a body: a raw response, or what `curl -i` shows.
fn http(text: &[u8]) -> Result<Recording, Error> {
    let (head, begin, passed) = head::last(text)?;
    let body = text.get(begin..).unwrap_or_default();
    let mut notes = Vec::new();
    if passed > 0 {
        notes.push(format!(
            "{passed} earlier head(s) were passed over: interim answers, redirects or a tunnel's"
        ));
    }
    let (pieces, end) = if head.is_chunked && chunked::is_chunked(body) {
        chunked::undo(body, begin)?
    } else {
        let end = delimited(&head, body, &mut notes);
        (vec![body.to_vec()], end)
    };
    let mut recorded = Recorded {
        entry: None,
        path: None,
        head,
        head_at: None,
        reads: pieces
            .into_iter()
            .map(|bytes| Read {
                at: Nanos::ZERO,
                bytes,
            })
            .collect(),
        end,
        end_at: None,
        request: None,
        notes,
    };
    recorded.note_undone_coding();
    Ok(Recording {
        form: Form::Http,
        answers: vec![recorded],
        notes: Vec::new(),
    })
}

/// How a body that is not chunked any more ended.
fn delimited(head: &Head, body: &[u8], notes: &mut Vec<String>) -> End {
    match head.content_length {
        Some(length) if length > body.len() as u64 && !is_undone(head, body) => End::Truncated,
        Some(_) => End::Clean,
        None => {
            let why = if head.is_chunked {
                "the chunked coding was taken off by the recorder"
            } else {
                "only the close ends this body"
            };
            notes.push(format!(
                "{why}: whether it is whole is not known, and assumed"
            ));
            End::Clean
        }
    }
}

/// The head names a coding that the body has no longer: recorders show what they unpacked.
fn is_undone(head: &Head, body: &[u8]) -> bool {
    let named = head.content_encoding.as_deref().unwrap_or("identity");
    let begin = body.get(..body.len().min(32)).unwrap_or_default();
    let plain = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace() || *byte >= 0x80;
    let text =
        std::str::from_utf8(begin).map_or_else(|error| error.error_len().is_none(), |_| true);
    named != "identity" && !begin.is_empty() && text && begin.iter().all(plain)
}

// ---- Recorded

impl Recorded {
    /// Drops a coding that the recorder undid.
    pub(crate) fn note_undone_coding(&mut self) {
        let body = self.reads.first().map(|read| read.bytes.as_slice());
        if is_undone(&self.head, body.unwrap_or_default()) {
            let named = self.head.content_encoding.take().unwrap_or_default();
            self.notes.push(format!(
                "the head says content-encoding {named}, but the body is plain: the recorder unpacked it"
            ));
        }
    }

    /// The bytes of the body.
    pub(crate) fn body(&self) -> Vec<u8> {
        self.reads
            .iter()
            .flat_map(|read| read.bytes.iter().copied())
            .collect()
    }
}
