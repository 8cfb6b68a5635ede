//! A recorded answer in, what loadproof understands of it and why out.
//!
//! Text in, report out: [`decode`] finds out what a file holds, plays it through the decoder and the state machine that the
//! proxy uses ([`wire::Decoder`], [`measure::Exchange`]), and says event by event what they made of it. Nothing is judged
//! here: each "why" is the rule that the decoder named.
//!
//! Invariants: no sockets, files or clocks; what is not in the recording is unknown or said to be assumed, in the notes of
//! the report. Times are there only where the recording has them.

mod chunked;
mod error;
mod excerpt;
mod har;
mod head;
mod recording;
mod replay;
mod report;
mod route;
mod text;
mod timed;
mod words;

pub use error::Error;
pub use report::{
    AnomalyReport, AnswerReport, Count, EndpointFrom, EventReport, First, Form, OutputCount,
    Report, Summary, Times,
};

use wire::{Endpoint, EngineKind};

/// What the caller knows besides the recording.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    /// The route that answered; otherwise it is learned.
    pub endpoint: Option<Endpoint>,
    /// The engine that answered, which tells routes apart that answer alike.
    pub engine: Option<EngineKind>,
    /// Body of the request, if the recording does not have it.
    pub request: Option<&'a [u8]>,
    /// Which entry of a HAR file, counting from 0; otherwise every one that is a known route.
    pub entry: Option<usize>,
}

/// The route that a path on the command line names.
///
/// # Errors
/// [`Error::UnknownEndpoint`] names those that there are.
pub fn endpoint(path: &str) -> Result<Endpoint, Error> {
    let named = |endpoint: &Endpoint| endpoint.as_str() == path;
    Endpoint::of("POST", path)
        .or_else(|| Endpoint::GRPC.into_iter().find(named))
        .ok_or_else(|| Error::UnknownEndpoint(path.to_owned()))
}

/// Reads a recording and says what it means.
///
/// # Errors
/// What can't be read as any of the forms, and a route that can't be told.
pub fn decode(bytes: &[u8], options: &Options<'_>) -> Result<Report, Error> {
    let recording = recording::read(bytes, options)?;
    let answers = recording
        .answers
        .iter()
        .map(|recorded| replay::play(recorded, options))
        .collect::<Result<_, _>>()?;
    Ok(Report {
        form: recording.form,
        notes: recording.notes,
        answers,
    })
}
