//! Which handler a packet name leads to, found once for each name and content type that occurs.

use crate::wire::service::{CONTENT_JSON, CONTENT_OCTETS, split_names};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

/// Names that are remembered. Others are looked up each time.
const MEMO_MAX: usize = 256;

/// One handler of a channel. The number is the caller's; jobs carry it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HandlerConfig {
    /// Its packet name; `None`: all names that have no handler of their own.
    pub packet: Option<String>,
    /// It answers requests; else it takes sends.
    pub is_request: bool,
    /// Given to jobs.
    pub number: u32,
}

/// Where a record goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Disposition {
    Handler(u32),
    /// 102/9.
    NoHandler,
    /// Its content type is not registered: 104/12 (S-12).
    Undecodable,
}

#[derive(Clone, Debug)]
struct Known {
    /// text8 of the packet name, text8 of the content type.
    names: Box<[u8]>,
    /// For sends, for requests.
    to: [Disposition; 2],
}

/// The handlers of one channel.
#[derive(Clone, Debug, Default)]
pub(super) struct Routes {
    handlers: Vec<HandlerConfig>,
    content_types: Vec<String>,
    /// Sorted by names.
    memo: Vec<Known>,
}

impl Routes {
    /// `None`: two handlers with one key (H-06).
    pub(super) fn new(mut handlers: Vec<HandlerConfig>, content_types: Vec<String>) -> Option<Self> {
        let key = |handler: &HandlerConfig| (handler.packet.clone(), handler.is_request);
        handlers.sort_by_key(key);
        let is_unique = handlers.windows(2).all(|pair| pair.first().map(key) != pair.last().map(key));
        is_unique.then_some(Self { handlers, content_types, memo: Vec::new() })
    }

    /// Names at the hint: equal bytes are well formed.
    #[inline]
    pub(super) fn known_names(&self, hint: usize) -> &[u8] {
        self.memo.get(hint).map_or(&[], |known| &known.names)
    }

    /// Where a record with these names goes. `hint`: where the last one of its source was found.
    #[inline]
    pub(super) fn find(&mut self, names: &[u8], is_request: bool, hint: &mut usize) -> Disposition {
        let pick = |[send, request]: [Disposition; 2]| if is_request { request } else { send };
        match self.memo.get(*hint) {
            Some(known) if *known.names == *names => pick(known.to),
            Some(_) | None => pick(self.look_up(names, hint)),
        }
    }

    fn look_up(&mut self, names: &[u8], hint: &mut usize) -> [Disposition; 2] {
        let place = match self.memo.binary_search_by(|known| (*known.names).cmp(names)) {
            Ok(place) => {
                *hint = place;
                return self.memo.get(place).map_or([Disposition::NoHandler; 2], |known| known.to);
            }
            Err(place) => place,
        };
        let to = [self.resolve(names, false), self.resolve(names, true)];
        // What leads nowhere is not worth a place: peers choose these names.
        let is_useful = to.iter().any(|to| matches!(to, Disposition::Handler(_)));
        if is_useful && self.memo.len() < MEMO_MAX {
            self.memo.insert(place, Known { names: names.into(), to });
            *hint = place;
        }
        to
    }

    fn resolve(&self, names: &[u8], is_request: bool) -> Disposition {
        let (packet, content_type) = split_names(names);
        let of = |packet: Option<&str>| {
            let found = self
                .handlers
                .iter()
                .find(|handler| handler.is_request == is_request && handler.packet.as_deref() == packet);
            found.map(|handler| handler.number)
        };
        let is_known = content_type == CONTENT_JSON
            || content_type == CONTENT_OCTETS
            || self.content_types.iter().any(|known| known == content_type);
        match of(Some(packet)).or_else(|| of(None)) {
            None => Disposition::NoHandler,
            Some(_) if !is_known => Disposition::Undecodable,
            Some(number) => Disposition::Handler(number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn handler(packet: Option<&str>, is_request: bool, number: u32) -> HandlerConfig {
        HandlerConfig { packet: packet.map(Into::into), is_request, number }
    }

    fn names(packet: &str, content_type: &str) -> Vec<u8> {
        let mut names = Vec::new();
        for text in [packet, content_type] {
            names.push(text.len() as u8);
            names.extend_from_slice(text.as_bytes());
        }
        names
    }

    #[test]
    fn h06_two_handlers_with_one_key_are_refused() {
        let twice =
            vec![handler(Some("a"), true, 0), handler(Some("b"), true, 1), handler(Some("a"), true, 2)];
        assert!(Routes::new(twice, Vec::new()).is_none());
        let fallbacks = vec![handler(None, true, 0), handler(None, true, 1)];
        assert!(Routes::new(fallbacks, Vec::new()).is_none());
        let both = vec![handler(Some("a"), true, 0), handler(Some("a"), false, 1), handler(None, true, 2)];
        assert!(Routes::new(both, Vec::new()).is_some());
    }

    #[test]
    fn s12_names_content_types_and_fallbacks() {
        let handlers =
            vec![handler(Some("a"), true, 1), handler(Some("b"), false, 2), handler(None, false, 3)];
        let mut routes = Routes::new(handlers, vec!["text/x".into()]).expect("unique keys");
        let mut hint = 7;
        for _ in 0..2 {
            for (packet, content, is_request, expected) in [
                ("a", CONTENT_JSON, true, Disposition::Handler(1)),
                ("a", CONTENT_OCTETS, false, Disposition::Handler(3)),
                ("b", "text/x", false, Disposition::Handler(2)),
                ("b", "text/x", true, Disposition::NoHandler),
                ("a", "text/y", true, Disposition::Undecodable),
                ("zz", CONTENT_JSON, true, Disposition::NoHandler),
                ("zz", CONTENT_JSON, false, Disposition::Handler(3)),
            ] {
                let found = routes.find(&names(packet, content), is_request, &mut hint);
                assert_eq!(found, expected, "{packet} {content} {is_request}");
            }
        }
    }

    #[test]
    fn names_that_peers_invent_take_a_bounded_place() {
        let mut routes = Routes::new(vec![handler(None, false, 0)], Vec::new()).expect("one key");
        let mut hint = 0;
        for number in 0..1_000 {
            let name = alloc::format!("p{number}");
            let found = routes.find(&names(&name, CONTENT_JSON), false, &mut hint);
            assert_eq!(found, Disposition::Handler(0));
        }
        assert_eq!(routes.memo.len(), MEMO_MAX);
        let mut nowhere = Routes::new(Vec::new(), Vec::new()).expect("no key");
        nowhere.find(&names("x", CONTENT_JSON), true, &mut hint);
        assert!(nowhere.memo.is_empty());
    }
}
