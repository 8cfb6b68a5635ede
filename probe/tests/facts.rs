//! What is read from each engine's answers. Those of llama.cpp are recorded; the others are as the engines' sources write
//! them.
#![allow(clippy::unwrap_used, reason = "a test says what it found by failing")]

use measure::EngineLoad;
use probe::{Facts, LoadReader, facts_of};
use wire::EngineKind;

/// The facts of several answers, the first one first.
fn facts(answers: &[(&str, &str)]) -> Facts {
    answers
        .iter()
        .fold(Facts::default(), |facts, (path, body)| {
            facts.or(facts_of(path, body.as_bytes()))
        })
}

fn load(exposition: &str) -> Option<EngineLoad> {
    let mut reader = LoadReader::default();
    for piece in exposition.as_bytes().chunks(7) {
        reader.push(piece);
    }
    reader.finish()
}

fn assert_loads(cases: &[(&str, EngineLoad)]) {
    for (exposition, expected) in cases {
        assert_eq!(load(exposition), Some(*expected), "{exposition}");
    }
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

const SERVER_INFO: &str = "/server_info?config_format=json";

#[test]
fn llamacpp_says_its_file_type() {
    let told = facts(&[
        ("/props", include_str!("fixtures/llamacpp-props.json")),
        ("/v1/models", include_str!("fixtures/llamacpp-models.json")),
        ("/metrics", include_str!("fixtures/llamacpp-metrics.txt")),
    ]);
    assert_eq!(
        told,
        Facts {
            engine: Some(EngineKind::LlamaCpp),
            version: some("b0-unknown"),
            model: some("SmolLM2-135M-Instruct.Q4_1"),
            max_model_len: Some(8192),
            weights: some("Q4_1"),
            ..Facts::default()
        }
    );
    assert_eq!(told.precision().as_deref(), Some("weights=Q4_1"));
}

#[test]
fn vllm_says_its_cache_and_in_development_mode_the_rest() {
    let version = ("/version", r#"{"version":"0.33.0"}"#);
    let models = (
        "/v1/models",
        r#"{"object":"list","data":[{"id":"acme/otter-8b-fp8","object":"model","owned_by":"vllm","root":"/models/otter","max_model_len":8192},
            {"id":"adapter","owned_by":"vllm","parent":"acme/otter-8b-fp8","max_model_len":null}]}"#,
    );
    let metrics = (
        "/metrics",
        "# HELP vllm:cache_config_info Information of the LLMEngine CacheConfig\n# TYPE vllm:cache_config_info gauge\n\
         vllm:cache_config_info{block_size=\"16\",cache_dtype=\"fp8_e4m3\",engine=\"0\",num_gpu_blocks=\"661\"} 1.0\n",
    );
    let plain = facts(&[version, models, metrics]);
    assert_eq!(
        plain,
        Facts {
            engine: Some(EngineKind::Vllm),
            version: some("0.33.0"),
            model: some("acme/otter-8b-fp8"),
            max_model_len: Some(8192),
            kv_cache: some("fp8_e4m3"),
            ..Facts::default()
        },
        "the name says fp8, and that is no evidence of the weights"
    );
    let info = (
        SERVER_INFO,
        r#"{"vllm_config":{"model_config":{"model":"/models/otter","served_model_name":["acme/otter-8b-fp8"],"dtype":"torch.bfloat16",
            "quantization":null,"max_model_len":8192},"cache_config":{"cache_dtype":"auto"},
            "parallel_config":{"tensor_parallel_size":2,"pipeline_parallel_size":1}},"vllm_env":{},"system_env":{}}"#,
    );
    let developing = facts(&[info, version, models, metrics]);
    assert_eq!(
        developing.precision().as_deref(),
        Some("weights=bfloat16,quant=none,kv=auto")
    );
    assert_eq!(
        (developing.tensor_parallel, developing.pipeline_parallel),
        (Some(2), Some(1))
    );
}

