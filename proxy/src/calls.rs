//! The exchanges of a gRPC call that carries many: each begins when its request arrives.

use crate::caller::Caller;
use crate::relay::Relay;
use std::sync::Arc;
use upstream::{Observed, ObservedCalls, Opener};
use wire::{Endpoint, Passing};

/// One such call.
struct Calls {
    relay: Arc<Relay>,
    client: Arc<Caller>,
    endpoint: Endpoint,
}

/// What of a call to `endpoint` is measured.
pub(crate) fn observed(
    relay: &Arc<Relay>,
    client: &Arc<Caller>,
    endpoint: Endpoint,
) -> ObservedCalls {
    ObservedCalls {
        endpoint,
        recorder: relay.ledger.clone(),
        opener: Arc::new(Calls {
            relay: Arc::clone(relay),
            client: Arc::clone(client),
            endpoint,
        }),
    }
}

impl Opener for Calls {
    fn open(&self) -> Observed {
        let exchange = self.relay.arrived(self.endpoint, &self.client);
        self.relay.observe(exchange)
    }

    fn passed(&self) {
        self.relay.ledger.passed(Passing::Other);
    }
}
