//! All whole-product suites, in one binary.

mod around;
mod hostile;
mod layout;