#[test]
fn sglang_says_its_arguments_and_what_was_not_given_is_not_known() {
    let info = r#"{"model_path":"/models/otter","served_model_name":"otter","dtype":"auto","quantization":null,"kv_cache_dtype":"fp8_e5m2",
        "tp_size":4,"pp_size":1,"context_length":null,"api_key":"sk-secret","version":"0.5.23","internal_states":[{}]}"#;
    let told = facts(&[
        (SERVER_INFO, info),
        (
            "/model_info",
            r#"{"model_path":"/models/otter","is_generation":true,"weight_version":"default"}"#,
        ),
        (
            "/v1/models",
            r#"{"data":[{"id":"otter","owned_by":"sglang","max_model_len":32768}]}"#,
        ),
    ]);
    assert_eq!(
        told,
        Facts {
            engine: Some(EngineKind::Sglang),
            version: some("0.5.23"),
            model: some("otter"),
            max_model_len: Some(32768),
            weights: some("auto"),
            quantization: None,
            kv_cache: some("fp8_e5m2"),
            tensor_parallel: Some(4),
            pipeline_parallel: Some(1),
        }
    );
    assert_eq!(facts(&[("/get_server_info", info)]).engine, told.engine);
}

#[test]
fn trtllm_says_all_of_it_in_its_metrics() {
    let told = facts(&[
        ("/version", r#"{"version":"1.3.0"}"#),
        ("/v1/models", r#"{"data":[{"id":"otter"}]}"#),
        // Iteration statistics.
        ("/metrics", r#"[{"gpuMemUsage":1,"iter":2}]"#),
        (
            "/prometheus/metrics",
            "trtllm_model_config_info{model_name=\"undefined\",served_model_name=\"otter\",dtype=\"bfloat16\",quantization=\"NVFP4\",max_model_len=\"4096\",gpu_type=\"H200\"} 1.0\n\
             trtllm_parallel_config_info{tensor_parallel_size=\"8\",pipeline_parallel_size=\"2\",gpu_count=\"16\"} 1.0\n\
             trtllm_kv_cache_config_info{page_size=\"32\",cache_dtype=\"fp8\"} 1.0\n",
        ),
    ]);
    assert_eq!(
        told,
        Facts {
            engine: Some(EngineKind::Trtllm),
            version: some("1.3.0"),
            model: some("otter"),
            max_model_len: Some(4096),
            weights: some("bfloat16"),
            quantization: some("NVFP4"),
            kv_cache: some("fp8"),
            tensor_parallel: Some(8),
            pipeline_parallel: Some(2),
        }
    );
}

#[test]
fn tgi_and_triton_say_no_precision() {
    let tgi = facts(&[(
        "/info",
        r#"{"model_id":"acme/otter-8b-awq","model_sha":"c0ffee","version":"3.3.6-dev0","max_input_tokens":4095,"max_total_tokens":4096,"docker_label":"sha-1"}"#,
    )]);
    assert_eq!(
        (tgi.engine, tgi.version.as_deref(), tgi.max_model_len),
        (Some(EngineKind::Tgi), Some("3.3.6-dev0"), Some(4096))
    );
    assert_eq!(tgi.precision(), None);
    let triton = facts(&[
        (
            "/v2",
            r#"{"name":"triton","version":"2.73.0","extensions":["classification"]}"#,
        ),
        (
            "/metrics",
            "nv_inference_count{model=\"m\",version=\"1\"} 3\nvllm:num_requests_running{model_name=\"m\"} 1\n",
        ),
    ]);
    assert_eq!(
        (triton.engine, triton.version.as_deref()),
        (Some(EngineKind::Triton), Some("2.73.0"))
    );
    assert_eq!(
        facts_of(
            "/metrics",
            b"nv_inference_count 3\nvllm:num_requests_running 1\n"
        )
        .engine,
        Some(EngineKind::Triton),
        "a backend's metrics stand beside the server's"
    );
}

#[test]
fn what_is_something_else_says_nothing() {
    let paths = [
        SERVER_INFO,
        "/get_server_info",
        "/props",
        "/info",
        "/v2",
        "/model_info",
        "/v1/models",
        "/metrics",
        "/no/such/route",
    ];
    let deep = "[".repeat(100_000);
    for body in [
        "",
        "{}",
        "null",
        "[]",
        "7",
        "\"text\"",
        "<html>not found</html>",
        r#"{"detail":"Not Found"}"#,
        r#"{"data":{}}"#,
        r#"{"data":[]}"#,
        r#"{"data":[7]}"#,
        r#"{"vllm_config":"VllmConfig(dtype=torch.bfloat16)"}"#,
        r#"{"model_id":7,"tp_size":1}"#,
        r#"{"name":"other"}"#,
        &deep,
        "{\"data\":[{\"id\":\"",
    ] {
        for path in paths {
            assert_eq!(
                facts_of(path, body.as_bytes()),
                Facts::default(),
                "{path}: {body:.40}"
            );
        }
    }
    assert_eq!(facts_of("/version", b"\xff\xfe"), Facts::default());
    let long = format!(r#"{{"version":"{}\n"}}"#, "v".repeat(10_000));
    let version = facts_of("/version", long.as_bytes()).version.unwrap();
    assert_eq!(version.len(), 128);
}

#[test]
fn the_load_of_engines_that_tell_it_by_rank() {
    let none = EngineLoad::default();
    let cases = [
        (
            "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 3.0\n\
             vllm:num_requests_running{engine=\"1\",model_name=\"m\"} 4.0\n\
             vllm:num_requests_waiting{engine=\"0\",model_name=\"m\"} 1.0\n\
             vllm:num_requests_waiting_by_reason{engine=\"0\",reason=\"capacity\"} 9.0\n\
             vllm:kv_cache_usage_perc{engine=\"0\"} 0.25\nvllm:kv_cache_usage_perc{engine=\"1\"} 0.75\n\
             vllm:prefix_cache_queries_total{engine=\"0\"} 1000.0\nvllm:prefix_cache_hits_total{engine=\"0\"} 400.0\n\
             vllm:prefix_cache_hits_created{engine=\"0\"} 1.79604e+09\n",
            EngineLoad {
                running: Some(7),
                waiting: Some(1),
                kv_usage: Some(0.5),
                prefix_hits: Some(400),
                prefix_queries: Some(1000),
                ..none
            },
        ),
        (
            // Every rank tells the same.
            "sglang:num_running_reqs{model_name=\"m\",tp_rank=\"0\"} 5\nsglang:num_running_reqs{model_name=\"m\",tp_rank=\"1\"} 5\n\
             sglang:num_queue_reqs{model_name=\"m\",tp_rank=\"0\"} 2\nsglang:token_usage{model_name=\"m\"} 0.1\n\
             sglang:prompt_tokens_total 90\nsglang:cached_tokens_total{cache_source=\"device\"} 20\nsglang:cached_tokens_total{cache_source=\"host\"} 10\n",
            EngineLoad {
                running: Some(5),
                waiting: Some(2),
                kv_usage: Some(0.1),
                prefix_hits: Some(30),
                prefix_queries: Some(90),
                ..none
            },
        ),
    ];
    assert_loads(&cases);
}

#[test]
fn the_load_of_the_other_engines() {
    let none = EngineLoad::default();
    let cases = [
        (
            "trtllm_num_requests_running{model_name=\"undefined\"} 2\ntrtllm_num_requests_waiting 0\ntrtllm_kv_cache_utilization 0.5",
            EngineLoad {
                running: Some(2),
                waiting: Some(0),
                kv_usage: Some(0.5),
                ..none
            },
        ),
        (
            "nv_trt_llm_request_metrics{model=\"m\",request_type=\"waiting\",version=\"1\"} 3\n\
             nv_trt_llm_request_metrics{model=\"m\",request_type=\"scheduled\",version=\"1\"} 8\n\
             nv_trt_llm_request_metrics{model=\"m\",request_type=\"max\",version=\"1\"} 512\n\
             nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"fraction\",model=\"m\"} 0.125\n\
             nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"max\",model=\"m\"} 4096\n",
            EngineLoad {
                running: Some(8),
                waiting: Some(3),
                kv_usage: Some(0.125),
                ..none
            },
        ),
        (
            "tgi_queue_size 1\ntgi_batch_current_size 6\n",
            EngineLoad {
                running: Some(6),
                waiting: Some(1),
                ..none
            },
        ),
        (
            "llamacpp:requests_processing 1\nllamacpp:requests_deferred 4\nllamacpp:prompt_tokens_total 60\nllamacpp:prompt_tokens_cached_total 40\n",
            EngineLoad {
                running: Some(1),
                waiting: Some(4),
                prefix_hits: Some(40),
                prefix_queries: Some(100),
                ..none
            },
        ),
    ];
    assert_loads(&cases);
    let idle = load(include_str!("fixtures/llamacpp-metrics.txt")).unwrap();
    assert_eq!((idle.running, idle.waiting), (Some(0), Some(0)));
}

#[test]
fn what_is_no_exposition_has_no_load() {
    for text in [
        "",
        "[{\"iter\":1}]",
        "up 1\nhttp_requests_total{a=\"b\"} 7\n",
        "vllm:num_requests_running NaN\nvllm:num_requests_waiting -1\nvllm:kv_cache_usage_perc +Inf\n",
        "vllm:num_requests_running{engine=\"0\" 1\n",
        &"x".repeat(1 << 20),
    ] {
        assert_eq!(load(text), None, "{text:.40}");
    }
}
