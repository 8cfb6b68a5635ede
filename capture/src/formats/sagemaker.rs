//! SageMaker data captures: JSON lines of a request's body and its answer's, each as text or Base64, and when it was.
//!
//! The one date is the inference's; it stands for the arrival. Lengths are known where the answer has a usage.

use std::io::BufRead;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::lines::{Lines, Members};
use super::{Entry, Format, FormatError, Import, Imported, Reading, Text};

pub(super) static SAGEMAKER: Format = Format {
    name: "sagemaker",
    says: "SageMaker data captures of chat or completion endpoints",
    export: None,
    import: Some(Import::Lines(read)),
};

fn read(input: &mut dyn BufRead, _: &Reading) -> Result<Imported, FormatError> {
    let mut lines = Lines::new(input);
    let mut dated = Vec::new();
    while let Some(mut members) = lines.next()? {
        let data = members.any("captureData");
        let data = members.required("captureData", data)?;
        let mut data = members.within(data, "captureData")?;
        let event = members.any("eventMetadata");
        let event = members.required("eventMetadata", event)?;
        let mut event = members.within(event, "eventMetadata")?;
        let at = event.text("inferenceTime")?;
        let at = event.required("inferenceTime", at)?;
        let at = at.parse::<Timestamp>().map_err(|_| {
            event.wrong(
                "inferenceTime",
                &at.clone().into(),
                "a date such as 2026-11-30T10:00:00Z",
            )
        })?;
        let asked = payload(&mut data, "endpointInput")?;
        let request = data.required("endpointInput", asked)?;
        let answer = payload(&mut data, "endpointOutput")?.unwrap_or_default();
        event.any("eventId");
        members.any("eventVersion");
        let mut extra = members.rest();
        extra.extend(event.rest());
        dated.push((
            at.as_nanosecond(),
            Entry {
                extra,
                ..exchange(request, &answer)
            },
        ));
    }
    Ok(Imported::dated(dated))
}

fn exchange(request: Map<String, Value>, answer: &Map<String, Value>) -> Entry {
    let usage = |name: &str| {
        answer
            .get("usage")
            .and_then(|usage| usage.get(name))
            .and_then(Value::as_u64)
    };
    Entry {
        model: request
            .get("model")
            .and_then(Value::as_str)
            .map(str::to_owned),
        stream: request.get("stream").and_then(Value::as_bool),
        input: usage("prompt_tokens"),
        output: usage("completion_tokens"),
        text: Some(Text {
            request,
            answer: None,
        }),
        ..Entry::default()
    }
}

/// The JSON of one side.
fn payload(data: &mut Members, side: &str) -> Result<Option<Map<String, Value>>, FormatError> {
    let Some(side_of) = data.any(side) else {
        return Ok(None);
    };
    let mut members = data.within(side_of, side)?;
    let Some(text) = members.text("data")? else {
        return Ok(None);
    };
    let encoding = members
        .text("encoding")?
        .unwrap_or_else(|| "BASE64".to_owned());
    let bytes = match encoding.as_str() {
        "JSON" => text.into_bytes(),
        "BASE64" => STANDARD.decode(&text).map_err(|error| {
            FormatError::line(data.line, format!("{side:?} is no Base64: {error}"))
        })?,
        other => {
            return Err(FormatError::line(
                data.line,
                format!("{side:?} is encoded as {other:?}: JSON or BASE64 is wanted"),
            ));
        }
    };
    match serde_json::from_slice(&bytes) {
        Ok(Value::Object(map)) => Ok(Some(map)),
        _ => Err(FormatError::line(
            data.line,
            format!("{side:?} holds no JSON object"),
        )),
    }
}
