//! What came of an event, for tables, logs and programs.

use std::time::Duration;

use seamgate::seams::{Described, Seam, SeamName};
use seamgate::{Answer, Asked, Failure, FailureCode, HookName};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::answer::HookAnswer;

/// An event that went through its seams.
#[derive(Debug, Clone)]
pub struct Handled {
    /// Every seam that was asked, in order. One that an earlier seam made moot is not among them.
    pub seams: Vec<SeamReport>,
    /// What the agent gets.
    pub answer: HookAnswer,
}

/// What came of asking one seam.
///
/// Serializes as `{"seam", "decision": {"decision", "reason"?, "contexts"?}, "hooks": [{"hook", "decision", "reason"?,
/// "contexts"?, "micros"}], "micros"}`; where nothing could be decided, `"failure": {"hook", "code", "message"}` takes the
/// place of the decision, for the seam and for each hook.
#[derive(Debug, Clone)]
pub struct SeamReport {
    /// The seam.
    pub seam: SeamName,
    /// The folded decision in short, or the failure that closed the seam.
    pub decision: Result<Described, Failure>,
    /// What each hook said that was asked, in order.
    pub answers: Vec<Answer>,
    /// How long it took altogether.
    pub elapsed: Duration,
}

impl SeamReport {
    pub(crate) fn of<S: Seam>(asked: &Asked<S>) -> Self {
        Self {
            seam: S::NAME,
            decision: match &asked.decision {
                Ok(folded) => Ok(S::describe(folded)),
                Err(failure) => Err(failure.clone()),
            },
            answers: asked.answers.clone(),
            elapsed: asked.elapsed,
        }
    }
}

impl Serialize for SeamReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let hooks: Vec<HookReport<'_>> = self.answers.iter().map(HookReport::from).collect();
        let mut report = serializer.serialize_struct("SeamReport", 4)?;
        report.serialize_field("seam", &self.seam)?;
        match &self.decision {
            Ok(described) => report.serialize_field("decision", described)?,
            Err(failure) => report.serialize_field("failure", &FailureReport::from(failure))?,
        }
        report.serialize_field("hooks", &hooks)?;
        report.serialize_field("micros", &micros(self.elapsed))?;
        report.end()
    }
}

fn micros(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX)
}

#[derive(Serialize)]
struct HookReport<'a> {
    hook: &'a HookName,
    #[serde(flatten)]
    said: Said<'a>,
    micros: u64,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Said<'a> {
    Decision(&'a Described),
    Failure { failure: FailureReport<'a> },
}

#[derive(Serialize)]
struct FailureReport<'a> {
    hook: &'a HookName,
    code: FailureCode,
    message: &'a str,
}

impl<'a> From<&'a Answer> for HookReport<'a> {
    fn from(answer: &'a Answer) -> Self {
        Self {
            hook: &answer.hook,
            said: match &answer.said {
                Ok(described) => Said::Decision(described),
                Err(failure) => Said::Failure {
                    failure: failure.into(),
                },
            },
            micros: micros(answer.elapsed),
        }
    }
}

impl<'a> From<&'a Failure> for FailureReport<'a> {
    fn from(failure: &'a Failure) -> Self {
        Self {
            hook: &failure.hook,
            code: failure.code,
            message: &failure.message,
        }
    }
}
