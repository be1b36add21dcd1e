//! All whole-product suites, in one binary.

mod around;
mod conformance;
mod hostile;
mod layout;
mod reference;
