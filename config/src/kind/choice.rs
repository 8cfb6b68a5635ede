//! One word out of a few.

use serde_json::{Value, json};

use super::Scalar;
use crate::checked::{Accumulation, EngineProtocol, HalfClose, Level, LogFormat, Upgrades, Usage};
use crate::fault::Complaint;

/// A word that stands for a `T`.
pub(crate) struct Choice<T: 'static> {
    name: &'static str,
    options: &'static [(&'static str, T)],
}

/// `true` or `false`, in these spellings only: what YAML 1.1 made of `yes` and `off` differs by tool.
pub(crate) const TOGGLE: Choice<bool> = Choice {
    name: "toggle",
    options: &[("true", true), ("false", false)],
};

/// What may be spoken to the engine.
pub(crate) const ENGINE_PROTOCOLS: Choice<EngineProtocol> = Choice {
    name: "word",
    options: &[
        ("auto", EngineProtocol::Auto),
        ("http1", EngineProtocol::Http1),
        ("http2", EngineProtocol::Http2),
    ],
};

/// What the end of a client's side means.
pub(crate) const HALF_CLOSES: Choice<HalfClose> = Choice {
    name: "word",
    options: &[("abort", HalfClose::Abort), ("serve", HalfClose::Serve)],
};

/// What a client may switch to.
pub(crate) const UPGRADES: Choice<Upgrades> = Choice {
    name: "word",
    options: &[("none", Upgrades::None), ("websocket", Upgrades::Websocket)],
};

/// Kinds of engine, by their names; none is not known yet.
pub(crate) const ENGINE_KINDS: Choice<Option<&'static str>> = Choice {
    name: "word",
    options: &[
        ("auto", None),
        ("vllm", Some("vllm")),
        ("sglang", Some("sglang")),
        ("trtllm", Some("trtllm")),
        ("triton", Some("triton")),
        ("tgi", Some("tgi")),
        ("llamacpp", Some("llamacpp")),
    ],
};

/// What to do about usage that a stream does not ask for.
pub(crate) const USAGES: Choice<Usage> = Choice {
    name: "word",
    options: &[("observe", Usage::Observe), ("inject", Usage::Inject)],
};

/// What an event states of something that grows; none is found out or left unknown.
pub(crate) const ACCUMULATIONS: Choice<Option<Accumulation>> = Choice {
    name: "word",
    options: &[
        ("auto", None),
        ("delta", Some(Accumulation::Delta)),
        ("cumulative", Some(Accumulation::Cumulative)),
    ],
};

/// Levels of logging, the fewest lines first.
pub(crate) const LEVELS: Choice<Level> = Choice {
    name: "word",
    options: &[
        ("error", Level::Error),
        ("warn", Level::Warn),
        ("info", Level::Info),
        ("debug", Level::Debug),
        ("trace", Level::Trace),
    ],
};

/// Forms of a log line.
pub(crate) const LOG_FORMATS: Choice<LogFormat> = Choice {
    name: "word",
    options: &[("text", LogFormat::Text), ("json", LogFormat::Json)],
};

impl<T> Choice<T> {
    fn words(&self, between: &str) -> String {
        let words: Vec<&str> = self.options.iter().map(|(word, _)| *word).collect();
        words.join(between)
    }
}

impl<T: Copy + PartialEq + Sync> Scalar for Choice<T> {
    type Value = T;

    fn parse(&self, text: &str) -> Result<T, Complaint> {
        let option = self.options.iter().find(|(word, _)| *word == text);
        option.map(|(_, value)| *value).ok_or_else(|| {
            let words = self.words(", ");
            Complaint::value(
                format!("not one of {words}"),
                format!("write one of {words}"),
            )
        })
    }

    fn show(&self, value: &T) -> Value {
        let option = self.options.iter().find(|(_, option)| option == value);
        match option.map_or("", |(word, _)| *word) {
            "true" => Value::from(true),
            "false" => Value::from(false),
            word => Value::from(word),
        }
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn range(&self) -> String {
        format!("`{}`", self.words("`, `"))
    }

    fn schema(&self) -> Value {
        let words: Vec<Value> = self
            .options
            .iter()
            .map(|(_, value)| Scalar::show(self, value))
            .collect();
        json!({"enum": words})
    }
}
