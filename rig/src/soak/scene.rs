//! What can happen to one request, and how often it does.
//!
//! A scene says what is asked, how the engine shall misbehave, and how the client does. Scenes whose client leaves early
//! do so only once a byte of the engine has come, so that the engine is known to have the request; the only one that
//! doesn't wait has a route for itself, since its request may end before the engine has heard of it. All shares are
//! invented, so that everything happens often.

use rand::RngExt;
use rand_pcg::Pcg64;
use wire::Endpoint;

/// The model that the engine says it has.
pub(super) const MODEL: &str = "soak";

/// The route of clients that leave without waiting for a sign of the engine.
pub(super) const HASTY: Endpoint = Endpoint::Completions;

/// One kind of request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scene {
    pub(super) name: &'static str,
    /// How often, beside the other weights.
    pub(super) weight: u32,
    pub(super) protocol: Protocol,
    pub(super) endpoint: Endpoint,
    pub(super) stream: bool,
    /// Value of `x-sim-fault`; empty for none.
    pub(super) fault: &'static str,
    /// Value of `x-sim-script`; empty for none.
    pub(super) script: &'static str,
    pub(super) conduct: Conduct,
    pub(super) due: Due,
}

/// What the client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Http1,
    Http2,
}

/// What the client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Conduct {
    /// Asks, and reads to the end.
    Reads,
    /// Takes its answer in small pieces with pauses.
    Sips,
    /// Takes nothing for longer than the proxy waits. How soon it is stuck, and so whether it is dropped before it reads on,
    /// is for the system's buffers and a busy machine to say: its outcome is counted, its answer is not judged.
    Stalls,
    /// Reads so many events, then closes. Tokens that are late share an event: after K tokens there may be two events only,
    /// the opening one and one with all of them.
    Closes(usize),
    /// Reads so many events, then resets (the stream, where there are several on a connection).
    Resets(usize),
    /// Closes as soon as its request is written.
    LeavesAtOnce,
    /// Sends its body in pieces with pauses.
    Drips,
    /// Sends a part of its body once the engine has asked for it, and closes.
    LeavesUpload,
    /// Sends a stray line end and its next request while the answer comes.
    Pipelines,
    /// Sends a head that must be refused.
    Garbles(&'static str),
    /// Sends half of a head, and closes.
    HalfAHead,
}

/// What its client must get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// A whole answer with this status.
    Whole(u16),
    /// An answer that is not whole.
    Cut,
    /// It does not wait for one.
    Nothing,
}

const STREAM: Scene = Scene {
    name: "stream",
    weight: 30,
    protocol: Protocol::Http1,
    endpoint: Endpoint::ChatCompletions,
    stream: true,
    fault: "",
    script: "",
    conduct: Conduct::Reads,
    due: Due::Whole(200),
};

/// A stream with a fault of the engine's.
const fn odd(name: &'static str, fault: &'static str, due: Due) -> Scene {
    Scene {
        name,
        weight: 3,
        fault,
        due,
        ..STREAM
    }
}

/// The same by HTTP/2.
const fn odd2(name: &'static str, fault: &'static str, due: Due) -> Scene {
    Scene {
        protocol: Protocol::Http2,
        ..odd(name, fault, due)
    }
}

/// A stream whose client misbehaves.
const fn rude(name: &'static str, fault: &'static str, conduct: Conduct) -> Scene {
    Scene {
        conduct,
        ..odd(name, fault, Due::Nothing)
    }
}

/// A request that is refused for its head.
const fn garbled(name: &'static str, head: &'static str) -> Scene {
    Scene {
        weight: 1,
        conduct: Conduct::Garbles(head),
        ..odd(name, "", Due::Whole(400))
    }
}

