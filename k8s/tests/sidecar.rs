//! What the manifest repeats, held against the configuration in its own ConfigMap.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, and these are functions of tests"
)]

use std::time::Duration;

use config::{Effective, Environment, FileText, Sources};
use k8s::SIDECAR;
use serde_json::{Value, json};

/// Time that must be left when every wait has been used up.
const MARGIN: Duration = Duration::from_secs(10);

/// The manifest's documents and the configuration that they carry.
struct Manifest {
    config_map: Value,
    service: Value,
    pod: Value,
    effective: Effective,
}

fn manifest() -> Manifest {
    let documents: Vec<Value> = serde_saphyr::from_multiple(SIDECAR).unwrap();
    let of_kind = |kind: &str| {
        documents
            .iter()
            .find(|document| document["kind"] == kind)
            .unwrap()
            .clone()
    };
    let config_map = of_kind("ConfigMap");
    let effective = config::check(&Sources {
        file: Some(FileText {
            name: "loadproof.yaml",
            text: config_map["data"]["loadproof.yaml"].as_str().unwrap(),
        }),
        environment: &Environment::default(),
        flags: &[],
    });
    Manifest {
        service: of_kind("Service"),
        pod: of_kind("Deployment")["spec"]["template"].clone(),
        effective: effective.unwrap_or_else(|faults| panic!("{faults}")),
        config_map,
    }
}

impl Manifest {
    fn sidecar(&self) -> &Value {
        &self.pod["spec"]["initContainers"][0]
    }

    fn engine(&self) -> &Value {
        &self.pod["spec"]["containers"][0]
    }

    /// The engine's argument `--NAME=…`.
    fn engine_argument(&self, name: &str) -> &str {
        let prefix = format!("--{name}=");
        let arguments = self.engine()["args"]
            .as_array()
            .unwrap()
            .iter()
            .map(|argument| argument.as_str().unwrap());
        arguments
            .filter_map(|argument| argument.strip_prefix(&prefix))
            .next()
            .unwrap()
    }

    /// The sidecar's port called `name`.
    fn port(&self, name: &str) -> u64 {
        let ports = self.sidecar()["ports"].as_array().unwrap();
        ports.iter().find(|port| port["name"] == name).unwrap()["containerPort"]
            .as_u64()
            .unwrap()
    }
}

fn seconds(value: &Value) -> Duration {
    Duration::from_secs(value.as_u64().unwrap())
}

/// `512Mi` in bytes.
fn memory(value: &Value) -> u64 {
    let mebibytes = value.as_str().unwrap().strip_suffix("Mi").unwrap();
    mebibytes.parse::<u64>().unwrap() << 20
}

#[test]
fn the_configuration_passes_without_a_warning() {
    let said: Vec<String> = manifest()
        .effective
        .warnings
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(said, Vec::<String>::new());
}

#[test]
fn the_configuration_is_where_the_sidecar_reads_it() {
    let manifest = manifest();
    let sidecar = manifest.sidecar();
    let name = &manifest.config_map["metadata"]["name"];
    let file = manifest.config_map["data"]
        .as_object()
        .unwrap()
        .keys()
        .next()
        .unwrap();
    let mount = &sidecar["volumeMounts"][0];
    let volumes = manifest.pod["spec"]["volumes"].as_array().unwrap();
    let volume = volumes
        .iter()
        .find(|volume| volume["name"] == mount["name"])
        .unwrap();
    assert_eq!(&volume["configMap"]["name"], name);
    assert_eq!(mount["readOnly"], json!(true));
    let path = format!("{}/{file}", mount["mountPath"].as_str().unwrap());
    assert_eq!(sidecar["args"], json!(["proxy", "--config", path]));
}

#[test]
fn ports_are_those_that_the_configuration_opens() {
    let manifest = manifest();
    let checked = &manifest.effective.checked;
    let listen = checked.listen[0].address().expect("a Service needs a port");
    assert!(
        listen.ip().is_unspecified(),
        "the Service reaches the pod's own address"
    );
    assert!(
        checked.admin.ip().is_unspecified(),
        "the kubelet and Prometheus reach the pod's own address"
    );
    assert_eq!(manifest.port("http"), u64::from(listen.port()));
    assert_eq!(manifest.port("metrics"), u64::from(checked.admin.port()));
    assert_eq!(manifest.service["spec"]["ports"][0]["targetPort"], "http");
    assert_eq!(
        manifest.service["spec"]["selector"],
        manifest.pod["metadata"]["labels"]
    );
}

