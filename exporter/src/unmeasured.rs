//! Why an exchange was forwarded without being measured, or without being measured to its end.

/// Why an exchange was not, or not wholly, measured: the label `reason` of `unmeasured_total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unmeasured {
    /// The body was compressed.
    Opaque,
    /// A line was above the decoder's limit.
    OversizeEvent,
    /// The observer failed.
    Unobserved,
    /// The connection was upgraded to another protocol.
    Upgrade,
    /// The route generates, but this version doesn't read it.
    Route,
}

impl Unmeasured {
    /// Every reason, in label order.
    pub const ALL: [Self; 5] = [
        Self::Opaque,
        Self::OversizeEvent,
        Self::Unobserved,
        Self::Upgrade,
        Self::Route,
    ];

    /// The label value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Opaque => "opaque",
            Self::OversizeEvent => "oversize_event",
            Self::Unobserved => "unobserved",
            Self::Upgrade => "upgrade",
            Self::Route => "route",
        }
    }
}
