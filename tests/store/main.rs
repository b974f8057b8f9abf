//! The store as an application sees it: operations as JSON in, answers out, over memory and fake embedders.

mod basics;
mod batches;
mod cases;
mod placeholder;
mod support;
mod time;
