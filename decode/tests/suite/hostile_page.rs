//! The page on hostile streams: what is true, what loadproof says of the recordings in `tests/fixtures/hostile`, and what
//! other tools said of the same timelines.

use decode::{Options, Summary, decode};
use std::error::Error;
use std::fmt::Write;
use std::path::Path;

/// One stream, and what was said of it. What is written here is what was seen; what loadproof says is computed.
pub(crate) struct Stream {
    pub(crate) file: &'static str,
    name: &'static str,
    truth: &'static str,
    /// GuideLLM, AIPerf, vLLM's bench function, inference-perf.
    others: [&'static str; 4],
}

pub(crate) const STREAMS: [Stream; 7] = [
    Stream {
        file: "0-reference",
        name: "the reference: an event a read",
        truth: "TTFT 150, TPOT 10.0, 21 tokens",
        others: [
            "TTFT 152.6, TPOT 16.8 (TTFT is in it), ITL 10.0, e2e 433.6",
            "TTFT 171.5, ITL 9.7, e2e 364.9 (to the last token)",
            "TTFT **52.6** (the role ends it), TPOT 16.5, ITL mean 47.2, e2e 382.7",
            "TTFT 156.4, TPOT 10.0, ITL mean 10.0 and **median 0**, e2e 439.1",
        ],
    },
    Stream {
        file: "1-error-event",
        name: "an error event inside a 200 at 270, after 9 tokens, then `[DONE]`",
        truth: "a failure",
        others: [
            "an error: right",
            "**a success**, e2e 237",
            "**a success**",
            "**a success**, e2e 275",
        ],
    },
    Stream {
        file: "2-aborted",
        name: "the connection is aborted at 270",
        truth: "a failure",
        others: [
            "an error: right",
            "a failure; writes no JSON",
            "a failure: right",
            "a failure: right",
        ],
    },
    Stream {
        file: "3-crlf",
        name: "lines end with CRLF, an event a read",
        truth: "as the reference",
        others: [
            "right",
            "right",
            "right, since each read is tried as JSON",
            "**a success with 0 tokens**, no TTFT",
        ],
    },
    Stream {
        file: "4-crlf-coalesced",
        name: "CRLF, role at 50, all the rest in one read at 350",
        truth: "one late burst: no token timing exists",
        others: [
            "not run",
            "not run",
            "**a success**, sees only the role",
            "not run",
        ],
    },
    Stream {
        file: "5-reasoning-first",
        name: "9 tokens of reasoning at 150 to 230, then 12 of the answer",
        truth: "TTFT 150, first answer 270, 21 tokens",
        others: [
            "TTFT 158.5, first answer 278, 21 tokens",
            "TTFT 165.7, first answer 280, 21 tokens",
            "TTFT **55.6**, TPOT 16.4",
            "TTFT **273.6**, **12** tokens, TPOT **7.2**",
        ],
    },
    Stream {
        file: "6-buffered",
        name: "a proxy that buffers: role at 50, all the rest in one read at 350",
        truth: "one late burst: no token timing exists",
        others: [
            "TTFT 352.6, ITL **0.01**",
            "TTFT 359, ITL **0.0**",
            "TTFT **54.2** (the role ends it), TPOT 15.0",
            "TTFT 355, TPOT **0.000004** s",
        ],
    },
];

const BEGIN: &str = "\
# Hostile streams

Seven answers with one truth each, and what tools make of them. All times are in milliseconds since the request was sent.

The reference timeline: a role event without text at 50; text of 1 token at 150; of 4 tokens each at 190, 230, 270, 310 and 350;
an event with the finish reason at 380; usage (21 generated, 40 of the prompt) at 400; `[DONE]` at 430. The other six are the
same, changed as told. They lie in `decode/tests/fixtures/hostile/` as timed recordings, and `loadproof decode FILE` shows each
event by event.

What loadproof says is generated from those recordings, by the decoder and the definitions of the proxy (`make generate`; a
test fails when this page lags behind). The token events there list their token ids, as vLLM does on request, so that each
count is in the bytes. The other columns are what these versions were seen to say, ten requests a stream on two busy cores, of
the same timelines without such lists: GuideLLM 0.8.1, AIPerf 0.13.0, inference-perf 0.7.0 as whole programs, vLLM 0.32's
benchmark by its stream function alone. What is wrong is in bold; what a tool defines otherwise, such as a TPOT with TTFT in it,
is not.

| stream | true | loadproof | GuideLLM 0.8.1 | AIPerf 0.13.0 | vLLM 0.32 bench | inference-perf 0.7.0 |
| --- | --- | --- | --- | --- | --- | --- |
";

const END: &str = "
What follows for a reader of any tool's figures: an outcome is known by the end of a stream, not by its status; the first event
is not the first token; one stamp is no pace; and an event stream is what the standard says it is, whatever ends its lines.
";

/// What loadproof says of one of them.
pub(crate) fn summary(file: &str) -> Result<Summary, Box<dyn Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/hostile")
        .join(file)
        .with_extension("jsonl");
    let mut report = decode(&std::fs::read(path)?, &Options::default())?;
    Ok(report.answers.pop().ok_or("one answer a file")?.summary)
}

/// The whole page.
pub(crate) fn page() -> Result<String, Box<dyn Error>> {
    let mut page = BEGIN.to_owned();
    for stream in &STREAMS {
        let said = said(&summary(stream.file)?);
        let others = stream.others.join(" | ");
        writeln!(
            page,
            "| {} | {} | {said} | {others} |",
            stream.name, stream.truth
        )?;
    }
    page.push_str(END);
    Ok(page)
}

/// A summary in a cell.
fn said(summary: &Summary) -> String {
    let tokens = match summary.output_tokens.count {
        Some(count) => format!("{count} tokens"),
        None => format!("at least {} tokens", summary.output_tokens.at_least),
    };
    let mut parts = vec![format!("`{}`", summary.outcome), tokens];
    if let Some(times) = &summary.times {
        let ms =
            |value: Option<f64>| value.map_or_else(|| "none".to_owned(), |ms| format!("{ms:.1}"));
        parts.push(format!("first event {}", ms(times.first_event_ms)));
        parts.push(format!("TTFT {}", ms(times.ttft_ms)));
        parts.push(format!("first answer {}", ms(times.first_answer_ms)));
        parts.push(format!("TPOT {}", ms(times.tpot_ms)));
        let gaps = (ms(times.gap_mean_ms), ms(times.gap_per_token_ms));
        parts.push(format!("gaps {}, per token {}", gaps.0, gaps.1));
        parts.push(format!("e2e {}", ms(times.e2e_ms)));
        parts.push(match times.bursts {
            1 => "1 burst".to_owned(),
            bursts => format!("{bursts} bursts"),
        });
    }
    parts.extend(summary.flags.iter().map(|flag| format!("`{flag}`")));
    parts.join(", ")
}
