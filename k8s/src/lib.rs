//! Room `k8s`.
