//! Files as other tools write them, which we only read.

use std::sync::Arc;

use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, ListArray, RecordBatch, StringArray};
use capture::formats::{Format, Reading};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::read;

#[test]
fn chats_of_bailian_follow_their_parents() {
    let text = r#"{"chat_id":159,"parent_chat_id":-1,"timestamp":61.125,"input_length":20,"output_length":9,"type":"text","turn":1,"hash_ids":[1,2]}
{"chat_id":7,"parent_chat_id":-1,"timestamp":61.5,"input_length":16,"output_length":1,"type":"text","turn":1,"hash_ids":[4]}
{"chat_id":160,"parent_chat_id":159,"timestamp":62.5,"input_length":33,"output_length":8,"type":"text","turn":2,"hash_ids":[1,5,6]}"#;
    let imported = read("bailian", text, &Reading::default()).unwrap();
    let said: Vec<_> = imported
        .entries
        .iter()
        .map(|entry| (entry.at_ns, entry.session, entry.turn))
        .collect();
    assert_eq!(
        said,
        [
            (0, Some(0), Some(1)),
            (375_000_000, Some(1), Some(1)),
            (1_375_000_000, Some(0), Some(2))
        ]
    );
    assert_eq!(imported.block, Some(16));
    assert_eq!(imported.entries[0].extra["type"], "text");
}

#[test]
fn captures_of_sagemaker_have_dates_and_usage() {
    let text = r#"{"captureData":{"endpointInput":{"data":"{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"model\":\"m\"}","encoding":"JSON"},"endpointOutput":{"data":"eyJ1c2FnZSI6eyJwcm9tcHRfdG9rZW5zIjo5LCJjb21wbGV0aW9uX3Rva2VucyI6NH19","encoding":"BASE64"}},"eventMetadata":{"eventId":"e1","inferenceTime":"2026-11-30T10:00:00Z"},"eventVersion":"0"}
{"captureData":{"endpointInput":{"data":"{\"messages\":[]}","encoding":"JSON"}},"eventMetadata":{"eventId":"e2","inferenceTime":"2026-11-30T10:00:01Z"}}"#;
    let rows = read("sagemaker", text, &Reading::default())
        .unwrap()
        .into_rows("f")
        .unwrap()
        .rows;
    assert_eq!(
        (
            rows[0].input_tokens,
            rows[0].output_tokens,
            rows[0].prompt_bytes
        ),
        (Some(9), Some(4), Some(2))
    );
    assert_eq!(
        (rows[1].input_tokens, rows[1].arrival_ns),
        (None, 1_000_000_000)
    );
    assert_eq!(rows[0].wall_us, 1_796_032_800_000_000);
    assert_eq!(rows[0].model.as_deref(), Some("m"));
}

#[test]
fn burstgpt_of_the_first_version_lacks_two_columns() {
    let text = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,Conversation log\n45,GPT-4,1087,230,1317,API log\n";
    let imported = read("burstgpt", text, &Reading::default()).unwrap();
    assert_eq!(imported.entries[1].at_ns, 40_000_000_000);
    assert_eq!(imported.entries[1].session, None);
    let error = read("burstgpt", "Timestamp,Model\n1,m\n", &Reading::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("line 1: has no column \"Request tokens\""),
        "{error}"
    );
    let error = read(
        "burstgpt",
        "Timestamp,Request tokens,Response tokens\n1,2,3\n1,x,3\n",
        &Reading::default(),
    )
    .unwrap_err()
    .to_string();
    assert_eq!(
        error,
        "line 3: \"Request tokens\" is \"x\": a whole number is wanted"
    );
}

#[test]
fn baseten_is_parquet_as_pandas_writes_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.parquet");
    let numbers = |values: [i64; 2]| Arc::new(Int64Array::from(values.to_vec())) as ArrayRef;
    let hashes = ListArray::from_iter_primitive::<Int64Type, _, _>([
        Some(vec![Some(11), Some(12)]),
        Some(vec![Some(11), Some(13)]),
    ]);
    let batch = RecordBatch::try_from_iter([
        (
            "timestamp_start_unix_ms",
            numbers([1_796_032_800_500, 1_796_032_800_000]),
        ),
        (
            "prompt",
            Arc::new(StringArray::from(vec!["one", "two"])) as ArrayRef,
        ),
        ("input_tokens", numbers([30, 28])),
        ("output_tokens", numbers([5, 6])),
        ("total_hashes", Arc::new(hashes) as ArrayRef),
        ("poor_man_session_id", numbers([3, 3])),
        ("duration_e2e_ms", numbers([250, 300])),
        ("block_size", numbers([16, 16])),
    ])
    .unwrap();
    let snappy = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .build();
    let mut writer = ArrowWriter::try_new(
        std::fs::File::create(&path).unwrap(),
        batch.schema(),
        Some(snappy),
    )
    .unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();

    let rows = Format::named("baseten")
        .unwrap()
        .read(&path, &Reading::default())
        .unwrap()
        .into_rows("f")
        .unwrap();
    let (first, second) = (&rows.rows[0], &rows.rows[1]);
    assert_eq!(
        (first.input_tokens, first.end_ns, first.turn),
        (Some(28), 300_000_000, Some(1))
    );
    assert_eq!(
        (second.arrival_ns, second.session, second.turn),
        (500_000_000, first.session, Some(2))
    );
    assert_eq!(
        (rows.block, second.blocks.as_slice()),
        (16, [11, 12].as_slice())
    );
    assert_eq!(rows.texts, 2);
}

#[test]
fn servegen_is_drawn_from_and_the_same_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chunk-3-trace.csv");
    std::fs::write(
        &path,
        "0,2.5,1.3,Gamma,0.6,0.6667\n600,0,0,,0,0\n1200,2.0,1.0,Weibull,1.0,0.5\n",
    )
    .unwrap();
    let lengths = r#"{"0":{"input_tokens":"{900: 0.4, 1300: 0.6}","output_tokens":"{87: 1.0}"}}"#;
    std::fs::write(folder.path().join("chunk-3-dataset.json"), lengths).unwrap();
    let format = Format::named("servegen").unwrap();
    let drawn = |seed| {
        format
            .read(
                &path,
                &Reading {
                    seed,
                    ..Reading::default()
                },
            )
            .unwrap()
            .entries
    };
    let entries = drawn(1);
    assert_eq!(entries, drawn(1));
    assert_ne!(entries, drawn(2));
    // 1500 and 1200 are expected; their standard deviations are about 52 and 35.
    let late = entries
        .iter()
        .filter(|entry| entry.at_ns > 1_000_000_000_000)
        .count();
    assert!(
        (1300..1700).contains(&(entries.len() - late)),
        "{} and {late}",
        entries.len()
    );
    assert!((1050..1350).contains(&late), "{late}");
    let long = entries
        .iter()
        .filter(|entry| entry.input == Some(1300))
        .count() as f64
        / entries.len() as f64;
    assert!((0.55..0.65).contains(&long), "{long}");
    assert!(entries.iter().all(|entry| entry.output == Some(87)));
}

#[test]
fn what_looks_like_python_is_never_evaluated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a-trace.csv");
    std::fs::write(&path, "0,1,1,Gamma,1,1\n").unwrap();
    let lengths = r#"{"0":{"input_tokens":"{__import__('os'): 1}","output_tokens":"{87: 1.0}"}}"#;
    std::fs::write(folder.path().join("a-dataset.json"), lengths).unwrap();
    let error = Format::named("servegen")
        .unwrap()
        .read(&path, &Reading::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("has no input_tokens such as"), "{error}");
}
