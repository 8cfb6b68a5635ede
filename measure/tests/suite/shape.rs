//! Buckets and their labels.

use crate::script::{answer_of, exactly, streamed};
use crate::vector::{Vector, list, text, whole};
use measure::{Edges, EdgesError, Shape, ShapeEdges};
use wire::Answer;

#[test]
fn labels_are_those_of_the_vector() {
    let vector = Vector::read("39_length_buckets");
    for case in vector.cases() {
        let bounds: Vec<u64> = list(&vector.file["edge_sets"][text(&case["edge_set"])])
            .iter()
            .map(whole)
            .collect();
        let edges = Edges::new(bounds).expect("the vector's edges ascend");
        let label = edges.label(edges.bucket(case["value"].as_u64()));
        assert_eq!(label, text(&case["expected"]), "{case}");
    }
}

#[test]
fn the_default_edges_are_the_ones_of_the_vector_and_valid() {
    let vector = Vector::read("39_length_buckets");
    let edges = ShapeEdges::default();
    for (name, edges) in [
        ("input_len", edges.input),
        ("output_len", edges.output),
        ("concurrency", edges.concurrency),
    ] {
        let bounds: Vec<u64> = list(&vector.file["edge_sets"][name])
            .iter()
            .map(whole)
            .collect();
        assert_eq!(
            edges,
            Edges::new(bounds).expect("the vector's edges ascend"),
            "{name}"
        );
    }
}

#[test]
fn every_bucket_has_a_label_of_its_own() {
    let edges = Edges::new([0, 7]).expect("they ascend");
    let labels: Vec<&str> = edges.labels().collect();
    assert_eq!(labels, ["0-0", "1-7", "8+", "unknown"]);
    let reached: Vec<&str> = [Some(0), Some(7), Some(u64::MAX), None]
        .map(|value| edges.label(edges.bucket(value)))
        .into();
    assert_eq!(reached, labels);
}

#[test]
fn faulty_edges_are_refused_by_name() {
    let refused = |bounds: Vec<u64>| Edges::new(bounds).expect_err("it is faulty");
    assert_eq!(refused(vec![]), EdgesError::Empty);
    assert_eq!(
        refused(vec![1, 4, 4]),
        EdgesError::NotAscending {
            edge: 4,
            previous: 4
        }
    );
    assert_eq!(
        refused(vec![9, 4]),
        EdgesError::NotAscending {
            edge: 4,
            previous: 9
        }
    );
    assert_eq!(
        refused(vec![u64::MAX]),
        EdgesError::TooLarge { edge: u64::MAX }
    );
    assert_eq!(
        refused((0..65).collect()),
        EdgesError::TooMany { given: 65 }
    );
    assert!(Edges::new((0..64).collect::<Vec<u64>>()).is_ok());
    assert_eq!(
        refused(vec![9, 4]).to_string(),
        "edge 4 follows 9: edges are upper bounds and must ascend"
    );
}

#[test]
fn a_record_falls_into_its_joint_cell() {
    let edges = ShapeEdges::default();
    let known = Answer {
        input_tokens: Some(2000),
        ..answer_of(300)
    };
    let record = streamed(&[(10, &[exactly(300)])], 20, known);
    assert_eq!(
        Shape::of(&record, &edges).labels(&edges),
        ["1025-4096", "257-1024", "0-1"]
    );
}

#[test]
fn an_unstated_length_is_unknown_though_a_lower_bound_is_known() {
    let edges = ShapeEdges::default();
    let record = streamed(
        &[(10, &[crate::script::text()])],
        20,
        crate::script::answer(),
    );
    assert_eq!(record.output_tokens_min, 1);
    assert_eq!(
        Shape::of(&record, &edges).labels(&edges),
        ["unknown", "unknown", "0-1"]
    );
}
