//! `zlink decode`: what a byte string says.

mod check;
mod frames;
mod guess;
mod service;
mod show;

use crate::Failed;
use crate::args::Decode;
use std::io::Read;
use std::process::ExitCode;
use zlink_proto::wire::SocketType;

/// Decodes a byte string, or checks vector files.
pub(crate) fn run(arguments: &Decode) -> Result<ExitCode, Failed> {
    if !arguments.check.is_empty() {
        return check::run(&arguments.check, arguments.json);
    }
    let text = match arguments.hex.as_deref() {
        Some("-") | None => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map_err(|error| format!("standard input: {error}"))?;
            text
        }
        Some(hex) => hex.to_string(),
    };
    let findings = match parse(&text) {
        Ok(Input::Frames(bytes)) => frames::findings(&bytes, arguments.local, arguments.max_message_size),
        Ok(Input::Parts(parts)) => vec![show::Finding::service(None, &parts)],
        Err(message) => {
            eprintln!("zlink: {message}");
            return Ok(ExitCode::from(2));
        }
    };
    for finding in &findings {
        if arguments.json {
            println!("{}", finding.json());
        } else {
            println!("{}", finding.text());
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What the digits stand for.
#[derive(PartialEq, Eq, Debug)]
enum Input {
    /// Bytes of a connection.
    Frames(Vec<u8>),
    /// Parts of one service record.
    Parts(Vec<Vec<u8>>),
}

/// Digits, with white space, colons and `0x` anywhere; `|` between the parts of a service record, which is also known by its magic.
fn parse(text: &str) -> Result<Input, String> {
    let parts = text.split('|').map(hex).collect::<Result<Vec<_>, _>>()?;
    match parts.as_slice() {
        [only] if only.starts_with(&[0x5a, 0x4d]) => Ok(Input::Parts(parts)),
        [only] if only.is_empty() => Err("no bytes".into()),
        [only] => Ok(Input::Frames(only.clone())),
        _ => Ok(Input::Parts(parts)),
    }
}

fn hex(text: &str) -> Result<Vec<u8>, String> {
    let text = text.replace("0x", "");
    let digits: Vec<char> = text.chars().filter(|c| !c.is_whitespace() && !matches!(c, ':' | ',')).collect();
    if digits.len() % 2 != 0 {
        return Err(format!("{} hexadecimal digits are not whole bytes", digits.len()));
    }
    let nibble = |digit: char| digit.to_digit(16).ok_or_else(|| format!("{digit:?} is no hexadecimal digit"));
    digits.chunks(2).map(|pair| Ok((nibble(pair[0])? << 4 | nibble(pair[1])?) as u8)).collect()
}

/// The socket type with this name.
pub(crate) fn socket_type(name: &str) -> Result<SocketType, String> {
    let all = (0..=u8::MAX).filter_map(SocketType::from_byte);
    let mut names = Vec::new();
    for socket_type in all {
        if socket_type.name().eq_ignore_ascii_case(name) {
            return Ok(socket_type);
        }
        names.push(socket_type.name());
    }
    Err(format!("one of {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_come_in_any_dress() {
        assert_eq!(parse("5a 01\n0x02:FF"), Ok(Input::Frames(vec![0x5a, 1, 2, 0xff])));
        assert_eq!(parse("5a4d01"), Ok(Input::Parts(vec![vec![0x5a, 0x4d, 1]])));
        assert_eq!(parse("01|02|"), Ok(Input::Parts(vec![vec![1], vec![2], vec![]])));
        for wrong in ["", "5", "xy", "5a0"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