#[test]
fn the_engine_listens_where_only_the_sidecar_reaches_it() {
    let manifest = manifest();
    let engine = &manifest.effective.checked.upstream.at[0];
    let (host, port) = ("127.0.0.1", manifest.engine_argument("port"));
    assert_eq!(manifest.engine_argument("host"), host);
    assert_eq!(engine.to_string(), format!("http://{host}:{port}"));
    assert_eq!(manifest.engine()["ports"], Value::Null);
    for probe in ["startupProbe", "readinessProbe"] {
        let asked = &manifest.engine()[probe]["httpGet"];
        assert_eq!(
            asked["port"],
            json!(manifest.port("http")),
            "{probe} goes through the sidecar"
        );
    }
}

#[test]
fn fault_82_the_sidecar_is_native_and_probed_on_its_own_port() {
    let manifest = manifest();
    let sidecar = manifest.sidecar();
    assert_eq!(sidecar["restartPolicy"], "Always");
    let image = format!("loadproof:{}", env!("CARGO_PKG_VERSION"));
    assert_eq!(sidecar["image"], json!(image));
    assert_eq!(
        sidecar["startupProbe"]["httpGet"],
        json!({"path": "/-/started", "port": "metrics"})
    );
    assert_eq!(
        sidecar["readinessProbe"]["httpGet"],
        json!({"path": "/-/ready", "port": "metrics"})
    );
}

/// Kubernetes stops the engine first, after its hook, and the sidecar after it; all within one grace period.
#[test]
fn fault_82_the_grace_period_covers_every_wait_and_a_margin() {
    let manifest = manifest();
    let drain = &manifest.effective.checked.drain;
    let hook = seconds(&manifest.engine()["lifecycle"]["preStop"]["sleep"]["seconds"]);
    let engine = Duration::from_secs(
        manifest
            .engine_argument("shutdown-timeout")
            .parse()
            .unwrap(),
    );
    let grace = seconds(&manifest.pod["spec"]["terminationGracePeriodSeconds"]);
    let waits = hook + engine + drain.delay + drain.timeout;
    assert!(
        grace >= waits + MARGIN,
        "{grace:?} is less than {waits:?} and {MARGIN:?}"
    );
}

/// Queues are the only memory that grows with stalled clients.
#[test]
fn the_memory_limit_covers_full_queues() {
    let manifest = manifest();
    let limits = &manifest.effective.checked.limits;
    let queues = limits.connections * limits.queue_bytes + limits.queue_bytes_total;
    let queues = u64::try_from(queues).unwrap();
    let limit = memory(&manifest.sidecar()["resources"]["limits"]["memory"]);
    let request = memory(&manifest.sidecar()["resources"]["requests"]["memory"]);
    assert!(
        limit >= queues + request,
        "{limit} is less than {queues} of full queues and {request}"
    );
}

/// The fields of the Pod Security Standard "restricted", and those beside it that cost nothing.
#[test]
fn fault_82_the_pod_is_restricted() {
    let manifest = manifest();
    let pod = &manifest.pod["spec"];
    assert_eq!(pod["securityContext"]["runAsNonRoot"], json!(true));
    assert_ne!(pod["securityContext"]["runAsUser"], json!(0));
    assert_eq!(
        pod["securityContext"]["seccompProfile"]["type"],
        "RuntimeDefault"
    );
    assert_eq!(pod["automountServiceAccountToken"], json!(false));
    assert_eq!(pod["enableServiceLinks"], json!(false));
    for host in ["hostNetwork", "hostPID", "hostIPC"] {
        assert_eq!(pod[host], Value::Null, "{host}");
    }
    for container in [manifest.sidecar(), manifest.engine()] {
        let context = &container["securityContext"];
        assert_eq!(
            context["allowPrivilegeEscalation"],
            json!(false),
            "{}",
            container["name"]
        );
        assert_eq!(
            context["capabilities"],
            json!({"drop": ["ALL"]}),
            "{}",
            container["name"]
        );
        assert_eq!(context["privileged"], Value::Null, "{}", container["name"]);
    }
    assert_eq!(
        manifest.sidecar()["securityContext"]["readOnlyRootFilesystem"],
        json!(true)
    );
    let allowed = ["configMap", "emptyDir"];
    for volume in pod["volumes"].as_array().unwrap() {
        assert!(
            allowed.iter().any(|kind| volume[kind].is_object()),
            "{volume}"
        );
    }
}
