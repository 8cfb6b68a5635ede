//! A path of the user's own, and the route that it is served as.

use serde_json::{Value, json};

use super::Scalar;
use crate::fault::Complaint;

/// The routes that a path can be served as. The proxy's tests hold them against those that it measures.
pub const ROUTES: [&str; 13] = [
    "/v1/completions",
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/messages",
    "/completion",
    "/generate",
    "/inference/v1/generate",
    "/generate_stream",
    "/",
    "/v2/models/*/generate",
    "/v2/models/*/generate_stream",
    "/api/chat",
    "/api/generate",
];

/// A path, and the route whose requests and answers it has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd)]
pub struct Route {
    /// The path of the request, without a query; a segment `*` stands for any one segment.
    pub path: String,
    /// One of [`ROUTES`].
    pub served_as: &'static str,
}

/// `PATH=ROUTE`.
pub(crate) struct RouteText;

impl Scalar for RouteText {
    type Value = Route;

    fn parse(&self, text: &str) -> Result<Route, Complaint> {
        let Some((path, route)) = text.rsplit_once('=') else {
            return Err(Complaint::value(
                "not of the form PATH=ROUTE",
                "write for example /team/chat=/v1/chat/completions",
            ));
        };
        let odd = |byte: u8| !byte.is_ascii_graphic() || matches!(byte, b'?' | b'#');
        if !path.starts_with('/') || path.bytes().any(odd) {
            return Err(Complaint::value(
                "a path that no request can have",
                "begin the path with /, and leave out a query",
            ));
        }
        match ROUTES.into_iter().find(|known| *known == route) {
            Some(served_as) => Ok(Route {
                path: path.to_owned(),
                served_as,
            }),
            None => Err(Complaint::value(
                format!("{route} is no route that can be read"),
                format!("write one of {}", ROUTES.join(", ")),
            )),
        }
    }

    fn show(&self, value: &Route) -> Value {
        Value::from(format!("{}={}", value.path, value.served_as))
    }

    fn name(&self) -> &'static str {
        "PATH=ROUTE"
    }

    fn range(&self) -> String {
        format!("ROUTE `{}`", ROUTES.join("`, `"))
    }

    fn schema(&self) -> Value {
        let routes: Vec<String> = ROUTES.map(|route| route.replace('*', "[*]")).to_vec();
        json!({"type": "string", "pattern": format!("^/[!-~]*=({})$", routes.join("|"))})
    }
}
