//! Which routes generate, and what they are called.

use wire::Endpoint;

#[test]
fn a_route_is_known_by_its_path() {
    for (path, endpoint) in [
        ("/v1/completions", Some(Endpoint::Completions)),
        ("/completions", Some(Endpoint::Completion)),
        ("/chat/completions", Some(Endpoint::ChatCompletions)),
        ("/", Some(Endpoint::Root)),
        ("", None),
        ("/v1/messages/count_tokens", None),
        ("/v1/responses/resp_1", None),
        ("/generate/", None),
        (
            "/v2/models/ensemble/generate",
            Some(Endpoint::TritonGenerate),
        ),
        (
            "/v2/models/a/versions/1/generate_stream",
            Some(Endpoint::TritonGenerateStream),
        ),
        (
            "/v2/models/versions/generate",
            Some(Endpoint::TritonGenerate),
        ),
        ("/v2/models//generate", None),
        ("/v2/models/a/versions//generate", None),
        ("/v2/models/a/versions/1", None),
        ("/v2/models/a/generate/b", None),
        ("/v2/models/a/infer", None),
        ("/v2/models/", None),
    ] {
        assert_eq!(Endpoint::of("POST", path), endpoint, "{path}");
        assert_eq!(Endpoint::of("GET", path), None, "{path}");
    }
}

#[test]
fn a_name_is_a_path_without_names_of_the_request() {
    for endpoint in Endpoint::ALL {
        let path = endpoint.as_str().replace('*', "model");
        assert_eq!(Endpoint::of("POST", &path), Some(endpoint));
    }
    for endpoint in Endpoint::GRPC {
        assert_eq!(Endpoint::of("POST", endpoint.as_str()), Some(endpoint));
        assert!(endpoint.is_grpc());
    }
    let mut names = [&Endpoint::ALL[..], &Endpoint::GRPC]
        .concat()
        .into_iter()
        .map(Endpoint::as_str)
        .collect::<Vec<_>>();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
}
