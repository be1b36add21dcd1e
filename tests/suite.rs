//! All whole-product suites, in one binary.

mod around;
mod conformance;
mod examples;
mod hostile;
mod layout;
mod reference;
