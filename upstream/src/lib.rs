//! Room `upstream`.
