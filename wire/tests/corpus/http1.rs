//! Just enough of HTTP/1.1 to take the body out of a recorded response. For tests alone: the product leaves it to hyper.

use std::error::Error;
use wire::EngineTimes;
use wire::TransportEnd;

/// A response as far as it has come.
#[derive(Default)]
pub(crate) struct Response {
    state: State,
    /// The line, or the head, at hand.
    text: Vec<u8>,
    head: Option<Head>,
}

/// What the decoder needs of the head.
#[derive(Clone, Default)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) content_type: Option<String>,
    pub(crate) content_encoding: Option<String>,
    pub(crate) generated_tokens: Option<u64>,
    pub(crate) engine_times: EngineTimes,
    pub(crate) prompt_tokens: Option<u64>,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Head,
    ChunkSize,
    Chunk(usize),
    /// The line end after a chunk.
    ChunkEnd,
    Trailer,
    Length(usize),
    UntilClose,
    Done,
}

impl Response {
    pub(crate) fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// Takes the next bytes; what of them is body is given to `body`, piece by piece.
    pub(crate) fn push(
        &mut self,
        mut bytes: &[u8],
        mut body: impl FnMut(&Head, &[u8]),
    ) -> Result<(), Box<dyn Error>> {
        while !bytes.is_empty() {
            let left = match self.state {
                State::Chunk(left) | State::Length(left) => left,
                State::UntilClose => usize::MAX,
                State::Done => return Err("bytes after the end of the response".into()),
                State::Head | State::ChunkSize | State::ChunkEnd | State::Trailer => {
                    self.text.push(bytes[0]);
                    bytes = &bytes[1..];
                    self.on_text()?;
                    continue;
                }
            };
            let (piece, rest) = bytes.split_at(left.min(bytes.len()));
            body(self.head.as_ref().ok_or("body before head")?, piece);
            bytes = rest;
            self.state = match (self.state, left - piece.len()) {
                (State::Chunk(_), 0) => State::ChunkEnd,
                (State::Chunk(_), left) => State::Chunk(left),
                (State::Length(_), 0) => State::Done,
                (State::Length(_), left) => State::Length(left),
                (state, _) => state,
            };
        }
        Ok(())
    }

    /// How the transport ended, if it ended here.
    pub(crate) fn end(&self) -> TransportEnd {
        match self.state {
            State::Done | State::UntilClose => TransportEnd::Clean,
            _ => TransportEnd::Cut,
        }
    }

    fn on_text(&mut self) -> Result<(), Box<dyn Error>> {
        let end: &[u8] = if self.state == State::Head {
            b"\r\n\r\n"
        } else {
            b"\r\n"
        };
        if !self.text.ends_with(end) {
            return Ok(());
        }
        let text = String::from_utf8(std::mem::take(&mut self.text))?;
        self.state = match self.state {
            State::Head => self.on_head(&text)?,
            State::ChunkSize => {
                match usize::from_str_radix(text.split([';', '\r']).next().unwrap_or_default(), 16)?
                {
                    0 => State::Trailer,
                    size => State::Chunk(size),
                }
            }
            State::ChunkEnd => State::ChunkSize,
            State::Trailer if text == "\r\n" => State::Done,
            state => state,
        };
        Ok(())
    }

    fn on_head(&mut self, text: &str) -> Result<State, Box<dyn Error>> {
        let mut lines = text.lines();
        let status = lines
            .next()
            .and_then(|line| line.split(' ').nth(1))
            .ok_or("no status")?
            .parse()?;
        let fields: Vec<_> = lines.filter_map(|line| line.split_once(':')).collect();
        let text = |name: &str| {
            let field = fields
                .iter()
                .find(|(key, _)| key.eq_ignore_ascii_case(name))?;
            Some(field.1.trim())
        };
        let value = |name: &str| text(name).map(str::to_owned);
        self.head = Some(Head {
            status,
            content_type: value("content-type"),
            content_encoding: value("content-encoding"),
            generated_tokens: value("x-generated-tokens").and_then(|count| count.parse().ok()),
            engine_times: EngineTimes::of_head(text),
            prompt_tokens: value("x-prompt-tokens").and_then(|count| count.parse().ok()),
        });
        Ok(
            match (value("transfer-encoding"), value("content-length")) {
                (Some(_), _) => State::ChunkSize,
                (None, Some(length)) => match length.parse()? {
                    0 => State::Done,
                    length => State::Length(length),
                },
                (None, None) => State::UntilClose,
            },
        )
    }
}
