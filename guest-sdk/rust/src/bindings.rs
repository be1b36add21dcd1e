//! What `wit-bindgen` makes of the interfaces: one module per seam, each with the seam's types, a `Guest` trait and an
//! `export!` macro.
//!
//! The component model has no optional exports, and a policy is to export the seams it stands at and no others. So each
//! seam is generated from a world of its own, and [`policy!`](crate::policy!) calls the `export!` of those it was given.
//! What the seams share is pointed at the one module that owns it, so that `ToolCall` is the same type at every seam.
//!
//! Not for use by hand: the types are re-exported at the crate's root.

/// The interface `types`, which owns what every seam speaks about.
pub mod shared {
    wit_bindgen::generate!({
        inline: "package seamgate:sdk; world shared { import seamgate:policy/types@0.1.0; }",
        path: "../../wit",
        additional_derives: [Clone, PartialEq, Eq],
        generate_all,
        generate_unused_types: true,
    });
    pub use self::seamgate::policy::types;
}

/// The policy's settings, as the host hands them out.
pub mod settings {
    wit_bindgen::generate!({ path: "../../wit", world: "with-settings", generate_all });
    pub use self::wasi::config::store;
}

/// What the policy keeps, in the host's hands.
pub mod state {
    wit_bindgen::generate!({ path: "../../wit", world: "with-state", generate_all });
    pub use self::wasi::keyvalue::store;
}

/// Generates the module of one seam: its name and its world.
macro_rules! seam {
    ($module:ident, $world:tt) => {
        #[doc = concat!("The world `", $world, "`.")]
        pub mod $module {
            wit_bindgen::generate!({
                path: "../../wit",
                world: $world,
                additional_derives: [Clone, PartialEq, Eq],
                pub_export_macro: true,
                generate_unused_types: true,
                with: {
                    "seamgate:policy/types@0.1.0": crate::bindings::shared::types,
                },
            });
            pub use self::exports::seamgate::policy::$module::*;
        }
    };
}

seam!(session_start, "only-session-start");
seam!(prompt_submit, "only-prompt-submit");
seam!(trusted_prompt_submit, "only-trusted-prompt-submit");
seam!(rewrite_input, "only-rewrite-input");
seam!(pre_tool, "only-pre-tool");
seam!(trusted_pre_tool, "only-trusted-pre-tool");
seam!(guard, "only-guard");
seam!(post_tool, "only-post-tool");
seam!(trusted_post_tool, "only-trusted-post-tool");
seam!(tool_result, "only-tool-result");
seam!(turn_stopping, "only-turn-stopping");
seam!(subagent_start, "only-subagent-start");
seam!(subagent_stop, "only-subagent-stop");
seam!(permission_request, "only-permission-request");
seam!(
    trusted_permission_request,
    "only-trusted-permission-request"
);
seam!(pre_compact, "only-pre-compact");
seam!(observe, "only-observe");

/// The world `only-around-tool`. Unlike the others it imports functions too, those of `next`.
pub mod around_tool {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "only-around-tool",
        additional_derives: [Clone, PartialEq, Eq],
        pub_export_macro: true,
        generate_unused_types: true,
        with: {
            "seamgate:policy/types@0.1.0": crate::bindings::shared::types,
            "seamgate:policy/next@0.1.0": generate,
        },
    });
    pub use self::exports::seamgate::policy::around_tool::*;
    pub use self::seamgate::policy::next::Next;
}
