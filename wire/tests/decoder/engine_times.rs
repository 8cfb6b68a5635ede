//! What engines state of their own times: what the corpus of answers doesn't show.

use crate::*;

const NONE: EngineTimes = EngineTimes {
    queue: None,
    prefill: None,
    ttft: None,
    decode: None,
    e2e: None,
};

#[test]
fn of_several_choices_each_has_its_own_so_that_the_answer_has_none() {
    let of = |index: u32| {
        format!(
            r#"{{"choices":[{{"index":{index},"delta":{{}},"finish_reason":"stop"}}],"timings":{{"prompt_ms":1,"predicted_ms":2,"predicted_n":2}}}}"#
        )
    };
    let (_, two) = stream(STREAM, &[&of(0), &of(1)]);
    assert_eq!(two.engine_times, NONE);
    let (_, one) = stream(STREAM, &[&of(0)]);
    assert_eq!(
        one.engine_times,
        EngineTimes {
            prefill: Some(1_000_000),
            decode: Some(2_000_000),
            ..NONE
        }
    );
}

#[test]
fn a_body_of_vllm_may_state_only_some_and_nulls() {
    let answer = body(
        r#"{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}],
            "metrics":{"queue_time_ms":null,"time_to_first_token_ms":5e-1,"mean_itl_ms":3,"generation_time_ms":-1}}"#,
    );
    assert_eq!(
        answer.engine_times,
        EngineTimes {
            prefill: Some(500_000),
            ..NONE
        }
    );
    for metrics in ["null", "[]", "7", r#""x""#] {
        let text = format!(r#"{{"choices":[{{"index":0}}],"metrics":{metrics}}}"#);
        assert_eq!(body(&text).engine_times, NONE, "{metrics}");
    }
}

#[test]
fn the_instants_of_sglang_count_once_it_has_finished() {
    let context = AnswerContext {
        endpoint: Endpoint::Generate,
        ..STREAM
    };
    let of = |finish: &str, more: &str| {
        format!(
            r#"{{"text":"a","meta_info":{{"id":"g","finish_reason":{finish},"completion_tokens":2,"queue_time":0.001{more}}}}}"#
        )
    };
    let (_, open) = stream(context, &[&of("null", "")]);
    assert_eq!(open.engine_times, NONE);
    let clock = r#","request_received_ts":1796041000.25,"prefill_finished_ts":1796041000.5,"e2e_latency":1"#;
    let (_, whole) = stream(context, &[&of(r#"{"type":"stop"}"#, clock), "[DONE]"]);
    assert_eq!(
        whole.engine_times,
        EngineTimes {
            queue: Some(1_000_000),
            ttft: Some(250_000_000),
            e2e: Some(1_000_000_000),
            ..NONE
        }
    );
    // A wall clock may have been set back in between.
    let back = r#","request_received_ts":1796041000.25,"prefill_finished_ts":1796040000.5"#;
    let (_, whole) = stream(context, &[&of(r#"{"type":"stop"}"#, back)]);
    assert_eq!(whole.engine_times.ttft, None);
}

#[test]
fn the_instants_of_the_tensorrt_llm_executor() {
    let context = AnswerContext {
        endpoint: Endpoint::TritonGenerateStream,
        ..STREAM
    };
    let (_, answer) = stream(
        context,
        &[
            r#"{"text_output":"a","arrival_time_ns":1000,"first_scheduled_time_ns":1500,"first_token_time_ns":3000}"#,
            r#"{"text_output":"b","arrival_time_ns":1000,"first_scheduled_time_ns":1500,"first_token_time_ns":3000,"last_token_time_ns":9000}"#,
        ],
    );
    assert_eq!(
        answer.engine_times,
        EngineTimes {
            queue: Some(500),
            prefill: Some(1500),
            ttft: Some(2000),
            decode: Some(6000),
            e2e: Some(8000),
        }
    );
}

#[test]
fn the_head_of_a_body_of_tgi_states_whole_milliseconds() {
    let fields = [("x-queue-time", "3"), ("x-total-time", "71")];
    let times = EngineTimes::of_head(|name| {
        fields
            .iter()
            .find_map(|(key, value)| (*key == name).then_some(*value))
    });
    let context = AnswerContext {
        engine_times: times,
        endpoint: Endpoint::Generate,
        ..BODY
    };
    let text = r#"{"generated_text":"a","details":{"generated_tokens":2}}"#;
    let (_, answer) = read(context, text, TransportEnd::Clean);
    assert_eq!(
        answer.engine_times,
        EngineTimes {
            queue: Some(3_000_000),
            e2e: Some(71_000_000),
            ..NONE
        }
    );
    assert!(!EngineTimes::of_head(|_| Some("soon")).is_stated());
}