/// All of them.
pub(super) const SCENES: &[Scene] = &[
    STREAM,
    Scene {
        name: "stream of responses",
        weight: 6,
        endpoint: Endpoint::Responses,
        ..STREAM
    },
    Scene {
        name: "stream of messages",
        weight: 6,
        endpoint: Endpoint::Messages,
        ..STREAM
    },
    Scene {
        name: "whole answer",
        weight: 12,
        stream: false,
        ..STREAM
    },
    Scene {
        name: "stream by HTTP/2",
        weight: 20,
        protocol: Protocol::Http2,
        ..STREAM
    },
    Scene {
        name: "whole answer by HTTP/2",
        weight: 8,
        protocol: Protocol::Http2,
        stream: false,
        ..STREAM
    },
    odd("gzip", "gzip", Due::Whole(200)),
    odd("CR LF", "crlf", Due::Whole(200)),
    odd("comments", "comments,early-role", Due::Whole(200)),
    odd("dripped", "drip=7", Due::Whole(200)),
    odd("coalesced", "coalesce=4", Due::Whole(200)),
    odd("stalled", "stall=3:100", Due::Whole(200)),
    odd("giant event", "giant-event=200000", Due::Whole(200)),
    odd("HTTP/1.0", "http10", Due::Whole(200)),
    odd(
        "engine dies before its head",
        "die-before-head",
        Due::Whole(502),
    ),
    odd(
        "engine resets before its head",
        "reset-before-head",
        Due::Whole(502),
    ),
    odd("engine dies", "die=3", Due::Cut),
    odd("engine dies in an event", "die-in-event=3", Due::Cut),
    odd("engine resets", "reset=3", Due::Cut),
    odd("error event", "error-event=3", Due::Whole(200)),
    odd(
        "error event and no end mark",
        "error-event-cut=3",
        Due::Whole(200),
    ),
    odd("no end mark", "no-done", Due::Whole(200)),
    odd("429", "status=429", Due::Whole(429)),
    odd("503", "status=503", Due::Whole(503)),
    odd("500", "status=500", Due::Whole(500)),
    odd("400", "status=400", Due::Whole(400)),
    odd2("engine dies, by HTTP/2", "die=3", Due::Cut),
    odd2("error event by HTTP/2", "error-event=3", Due::Whole(200)),
    odd2("no end mark by HTTP/2", "no-done", Due::Whole(200)),
    odd2("429 by HTTP/2", "status=429", Due::Whole(429)),
    rude(
        "client closes before the first token",
        "early-role,hang=0",
        Conduct::Closes(1),
    ),
    rude(
        "client resets before the first token",
        "early-role,hang=0",
        Conduct::Resets(1),
    ),
    rude("client closes", "", Conduct::Closes(3)),
    rude("client resets", "", Conduct::Resets(3)),
    rude("engine hangs, client closes", "hang=3", Conduct::Closes(2)),
    rude("engine hangs, client resets", "hang=3", Conduct::Resets(2)),
    Scene {
        protocol: Protocol::Http2,
        ..rude(
            "engine hangs, HTTP/2 stream reset",
            "hang=3",
            Conduct::Resets(2),
        )
    },
    Scene {
        protocol: Protocol::Http2,
        ..rude(
            "engine hangs, HTTP/2 connection closed",
            "hang=3",
            Conduct::Closes(2),
        )
    },
    Scene {
        endpoint: HASTY,
        ..rude("client leaves at once", "", Conduct::LeavesAtOnce)
    },
    Scene {
        weight: 1,
        script: "gap_us=0;bursts=24;bytes=8192",
        due: Due::Whole(200),
        ..rude("client sips", "", Conduct::Sips)
    },
    Scene {
        weight: 1,
        script: "gap_us=0;bursts=512;bytes=32768",
        ..rude("client stalls", "", Conduct::Stalls)
    },
    Scene {
        due: Due::Whole(200),
        ..rude("slow upload", "", Conduct::Drips)
    },
    rude("upload left", "", Conduct::LeavesUpload),
    Scene {
        due: Due::Whole(200),
        ..rude("stray line end, request ahead", "", Conduct::Pipelines)
    },
    garbled(
        "two lengths",
        "POST /v1/chat/completions HTTP/1.1\r\nhost: soak\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n",
    ),
    garbled(
        "length and chunks",
        "POST /v1/chat/completions HTTP/1.1\r\nhost: soak\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n",
    ),
    garbled(
        "bare line feeds",
        "POST /v1/chat/completions HTTP/1.1\nhost: soak\n\n",
    ),
    garbled(
        "no host",
        "POST /v1/chat/completions HTTP/1.1\r\ncontent-length: 0\r\n\r\n",
    ),
    rude("half a head", "", Conduct::HalfAHead),
];

/// One of them, by weight.
pub(super) fn draw(random: &mut Pcg64) -> &'static Scene {
    let all: u32 = SCENES.iter().map(|scene| scene.weight).sum();
    let mut at = random.random_range(0..all);
    let drawn = SCENES
        .iter()
        .find(|scene| match at.checked_sub(scene.weight) {
            Some(rest) => {
                at = rest;
                false
            }
            None => true,
        });
    drawn.unwrap_or(&STREAM)
}

impl Scene {
    /// Whether the proxy answers it by itself: a head that must be refused, or an engine that gave none.
    pub(super) fn is_refused(&self) -> bool {
        matches!(self.conduct, Conduct::Garbles(_)) || self.due == Due::Whole(502)
    }

    /// Tokens that are asked for: many, where the client leaves before they have come.
    fn tokens(&self) -> u32 {
        match self.conduct {
            Conduct::Closes(_) | Conduct::Resets(_) | Conduct::LeavesAtOnce => 400,
            _ => 12,
        }
    }

    /// The request's body.
    pub(super) fn body(&self) -> String {
        let (tokens, stream) = (self.tokens(), self.stream);
        let rest = match self.endpoint {
            Endpoint::Responses => format!(r#""input":"Soak.","max_output_tokens":{tokens}"#),
            Endpoint::Completions => format!(r#""prompt":"Soak.","max_tokens":{tokens}"#),
            _ => {
                format!(r#""messages":[{{"role":"user","content":"Soak."}}],"max_tokens":{tokens}"#)
            }
        };
        format!(r#"{{"model":"{MODEL}","stream":{stream},{rest}}}"#)
    }

    /// Header fields that the simulated engine reads.
    pub(super) fn steering(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        [("x-sim-fault", self.fault), ("x-sim-script", self.script)]
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use std::collections::HashSet;

    #[test]
    fn all_are_drawn_and_have_names_of_their_own() {
        let mut random = Pcg64::seed_from_u64(1);
        let drawn: HashSet<_> = (0..20_000).map(|_| draw(&mut random).name).collect();
        assert_eq!(drawn.len(), SCENES.len());
    }

    #[test]
    fn only_the_hasty_have_the_route_on_which_the_engine_may_hear_of_fewer() {
        for scene in SCENES {
            let hasty = scene.conduct == Conduct::LeavesAtOnce;
            assert_eq!(scene.endpoint == HASTY, hasty, "{}", scene.name);
        }
    }
}
