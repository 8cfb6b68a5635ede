//! Why an exchange was forwarded without being measured, or without being measured to its end.

/// Why an exchange was not, or not wholly, measured: the label `reason` of `unmeasured_total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unmeasured {
    /// The body was compressed and could not be read, or not to its end.
    Opaque,
    /// A line was above the decoder's limit.
    OversizeEvent,
    /// The observer failed.
    Unobserved,
    /// The request was too long to be made to ask for usage.
    OversizeRequest,
}

impl Unmeasured {
    /// Every reason, in label order.
    pub const ALL: [Self; 4] = [
        Self::Opaque,
        Self::OversizeEvent,
        Self::Unobserved,
        Self::OversizeRequest,
    ];

    /// The label value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Opaque => "opaque",
            Self::OversizeEvent => "oversize_event",
            Self::Unobserved => "unobserved",
            Self::OversizeRequest => "oversize_request",
        }
    }
}
