//! The file of limits: `NAME LIMIT MUST` a line, `-` where nothing is demanded from outside.

/// One gated count.
#[derive(Debug)]
pub(crate) struct Limit {
    pub(crate) name: String,
    /// What fails the gate: the figure reached, with a margin.
    pub(crate) limit: f64,
    /// What the goals demand; never below `limit`.
    pub(crate) must: Option<f64>,
}

impl Limit {
    pub(crate) fn must(&self) -> String {
        self.must.map_or_else(|| "-".into(), |must| must.to_string())
    }
}

/// Reads the file; comments begin with `#`.
pub(crate) fn parse(text: &str) -> Result<Vec<Limit>, String> {
    let mut limits = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        let wrong = |what: &str| format!("limits, line {}: {what}", index + 1);
        let (name, limit, must) = match words[..] {
            [] => continue,
            [name, limit, must] => (name, limit, must),
            _ => return Err(wrong("NAME LIMIT MUST")),
        };
        let limit = limit.parse().map_err(|_| wrong("the limit is no number"))?;
        let must =
            if must == "-" { None } else { Some(must.parse().map_err(|_| wrong("must is no number"))?) };
        if must.is_some_and(|must: f64| must < limit) {
            return Err(wrong("the limit is looser than must"));
        }
        limits.push(Limit { name: name.into(), limit, must });
    }
    Ok(limits)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_limit_may_not_be_looser_than_must() {
        assert!(parse("a 3 2").is_err());
        assert_eq!(parse("# nothing\na 2 2 # why\nb 7 -\n").map(|limits| limits.len()), Ok(2));
    }

    #[test]
    fn a_line_that_is_not_understood_is_an_error() {
        for line in ["a", "a 1", "a x -", "a 1 y", "a 1 2 3"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
