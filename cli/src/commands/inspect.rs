//! `seamgate inspect FILE.wasm`: what a component exports and imports.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use seamgate::seams::SeamName;
use seamgate::{ComponentSource, EngineProfile, Inspection, Tier};
use serde_json::json;

use crate::printer::{Printer, Style};
use crate::setup;

pub(crate) fn run(printer: &mut Printer, file: &Path, json: bool) -> Result<ExitCode> {
    let name = file
        .file_stem()
        .map_or("policy".into(), |stem| stem.to_string_lossy())
        .into_owned();
    let source = ComponentSource::File(file.to_owned());
    let (bytes, digest) = source.read(&name)?;
    let size = bytes.len();
    let sandbox = setup::sandbox(EngineProfile::OneShot)?;
    let inspection = sandbox.inspect(&name, &bytes)?;
    if json {
        printer.line(json!({
            "file": file,
            "bytes": size,
            "sha256": digest.to_string(),
            "exports": inspection.exports,
            "other-exports": inspection.other_exports,
            "imports": inspection.imports,
            "grants": inspection.needs(),
            "tier": tier(&inspection),
            "loads": loads(&inspection, &name).is_ok(),
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    printer.line(printer.styled(Style::Strong, &file.display().to_string()))?;
    printer.line(format_args!("  size     {size} bytes"))?;
    printer.line(format_args!("  sha256   {digest}"))?;
    let seams: Vec<String> = inspection
        .exports
        .iter()
        .map(|export| match export.tier() {
            Tier::Trusted if export.seam() == SeamName::AroundTool.as_str() => format!(
                "{} (trusted only, version {}; asked by programs that run tools, not by `seamgate hook`)",
                export.seam(),
                export.version
            ),
            Tier::Trusted if export.interface == export.seam() => {
                format!(
                    "{} (trusted only, version {})",
                    export.seam(),
                    export.version
                )
            }
            Tier::Trusted => format!(
                "{} (trusted form, version {})",
                export.seam(),
                export.version
            ),
            Tier::Untrusted => format!("{} (version {})", export.seam(), export.version),
        })
        .collect();
    printer.line(format_args!("  seams    {}", listed(&seams)))?;
    if !inspection.other_exports.is_empty() {
        printer.line(format_args!(
            "  ignored  {} (exported, and never called)",
            inspection.other_exports.join(", ")
        ))?;
    }
    let imports: Vec<String> = inspection
        .imports
        .iter()
        .map(|import| match import.as_str() {
            "wasi:config/store@0.2.0-rc.1" => format!("{import} (its own settings)"),
            "wasi:keyvalue/store@0.2.0-draft2" => format!("{import} (its own state)"),
            "seamgate:policy/next@0.1.0" => format!("{import} (the rest of a tool call)"),
            other => other.to_owned(),
        })
        .collect();
    printer.line(format_args!("  imports  {}", listed(&imports)))?;
    let grants = inspection.needs();
    if !grants.is_empty() {
        printer.line(format_args!("  grants   {grants}"))?;
    }
    printer.line(format_args!("  tier     {}", tier(&inspection)))?;
    match loads(&inspection, &name) {
        Ok(()) => printer.line(format_args!(
            "  loads    {}",
            printer.styled(Style::Good, "yes")
        ))?,
        Err(error) => {
            printer.line(format_args!(
                "  loads    {}: {error}",
                printer.styled(Style::Bad, "no")
            ))?;
            if let Some(hint) = error.hint() {
                printer.line(format_args!("           hint: {hint}"))?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The least tier that the component's exports need.
fn tier(inspection: &Inspection) -> Tier {
    if inspection
        .exports
        .iter()
        .any(|export| export.tier() == Tier::Trusted)
    {
        Tier::Trusted
    } else {
        Tier::Untrusted
    }
}

fn loads(inspection: &Inspection, name: &str) -> Result<(), seamgate::LoadError> {
    inspection.check(name, tier(inspection), &inspection.needs())
}

fn listed(items: &[String]) -> String {
    if items.is_empty() {
        "none".to_owned()
    } else {
        items.join("\n           ")
    }
}
