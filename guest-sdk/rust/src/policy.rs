//! The macro that makes a component of functions.

/// Makes the crate a policy: exports the seams it names, each decided by the function beside it, and nothing else.
///
/// ```
/// # use seamgate_sdk::{PreToolDecision, Prompt, PromptSubmitDecision, ToolCall};
/// #[derive(serde::Deserialize)]
/// #[serde(default, deny_unknown_fields)]
/// struct Settings {
///     limit: usize,
/// }
///
/// impl Default for Settings {
///     fn default() -> Self {
///         Self { limit: 100_000 }
///     }
/// }
///
/// fn pre_tool(call: &ToolCall, settings: &Settings) -> PreToolDecision {
///     if call.arguments.len() > settings.limit {
///         PreToolDecision::ask("unusually long arguments")
///     } else {
///         PreToolDecision::abstain()
///     }
/// }
///
/// fn prompt_submit(prompt: &Prompt, settings: &Settings) -> PromptSubmitDecision {
///     if prompt.text.len() > settings.limit {
///         PromptSubmitDecision::block("the prompt is too long")
///     } else {
///         PromptSubmitDecision::proceed()
///     }
/// }
///
/// seamgate_sdk::policy! {
///     settings: Settings,
///     pre_tool: pre_tool,
///     prompt_submit: prompt_submit,
/// }
/// ```
///
/// `settings:` comes first where there is one. Its type implements `serde::de::DeserializeOwned`, and every function
/// takes it as the last parameter. Settings that don't fit the type mean that the policy could not decide.
///
/// A function returns the seam's decision, or a `Result` of it. An error means "could not decide": it goes to the
/// host's log, and the seam then does what it does when a policy fails, which closes a gate.
///
/// | Seam | Takes | Decides |
/// |---|---|---|
/// | `session_start` | `&Session` | `Vec<String>`, the contexts |
/// | `prompt_submit` | `&Prompt` | [`PromptSubmitDecision`](crate::PromptSubmitDecision) |
/// | `trusted_prompt_submit` | `&Prompt` | [`TrustedPromptSubmitDecision`](crate::TrustedPromptSubmitDecision) |
/// | `rewrite_input` | `&ToolCall` | [`RewriteInputDecision`](crate::RewriteInputDecision) |
/// | `pre_tool` | `&ToolCall` | [`PreToolDecision`](crate::PreToolDecision) |
/// | `trusted_pre_tool` | `&ToolCall` | [`TrustedPreToolDecision`](crate::TrustedPreToolDecision) |
/// | `guard` | `&ToolCall` | [`GuardDecision`](crate::GuardDecision) |
/// | `around_tool` | `&ToolCall`, `&Next` | [`AroundToolDecision`](crate::AroundToolDecision) |
/// | `post_tool` | `&FinishedCall` | [`PostToolDecision`](crate::PostToolDecision) |
/// | `trusted_post_tool` | `&FinishedCall` | [`TrustedPostToolDecision`](crate::TrustedPostToolDecision) |
/// | `tool_result` | `&FinishedCall` | `()` |
/// | `turn_stopping` | `&Turn` | [`TurnStoppingDecision`](crate::TurnStoppingDecision) |
/// | `subagent_start` | `&Subagent` | `Vec<String>`, the contexts |
/// | `subagent_stop` | `&Turn` | [`TurnStoppingDecision`](crate::TurnStoppingDecision) |
/// | `permission_request` | `&ToolCall` | [`PermissionRequestDecision`](crate::PermissionRequestDecision) |
/// | `trusted_permission_request` | `&ToolCall` | [`TrustedPermissionRequestDecision`](crate::TrustedPermissionRequestDecision) |
/// | `pre_compact` | `&Compaction` | [`PreCompactDecision`](crate::PreCompactDecision) |
/// | `observe` | `&Event` | `()` |
///
/// On other targets than `wasm32` nothing is exported, but the functions' types are checked all the same.
#[macro_export]
macro_rules! policy {
    (settings: $settings:ty, $($seam:ident: $function:expr),+ $(,)?) => {
        $($crate::__seam!($seam, $function, $settings);)+
    };
    (settings: $settings:ty $(,)?) => {
        ::core::compile_error!("a policy names at least one seam beside its settings");
    };
    ($($seam:ident: $function:expr),+ $(,)?) => {
        $($crate::__seam!($seam, $function);)+
    };
}

