//! A tool call's arguments, before the call has an identity.

use super::{Agent, Described, Seam, SeamName, ToolCall};
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::value::RawValue;

use crate::failure::HookName;
use crate::json::Json;
use crate::sandbox::{CallContext, Lifted, PolicySeam, lossless, wire};

/// The seam `rewrite-input`.
#[derive(Debug)]
pub struct RewriteInput;

/// What one hook makes of the arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RewriteInputDecision {
    /// They stay.
    Keep,
    /// These take their place, the whole of them.
    Replace(Json),
}

/// One step of a chain of rewrites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewrite {
    /// Who rewrote them.
    pub hook: HookName,
    /// What they became.
    pub arguments: Json,
}

/// What all hooks made of the arguments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RewriteInputFold {
    /// Every rewrite, in order. The last one holds.
    pub rewrites: Vec<Rewrite>,
}

impl RewriteInputFold {
    /// The arguments that replace the original ones, where somebody rewrote them.
    pub fn arguments(&self) -> Option<&Json> {
        self.rewrites.last().map(|rewrite| &rewrite.arguments)
    }
}

/// A member of the arguments that two hooks changed, the later one after it had seen what the earlier one made of it.
///
/// The later one holds, as everywhere in a chain. That it does is on record, so that nobody has to guess which hook won.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// The member. None where it is the arguments as a whole, since they were or became something else than an object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// Whose change was changed again.
    pub earlier: HookName,
    /// Whose change holds, unless a later conflict says otherwise.
    pub later: HookName,
}

/// The conflicts in a chain of rewrites, in order.
pub(crate) fn conflicts(original: &Json, rewrites: &[Rewrite]) -> Vec<Conflict> {
    let mut found = Vec::new();
    let mut changed_by: BTreeMap<Option<String>, &HookName> = BTreeMap::new();
    let mut before = original;
    for Rewrite { hook, arguments } in rewrites {
        for member in changed(before, arguments) {
            // A change of the whole is a change of every member, and the other way round.
            let by_others = |by: &&&HookName| **by != hook;
            let earlier = match &member {
                None => changed_by.values().find(by_others),
                Some(_) => [&member, &None]
                    .into_iter()
                    .filter_map(|member| changed_by.get(member))
                    .find(by_others),
            };
            if let Some(earlier) = earlier.map(|by| (*by).clone()) {
                found.push(Conflict {
                    member: member.clone(),
                    earlier,
                    later: hook.clone(),
                });
            }
            changed_by.insert(member, hook);
        }
        before = arguments;
    }
    found
}

/// The members that differ, or none of them by name where one side is no object.
fn changed(before: &Json, after: &Json) -> Vec<Option<String>> {
    let members = |json: &Json| -> Option<BTreeMap<String, String>> {
        let raw: BTreeMap<String, &RawValue> = serde_json::from_str(json.text()).ok()?;
        let owned = raw
            .into_iter()
            .map(|(name, value)| (name, value.get().to_owned()));
        Some(owned.collect())
    };
    match (members(before), members(after)) {
        (Some(before), Some(after)) => {
            let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            names
                .into_iter()
                .filter(|name| before.get(*name) != after.get(*name))
                .map(|name| Some(name.clone()))
                .collect()
        }
        _ if before == after => Vec::new(),
        _ => vec![None],
    }
}

impl Seam for RewriteInput {
    const NAME: SeamName = SeamName::RewriteInput;
    type Event = ToolCall;
    type Decision = RewriteInputDecision;
    type Folded = RewriteInputFold;

    fn lift(hook: &HookName, decision: RewriteInputDecision) -> RewriteInputFold {
        match decision {
            RewriteInputDecision::Keep => RewriteInputFold::default(),
            RewriteInputDecision::Replace(arguments) => RewriteInputFold {
                rewrites: vec![Rewrite {
                    hook: hook.clone(),
                    arguments,
                }],
            },
        }
    }

    fn combine(mut earlier: RewriteInputFold, later: RewriteInputFold) -> RewriteInputFold {
        earlier.rewrites.extend(later.rewrites);
        earlier
    }

    fn closes(_: &RewriteInputFold) -> bool {
        false
    }

    fn advance(call: &ToolCall, folded: &RewriteInputFold) -> Option<ToolCall> {
        folded.arguments().map(|arguments| ToolCall {
            arguments: arguments.clone(),
            ..call.clone()
        })
    }

    fn tool(call: &ToolCall) -> Option<&str> {
        Some(&call.tool)
    }

    fn agent(call: &ToolCall) -> &Agent {
        &call.agent
    }

    fn describe(folded: &RewriteInputFold) -> Described {
        Described::word(if folded.rewrites.is_empty() {
            "keep"
        } else {
            "replace"
        })
    }
}

impl PolicySeam for RewriteInput {
    type Wire = wire::types::ToolCall;

    fn to_wire(call: &ToolCall) -> Self::Wire {
        call.to_wire()
    }

    async fn call(mut context: CallContext<'_>, call: &Self::Wire) -> Lifted<RewriteInputDecision> {
        use wire::rewrite_input::RewriteInputDecision as Said;
        let guest = context
            .seam(|exports| &exports.rewrite_input)?
            .load(&mut context.store, context.instance)?;
        match guest.call_decide(&mut context.store, call).await? {
            Ok(Said::Keep) => Ok(Ok(RewriteInputDecision::Keep)),
            Ok(Said::Replace(arguments)) => {
                Ok(Ok(RewriteInputDecision::Replace(lossless(arguments)?)))
            }
            Err(problem) => Ok(Err(problem)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(original: &str, steps: &[(&str, &str)]) -> Vec<(Option<String>, String, String)> {
        let rewrites: Vec<Rewrite> = steps
            .iter()
            .map(|(hook, arguments)| Rewrite {
                hook: (*hook).into(),
                arguments: Json::parse(*arguments).unwrap(),
            })
            .collect();
        conflicts(&Json::parse(original).unwrap(), &rewrites)
            .into_iter()
            .map(|one| (one.member, one.earlier.to_string(), one.later.to_string()))
            .collect()
    }

    #[test]
    fn hooks_that_change_different_members_have_no_conflict() {
        let steps = [
            ("a", r#"{"command":"ls -l","cwd":"/"}"#),
            ("b", r#"{"command":"ls -l","cwd":"/tmp"}"#),
            ("b", r#"{"command":"ls -l","cwd":"/srv"}"#),
        ];
        assert!(found(r#"{"command":"ls","cwd":"/"}"#, &steps).is_empty());
    }

    #[test]
    fn a_change_of_a_change_is_one() {
        let steps = [
            ("a", r#"{"command":"ls -l"}"#),
            ("b", r#"{"command":"ls","extra":1}"#),
            ("c", r#"{"command":"ls"}"#),
            ("d", "1"),
        ];
        let conflict = |member: Option<&str>, earlier: &str, later: &str| {
            (
                member.map(str::to_owned),
                earlier.to_owned(),
                later.to_owned(),
            )
        };
        assert_eq!(
            found(r#"{"command":"ls"}"#, &steps),
            [
                conflict(Some("command"), "a", "b"),
                conflict(Some("extra"), "b", "c"),
                conflict(None, "b", "d"),
            ]
        );
    }
}
