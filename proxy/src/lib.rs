//! Room `proxy`.
