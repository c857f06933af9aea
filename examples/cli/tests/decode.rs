//! `zlink decode`: bytes on the command line and on standard input, vector files, wrong arguments.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn zlink(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_zlink")).args(arguments).output().expect("the command runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn json_lines(output: &Output) -> Vec<serde_json::Value> {
    stdout(output).lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect()
}

fn vectors(name: &str) -> String {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors").join(name).display().to_string()
}

#[test]
fn frames_and_the_named_fault_are_shown() {
    // HELLO of a DEALER, then an HTTP request.
    let output = zlink(&["decode", "--json", "5a01020000000006010503434c49474554202f"]);
    assert!(output.status.success());
    let lines = json_lines(&output);
    assert_eq!(lines[0]["event"], "frame");
    assert_eq!((&lines[1]["event"], &lines[1]["type"]), (&"hello".into(), &"DEALER".into()));
    let fault = &lines[2];
    assert_eq!((&fault["event"], &fault["reason"]), (&"fault".into(), &"invalid magic".into()));
    assert_eq!((&fault["code"], &fault["offset"]), (&1.into(), &14.into()));
}

#[test]
fn a_service_record_shows_its_fields_or_its_fault() {
    let output = zlink(&["decode", "--json", "5a4d01140000000000000000070000006a0000000f"]);
    let line = &json_lines(&output)[0];
    assert_eq!((&line["name"], &line["body"]["code"]), (&"Reply".into(), &15.into()));
    let output = zlink(&["decode", "--json", "5a4d0107000102030405060708"]);
    assert_eq!(json_lines(&output)[0]["fault"], "unknown-command");
}

#[test]
fn standard_input_is_read_for_a_dash() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_zlink"))
        .args(["decode", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    child.stdin.take().expect("a pipe").write_all(b"5a 01 00 00\n00 00 00 02 68 69\n").expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(stdout(&output).contains("6869 \"hi\""), "{}", stdout(&output));
}

#[test]
fn an_unfinished_frame_is_no_fault() {
    let output = zlink(&["decode", "--json", "5a010000000000ff6869"]);
    assert_eq!(json_lines(&output).last().expect("a line")["event"], "incomplete");
}

#[test]
fn all_vector_files_agree() {
    let output = zlink(&["decode", "--check", &vectors("wire.json"), &vectors("service.json")]);
    assert!(output.status.success(), "{}", stdout(&output));
    assert!(stdout(&output).contains("wire.json: 234 vectors, 0 differ"), "{}", stdout(&output));
}

#[test]
fn a_vector_that_differs_is_listed_and_the_exit_code_is_1() {
    let good = std::fs::read_to_string(vectors("wire.json")).expect("readable");
    let bad = good.replacen("\"rid\": \"5041\"}]}", "\"rid\": \"5042\"}]}", 1);
    assert_ne!(good, bad, "a vector was changed");
    let file = std::env::temp_dir().join(format!("zlink-decode-{}.json", std::process::id()));
    std::fs::write(&file, bad).expect("writable");
    let output = zlink(&["decode", "--check", &file.display().to_string()]);
    let _ = std::fs::remove_file(&file);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("hello/pair"), "{}", stdout(&output));
}

#[test]
fn wrong_arguments_are_one_line_and_exit_code_2() {
    for arguments in [
        &["decode", "xyz"][..],
        &["decode"],
        &["send"],
        &["send", "--channel", "c", "--connect", "e", "--size", "many"],
        &["serve", "--channel", "c", "--bind", "e", "--handler-delay", "5"],
        &["serve", "--channel", "c", "--bind", "e", "--concurrency", "0"],
        &["demo", "--for", "0s"],
        &["nothing"],
    ] {
        let output = zlink(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(text.lines().count(), 1, "{arguments:?}: {text}");
        assert!(text.starts_with("zlink: ") && output.stdout.is_empty(), "{arguments:?}: {text}");
    }
}
