//! The seams as they cross the boundary, in version 0.1.0 of `seamgate:policy`.
//!
//! A released version keeps its bindings for ever; the next one gets a module of its own beside this.

use wasmtime::component::{Component, InstancePre};

mod bindings {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "trusted-policy",
        imports: { default: async | trappable },
        exports: { default: async },
        with: {
            "seamgate:policy/next.next": crate::sandbox::around::Next,
            "wasi:keyvalue/store.bucket": crate::sandbox::state::Bucket,
        },
    });
}

pub(crate) use bindings::exports::seamgate::policy::*;
pub(crate) use bindings::seamgate::policy::{next, types};
pub(crate) use bindings::wasi::config::store as config;
pub(crate) use bindings::wasi::keyvalue::store as keyvalue;

/// The package and version whose interfaces are seams.
pub(crate) const PACKAGE: &str = "seamgate:policy";
pub(crate) const VERSION: &str = "0.1.0";

macro_rules! exports {
    ($($interface:ident = $name:literal),* $(,)?) => {
        /// Where the functions of each exported seam are, for those that a policy exports.
        #[derive(Default)]
        pub struct Exports {
            $(pub(crate) $interface: Option<$interface::GuestIndices>,)*
        }

        impl Exports {
            /// Looks up what the component exports.
            pub(crate) fn find<T>(instance: &InstancePre<T>, component: &Component) -> wasmtime::Result<Self> {
                let mut exports = Self::default();
                $(
                    let name = concat!("seamgate:policy/", $name, "@0.1.0");
                    if component.get_export_index(None, name).is_some() {
                        exports.$interface = Some($interface::GuestIndices::new(instance)?);
                    }
                )*
                Ok(exports)
            }

            /// Checks the exports' types against an instance: linking alone does not notice that a type has changed.
            pub(crate) fn check<T: 'static>(
                &self,
                store: &mut wasmtime::Store<T>,
                instance: &wasmtime::component::Instance,
            ) -> wasmtime::Result<()> {
                $(
                    if let Some(seam) = &self.$interface {
                        seam.load(&mut *store, instance)?;
                    }
                )*
                Ok(())
            }
        }

        /// The interfaces of the package that are exports of a policy.
        pub(crate) const INTERFACES: &[&str] = &[$($name),*];
    };
}

exports! {
    session_start = "session-start",
    prompt_submit = "prompt-submit",
    trusted_prompt_submit = "trusted-prompt-submit",
    rewrite_input = "rewrite-input",
    pre_tool = "pre-tool",
    trusted_pre_tool = "trusted-pre-tool",
    guard = "guard",
    around_tool = "around-tool",
    post_tool = "post-tool",
    trusted_post_tool = "trusted-post-tool",
    tool_result = "tool-result",
    turn_stopping = "turn-stopping",
    subagent_start = "subagent-start",
    subagent_stop = "subagent-stop",
    permission_request = "permission-request",
    trusted_permission_request = "trusted-permission-request",
    pre_compact = "pre-compact",
    observe = "observe",
}
