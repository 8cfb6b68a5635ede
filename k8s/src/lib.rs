//! Kubernetes manifests of the sidecar.
//!
//! A manifest repeats what the configuration says: ports, paths, times, memory. Nothing here may drift from it, so the
//! tests read the manifest and hold each repetition against the configuration that is checked out of its own ConfigMap.

/// A ConfigMap, a Service and a Deployment of an engine with loadproof as a native sidecar, as YAML documents.
pub const SIDECAR: &str = include_str!("../sidecar.yaml");
