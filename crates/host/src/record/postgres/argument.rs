//! Translates the arguments of SDT probes to the notation of uprobe events.
//!
//! An argument is `N@OPERAND`: N bytes, negative if signed, at an operand in the syntax of the x86-64 assembler
//! (<https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation>). Tracefs wants `OPERAND:TYPE` with its names
//! of registers (`Documentation/trace/uprobetracer.rst` of Linux).

/// Registers whose parts have names of their own: the name in tracefs, then those of 64, 32, 16 and 8 bits.
const REGISTERS: [[&str; 5]; 8] = [
    ["ax", "rax", "eax", "ax", "al"],
    ["bx", "rbx", "ebx", "bx", "bl"],
    ["cx", "rcx", "ecx", "cx", "cl"],
    ["dx", "rdx", "edx", "dx", "dl"],
    ["si", "rsi", "esi", "si", "sil"],
    ["di", "rdi", "edi", "di", "dil"],
    ["bp", "rbp", "ebp", "bp", "bpl"],
    ["sp", "rsp", "esp", "sp", "spl"],
];

/// Translates one argument. `None` where tracefs has no notation for it, such as an indexed or a global operand.
pub(super) fn translate(argument: &str) -> Option<String> {
    let (size, operand) = argument.split_once('@')?;
    let kind = match size {
        "1" => "u8",
        "2" => "u16",
        "4" => "u32",
        "8" => "u64",
        "-1" => "s8",
        "-2" => "s16",
        "-4" => "s32",
        "-8" => "s64",
        _ => return None,
    };
    Some(format!("{}:{kind}", location(operand)?))
}

/// Translates an argument that points to text, which is fetched.
pub(super) fn translate_text(argument: &str) -> Option<String> {
    let (_, operand) = argument.split_once('@').filter(|(size, _)| matches!(*size, "8" | "-8"))?;
    Some(format!("+0({}):string", location(operand)?))
}

fn location(operand: &str) -> Option<String> {
    if let Some(constant) = operand.strip_prefix('$') {
        return Some(format!("\\{}", integer(constant)?));
    }
    if let Some(name) = operand.strip_prefix('%') {
        return register(name).map(|name| format!("%{name}"));
    }
    let (offset, base) = operand.strip_suffix(')')?.split_once('(')?;
    let name = register(base.strip_prefix('%')?)?;
    let offset = if offset.is_empty() { 0 } else { integer(offset)? };
    Some(format!("{offset:+}(%{name})"))
}

fn integer(text: &str) -> Option<i64> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    if !digits.starts_with(|digit: char| digit.is_ascii_digit()) {
        return None;
    }
    let value = match digits.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16),
        None => digits.parse(),
    };
    Some(sign * value.ok()?)
}

fn register(name: &str) -> Option<String> {
    if let Some(found) = REGISTERS.iter().find(|names| names[1..].contains(&name)) {
        return Some(found[0].into());
    }
    let number = name.strip_prefix('r')?.trim_end_matches(['d', 'w', 'b']);
    let valid = matches!(number, "8" | "9" | "10" | "11" | "12" | "13" | "14" | "15");
    (valid && name.len() <= number.len() + 2).then(|| format!("r{number}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn arguments_of_real_probes_are_translated() {
        for (argument, expected) in [
            ("4@%ebx", "%bx:u32"),
            ("-4@%r15d", "%r15:s32"),
            ("1@%al", "%ax:u8"),
            ("8@%r9", "%r9:u64"),
            ("4@0(%r13)", "+0(%r13):u32"),
            ("4@(%rdi)", "+0(%di):u32"),
            ("-4@-136(%rbp)", "-136(%bp):s32"),
            ("1@$0", "\\0:u8"),
            ("-4@$-1", "\\-1:s32"),
            ("8@$0x1f", "\\31:u64"),
        ] {
            assert_eq!(translate(argument).as_deref(), Some(expected), "{argument}");
        }
        assert_eq!(translate_text("8@%rbx").as_deref(), Some("+0(%bx):string"));
        assert_eq!(translate_text("8@16(%rsp)").as_deref(), Some("+0(+16(%sp)):string"));
    }

    #[test]
    fn arguments_without_notation_are_refused() {
        for argument in [
            "-4@NBuffers(%rip)",
            "4@(%rax,%rbx,4)",
            "8@symbol",
            "4@%ah",
            "4@%r16",
            "4@%r8dd",
            "4@%xmm0",
            "3@%eax",
            "%eax",
            "4@$",
            "4@",
            "",
        ] {
            assert_eq!(translate(argument), None, "{argument}");
        }
        assert_eq!(translate_text("4@%eax"), None);
    }

    proptest! {
        #[test]
        fn translation_has_no_blank_and_no_second_type(argument in "-?[0-9]@[-$%()a-z0-9,]{0,12}") {
            if let Some(translated) = translate(&argument) {
                prop_assert!(!translated.contains(char::is_whitespace));
                prop_assert_eq!(translated.matches(':').count(), 1);
            }
        }
    }
}
