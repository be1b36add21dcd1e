//! Guests for tests, made from the text of a core module.
//!
//! Where the attack is the point no tool chain is needed: a module of a few lines is readable, and becomes a component
//! against any world of `wit/`, or against a version of it that was changed on purpose.

use std::fs;
use std::path::{Path, PathBuf};

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// The interfaces as they are in the project.
pub fn wit_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit")
}

/// Makes a component of a core module's text, against a world of the project's interfaces.
///
/// # Panics
/// The text or the world does not fit; a guest that can't be made is a broken test.
pub fn component(module: &str, world: &str) -> Vec<u8> {
    component_against(&wit_folder(), module, world)
}

/// The same against the interfaces in another folder.
///
/// # Panics
/// As [`component`].
pub fn component_against(wit: &Path, module: &str, world: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(wit).expect("the interfaces parse");
    let world = resolve
        .select_world(&[package], Some(world))
        .expect("the world is there");
    let mut module = wat::parse_str(module).expect("the module parses");
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)
        .expect("the world can be embedded");
    ComponentEncoder::default()
        .validate(true)
        .module(&module)
        .expect("the module fits the world")
        .encode()
        .expect("the component can be made")
}

/// A copy of the interfaces in which some text was replaced, as another version of them would have it.
///
/// # Panics
/// The folder can't be written, or the text does not occur.
pub fn changed_wit(folder: &Path, replace: &str, with: &str) -> PathBuf {
    let target = folder.join("wit");
    let mut found = false;
    copy(&wit_folder(), &target, &mut |text| {
        found |= text.contains(replace);
        text.replace(replace, with)
    });
    assert!(found, "`{replace}` occurs in no file of wit/");
    target
}

fn copy(from: &Path, to: &Path, change: &mut impl FnMut(&str) -> String) {
    fs::create_dir_all(to).expect("the folder can be made");
    for entry in fs::read_dir(from).expect("the folder can be read") {
        let path = entry.expect("the entry can be read").path();
        let target = to.join(path.file_name().expect("an entry has a name"));
        if path.is_dir() {
            copy(&path, &target, change);
        } else {
            let text = fs::read_to_string(&path).expect("the file can be read");
            fs::write(target, change(&text)).expect("the file can be written");
        }
    }
}

/// What every module of a guest has: a memory, an allocator that never frees, and room for the result at address 64.
pub const PRELUDE: &str = r#"
    (memory (export "memory") 2)
    (global $free (mut i32) (i32.const 4096))
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
        (local $at i32)
        (local.set $at (i32.and (i32.add (global.get $free) (i32.const 7)) (i32.const -8)))
        (global.set $free (i32.add (local.get $at) (local.get 3)))
        (block $fits
            (br_if $fits (i32.le_u (global.get $free) (i32.mul (memory.size) (i32.const 65536))))
            (drop (memory.grow (i32.add (i32.div_u (local.get 3) (i32.const 65536)) (i32.const 1))))
        )
        (local.get $at)
    )
"#;

/// A guest at `pre-tool` whose function has this body. The result is `ok({abstain, []})` unless the body writes another
/// one; its record starts at address 64.
pub fn pre_tool(body: &str) -> Vec<u8> {
    component(
        &format!(
            r#"(module {PRELUDE}
                (func (export "seamgate:policy/pre-tool@0.1.0#decide") (param i32) (result i32)
                    (local $i i32)
                    {body}
                    (i32.const 64)
                )
            )"#
        ),
        "only-pre-tool",
    )
}

/// WebAssembly from its text, as it is.
///
/// # Panics
/// The text does not parse.
pub fn text(text: &str) -> Vec<u8> {
    wat::parse_str(text).expect("the text parses")
}
