//! Numbers as a row of bars, and as short text.

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A bar for each value, the largest full. Nothing at all is a space.
pub(super) fn bars(values: impl Iterator<Item = f64> + Clone) -> String {
    let max = values.clone().fold(0.0, f64::max);
    let bar = |value: f64| {
        if value <= 0.0 || max <= 0.0 {
            return ' ';
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of 7"
        )]
        let at = (value / max * 7.0).round() as usize;
        BARS.get(at).copied().unwrap_or('█')
    };
    values.map(bar).collect()
}

/// A number with three digits that count, and thousands apart.
pub(super) fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    let rest = rest.trim_end_matches('0');
    let mut grouped = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) && !grouped.ends_with('-') {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if rest.is_empty() {
        grouped
    } else {
        format!("{grouped}.{rest}")
    }
}

/// A duration in the unit that suits it.
pub(super) fn duration(seconds: f64) -> String {
    match seconds {
        s if s >= 7200.0 => format!("{} h", number(s / 3600.0)),
        s if s >= 120.0 => format!("{} min", number(s / 60.0)),
        s if s >= 1.0 => format!("{} s", number(s)),
        s if s >= 0.001 => format!("{} ms", number(s * 1e3)),
        s if s > 0.0 => format!("{} µs", number(s * 1e6)),
        _ => "0 s".to_owned(),
    }
}

pub(super) fn percent(share: f64) -> String {
    format!("{} %", number(share * 100.0))
}
