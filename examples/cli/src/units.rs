//! Durations and sizes as people write them: `5s`, `10ms`, `1h30m`; `4096`, `16KiB`.

use std::time::Duration;

/// Splits a leading decimal number from its unit.
fn number(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    Some((digits.parse().ok()?, rest))
}

/// A duration: numbers with the units ns, us, ms, s, m, h, d, one after the other.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let (mut rest, mut seconds) = (text.trim(), 0.0);
    while !rest.is_empty() {
        let (value, behind) = number(rest).ok_or("a duration looks like 10ms, 5s or 1h30m")?;
        let end = behind.find(|c: char| c.is_ascii_digit()).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(end);
        seconds += value
            * match unit.trim() {
                "ns" => 1e-9,
                "us" | "µs" => 1e-6,
                "ms" => 1e-3,
                "s" => 1.0,
                "m" | "min" => 60.0,
                "h" => 3_600.0,
                "d" => 86_400.0,
                "" => return Err("the unit is missing: ns, us, ms, s, m, h or d".into()),
                other => return Err(format!("unknown unit {other:?}: ns, us, ms, s, m, h or d")),
            };
        rest = behind;
    }
    if text.trim().is_empty() {
        return Err("a duration looks like 10ms, 5s or 1h30m".into());
    }
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// A duration above zero.
pub(crate) fn some_duration(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("must be more than zero".into()),
        duration => Ok(duration),
    }
}

/// A number of bytes: plain, or with B, kB, KiB, MB, MiB, GB, GiB.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let (value, unit) = number(text.trim()).ok_or("a size looks like 4096, 16KiB or 1MiB")?;
    let factor: u64 = match unit.trim() {
        "" | "B" => 1,
        "kB" | "KB" => 1_000,
        "K" | "KiB" => 1 << 10,
        "MB" => 1_000_000,
        "M" | "MiB" => 1 << 20,
        "GB" => 1_000_000_000,
        "G" | "GiB" => 1 << 30,
        other => return Err(format!("unknown unit {other:?}: B, kB, KiB, MB, MiB, GB or GiB")),
    };
    // Plain numbers stay exact beyond 2^53.
    let digits = &text.trim()[..text.trim().len() - unit.len()];
    if let Ok(whole) = digits.parse::<u64>() {
        return whole.checked_mul(factor).ok_or_else(|| "too large".into());
    }
    let product = value * factor as f64;
    if product.fract() == 0.0 && product < 9e15 {
        Ok(product as u64)
    } else {
        Err("not a whole number of bytes".into())
    }
}

/// A rate above zero, a second.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(rate) if rate > 0.0 && rate.is_finite() => Ok(rate),
        Ok(_) | Err(_) => Err("a rate is a number of messages a second above zero".into()),
    }
}

/// Bytes for people: `16.0 KiB`.
pub(crate) fn show_bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 || unit == "GiB" {
            return if unit == "B" { format!("{bytes} B") } else { format!("{value:.1} {unit}") };
        }
        value /= 1024.0;
    }
    unreachable!("the last unit ends the loop")
}

/// A count with separators: `1,000,000`.
pub(crate) fn show_count(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("5s"), Ok(Duration::from_secs(5)));
        assert_eq!(duration("10ms"), Ok(Duration::from_millis(10)));
        assert_eq!(duration("1h"), Ok(Duration::from_secs(3_600)));
        assert_eq!(duration("1h30m"), Ok(Duration::from_secs(5_400)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1_500)));
        assert_eq!(duration("0s"), Ok(Duration::ZERO));
        for wrong in ["", "5", "s", "5 parsecs", "1e400s", "-1s", "..s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
        assert!(some_duration("0ms").is_err());
    }

    #[test]
    fn sizes_are_whole_numbers_of_bytes() {
        assert_eq!(bytes("16KiB"), Ok(16_384));
        assert_eq!(bytes("16 KiB"), Ok(16_384));
        assert_eq!(bytes("1.5KiB"), Ok(1_536));
        assert_eq!(bytes("2kB"), Ok(2_000));
        assert_eq!(bytes("0"), Ok(0));
        assert_eq!(bytes("18446744073709551615"), Ok(u64::MAX));
        for wrong in ["", "x", "1.5", "-1", "1 parsec", "18446744073709551615KiB"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn shown_for_people() {
        assert_eq!(show_bytes(16_384), "16.0 KiB");
        assert_eq!(show_bytes(12), "12 B");
        assert_eq!(show_count(1_000_000), "1,000,000");
        assert_eq!(show_count(999), "999");
    }
}
