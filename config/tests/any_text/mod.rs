//! What holds for any text that is taken for a configuration.
//!
//! It panics where something doesn't hold. The fuzz target runs it on what a fuzzer makes up, the ordinary tests on text that
//! looks like YAML, and on what the fuzzer kept. An input is a file's text and, after a NUL, a flag on each line.

#![allow(
    dead_code,
    reason = "each of those who include this module uses a part of it"
)]

use config::{Effective, Environment, Faults, FileText, Flag, Sources, check, print, print_json};

pub(crate) fn check_file(text: &str, flags: &[Flag]) -> Result<Effective, Faults> {
    check(&Sources {
        file: Some(FileText {
            name: "c.yaml",
            text,
        }),
        environment: &Environment::default(),
        flags,
    })
}

/// Takes an input apart and checks it.
pub(crate) fn check_input(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let (file, flags) = text.split_once('\0').unwrap_or((text, ""));
    let flags: Vec<Flag> = flags.lines().map(Flag::assignment).collect();
    check_any(file, &flags);
}

/// It is refused with faults that each say what to do, or what is printed of it is accepted as the same.
pub(crate) fn check_any(text: &str, flags: &[Flag]) {
    match check_file(text, flags) {
        Err(faults) => check_faults(&faults),
        Ok(effective) => {
            check_again(&effective, &print(&effective));
            // JSON is YAML.
            let json = print_json(&effective)["config"].to_string();
            check_again(&effective, &json);
        }
    }
}

fn check_faults(faults: &Faults) {
    assert!(faults.iter().next().is_some(), "refused for no reason");
    for fault in faults {
        assert!(!fault.wrong.is_empty() && !fault.fix.is_empty(), "{fault}");
        let said = fault.to_string();
        assert!(said.lines().count() <= 3 && said.len() < 2_000, "{said}");
    }
}

/// What was printed is read as what it was printed of.
pub(crate) fn check_again(effective: &Effective, printed: &str) {
    let again = check_file(printed, &[]).unwrap_or_else(|faults| panic!("{faults}\n{printed}"));
    assert_eq!(again.checked, effective.checked, "{printed}");
    assert_eq!(again.warnings.len(), effective.warnings.len(), "{printed}");
    let values = |effective: &Effective| -> Vec<_> {
        let settings = effective.settings.iter();
        settings.map(|setting| setting.value.clone()).collect()
    };
    assert_eq!(values(&again), values(effective), "{printed}");
}
