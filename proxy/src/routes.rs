//! Which requests are measured, and as what: the routes that are known by their paths, and the paths that the operator
//! says are served as one of them.

use wire::Endpoint;

/// The operator's own paths, in their order; the first that fits holds, before all that is known.
#[derive(Debug, Default)]
pub(crate) struct Routes(Vec<(String, Endpoint)>);

impl Routes {
    pub(crate) fn new(routes: &[config::Route]) -> Self {
        let known = |route: &config::Route| {
            let mut all = Endpoint::ALL.into_iter();
            let endpoint = all.find(|endpoint| endpoint.as_str() == route.served_as)?;
            Some((route.path.clone(), endpoint))
        };
        Self(routes.iter().filter_map(known).collect())
    }

    /// The endpoint of a request, or `None` if no tokens answer it.
    pub(crate) fn of(&self, method: &str, path: &str) -> Option<Endpoint> {
        let own = self.0.iter().find(|(pattern, _)| fits(pattern, path));
        match own {
            Some((_, endpoint)) if method == "POST" => Some(*endpoint),
            _ => Endpoint::of(method, path),
        }
    }
}

/// Whether a path has the segments of a pattern, in which `*` stands for any one.
fn fits(pattern: &str, path: &str) -> bool {
    let mut segments = path.split('/');
    let each = pattern.split('/').all(|wanted| {
        segments
            .next()
            .is_some_and(|segment| wanted == segment || (wanted == "*" && !segment.is_empty()))
    });
    each && segments.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::{Routes, fits};
    use wire::Endpoint;

    fn routes(pairs: &[(&str, &'static str)]) -> Routes {
        let route = |&(path, served_as): &(&str, &'static str)| config::Route {
            path: path.to_owned(),
            served_as,
        };
        Routes::new(&pairs.iter().map(route).collect::<Vec<_>>())
    }

    #[test]
    fn every_route_of_the_configuration_is_measured_and_the_other_way_round() {
        assert_eq!(config::ROUTES, Endpoint::ALL.map(Endpoint::as_str));
        for served_as in config::ROUTES {
            let endpoint = routes(&[("/own", served_as)]).of("POST", "/own");
            assert_eq!(endpoint.map(Endpoint::as_str), Some(served_as));
        }
    }

    #[test]
    fn the_operators_word_wins_over_what_is_known() {
        let routes = routes(&[
            ("/generate", "/v1/completions"),
            ("/*/chat", "/v1/chat/completions"),
        ]);
        assert_eq!(routes.of("POST", "/generate"), Some(Endpoint::Completions));
        assert_eq!(
            routes.of("POST", "/team/chat"),
            Some(Endpoint::ChatCompletions)
        );
        assert_eq!(routes.of("GET", "/team/chat"), None);
        assert_eq!(routes.of("POST", "/v1/messages"), Some(Endpoint::Messages));
    }

    #[test]
    fn a_star_is_one_segment() {
        assert!(fits("/a/*/c", "/a/b/c"));
        for path in ["/a//c", "/a/b/b/c", "/a/b", "/a/b/c/", "a/b/c"] {
            assert!(!fits("/a/*/c", path), "{path}");
        }
    }
}
