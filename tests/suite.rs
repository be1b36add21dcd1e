//! All whole-product suites, in one binary.

mod hostile;
mod layout;
