//! The one source of time. It is read once per operation, so that one answer never mixes two instants.

/// Milliseconds since the Unix epoch, as `Date` counts them.
pub type Millis = i64;

/// Tells the time.
pub trait Clock {
    /// Now.
    fn now(&self) -> Millis;
}
