//! Does a replay reproduce the recorded load? What is compared, and when the run is invalid.
//!
//! Lengths and gaps as distributions ([`Lengths`]), arrivals over time ([`Arrivals`]), what was sent against what was
//! planned ([`ScheduleLag`]), lengths jointly ([`spearman`]).

mod arrivals;
mod joint;
mod lag;
mod lengths;

pub use arrivals::{Arrivals, WindowCounts};
pub use joint::spearman;
pub use lag::ScheduleLag;
pub use lengths::Lengths;