/// One seam of a policy: which event it takes and what it decides.
#[doc(hidden)]
#[macro_export]
macro_rules! __seam {
    (session_start, $($rest:tt)+) => { $crate::__decide!(session_start(Session) -> ::std::vec::Vec<::std::string::String>, $($rest)+); };
    (prompt_submit, $($rest:tt)+) => { $crate::__decide!(prompt_submit(Prompt) -> $crate::PromptSubmitDecision, $($rest)+); };
    (trusted_prompt_submit, $($rest:tt)+) => { $crate::__decide!(trusted_prompt_submit(Prompt) -> $crate::TrustedPromptSubmitDecision, $($rest)+); };
    (rewrite_input, $($rest:tt)+) => { $crate::__decide!(rewrite_input(ToolCall) -> $crate::RewriteInputDecision, $($rest)+); };
    (pre_tool, $($rest:tt)+) => { $crate::__decide!(pre_tool(ToolCall) -> $crate::PreToolDecision, $($rest)+); };
    (trusted_pre_tool, $($rest:tt)+) => { $crate::__decide!(trusted_pre_tool(ToolCall) -> $crate::TrustedPreToolDecision, $($rest)+); };
    (guard, $($rest:tt)+) => { $crate::__decide!(guard(ToolCall) -> $crate::GuardDecision, $($rest)+); };
    (around_tool, $($rest:tt)+) => { $crate::__decide!(around_tool(ToolCall, next: Next) -> $crate::AroundToolDecision, $($rest)+); };
    (post_tool, $($rest:tt)+) => { $crate::__decide!(post_tool(FinishedCall) -> $crate::PostToolDecision, $($rest)+); };
    (trusted_post_tool, $($rest:tt)+) => { $crate::__decide!(trusted_post_tool(FinishedCall) -> $crate::TrustedPostToolDecision, $($rest)+); };
    (tool_result, $($rest:tt)+) => { $crate::__notice!(tool_result(FinishedCall), $($rest)+); };
    (turn_stopping, $($rest:tt)+) => { $crate::__decide!(turn_stopping(Turn) -> $crate::TurnStoppingDecision, $($rest)+); };
    (subagent_start, $($rest:tt)+) => { $crate::__decide!(subagent_start(Subagent) -> ::std::vec::Vec<::std::string::String>, $($rest)+); };
    (subagent_stop, $($rest:tt)+) => { $crate::__decide!(subagent_stop(Turn) -> $crate::TurnStoppingDecision, $($rest)+); };
    (permission_request, $($rest:tt)+) => { $crate::__decide!(permission_request(ToolCall) -> $crate::PermissionRequestDecision, $($rest)+); };
    (trusted_permission_request, $($rest:tt)+) => { $crate::__decide!(trusted_permission_request(ToolCall) -> $crate::TrustedPermissionRequestDecision, $($rest)+); };
    (pre_compact, $($rest:tt)+) => { $crate::__decide!(pre_compact(Compaction) -> $crate::PreCompactDecision, $($rest)+); };
    (observe, $($rest:tt)+) => { $crate::__notice!(observe(Event), $($rest)+); };
    (settings, $($rest:tt)+) => { ::core::compile_error!("`settings` comes first, before every seam"); };
    ($seam:ident, $($rest:tt)+) => {
        ::core::compile_error!(::core::concat!("there is no seam `", ::core::stringify!($seam), "`; the documentation of `policy!` lists them"));
    };
}

/// A seam whose hooks decide something.
#[doc(hidden)]
#[macro_export]
macro_rules! __decide {
    ($seam:ident($event:ident $(, $next:ident: $next_type:ident)?) -> $decision:ty, $function:expr $(, $settings:ty)?) => {
        const _: () = {
            struct Policy;
            impl $crate::bindings::$seam::Guest for Policy {
                fn decide(
                    event: $crate::$event
                    $(, $next: &$crate::bindings::$seam::$next_type)?
                ) -> ::core::result::Result<$decision, ::std::string::String> {
                    $crate::answer::<$decision>(($function)(
                        &event
                        $(, &$crate::$next_type::lent($next))?
                        $(, &$crate::settings::read::<$settings>()?)?
                    ))
                }
            }
            #[cfg(target_arch = "wasm32")]
            $crate::bindings::$seam::export!(Policy with_types_in $crate::bindings::$seam);
        };
    };
}

/// A seam whose hooks are told something. It has no way to say that the settings are wrong but to fail.
#[doc(hidden)]
#[macro_export]
macro_rules! __notice {
    ($seam:ident($event:ident), $function:expr $(, $settings:ty)?) => {
        const _: () = {
            struct Policy;
            impl $crate::bindings::$seam::Guest for Policy {
                fn observe(event: $crate::$event) {
                    let () = ($function)(
                        &event
                        $(, &$crate::settings::read::<$settings>().unwrap_or_else(|reason| ::core::panic!("{reason}")))?
                    );
                }
            }
            #[cfg(target_arch = "wasm32")]
            $crate::bindings::$seam::export!(Policy with_types_in $crate::bindings::$seam);
        };
    };
}
