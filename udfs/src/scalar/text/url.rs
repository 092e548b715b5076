//! URLs as `java.net.URL` takes them apart.

/// The parts of a URL.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Url<'a> {
    /// In lower case.
    pub(super) protocol: String,
    pub(super) authority: Option<&'a str>,
    pub(super) user: Option<&'a str>,
    /// Empty if there is no authority.
    pub(super) host: Option<&'a str>,
    pub(super) path: String,
    pub(super) query: Option<&'a str>,
    pub(super) reference: Option<&'a str>,
}

/// The protocols that Java has a handler for.
const PROTOCOLS: [&str; 7] = ["http", "https", "ftp", "file", "jar", "mailto", "jrt"];

impl<'a> Url<'a> {
    /// `None` if the text is no URL, or has a protocol that Java does not know.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let text = text.trim_matches(|letter| letter <= ' ');
        let text = match text.get(..4) {
            Some(prefix) if prefix.eq_ignore_ascii_case("url:") => &text[4..],
            _ => text,
        };
        let (protocol, rest) = text.split_once(':')?;
        let protocol = protocol.to_ascii_lowercase();
        if !PROTOCOLS.contains(&protocol.as_str()) {
            return None;
        }
        let (rest, reference) = match rest.split_once('#') {
            Some((rest, reference)) => (rest, Some(reference)),
            None => (rest, None),
        };
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, Some(query)),
            None => (rest, None),
        };
        let mut url = Url {
            protocol,
            authority: None,
            user: None,
            host: Some(""),
            path: String::new(),
            query,
            reference,
        };
        let path = match rest.strip_prefix("//") {
            Some(rest) => {
                let end = rest.find('/').unwrap_or(rest.len());
                let (authority, path) = rest.split_at(end);
                url.set_authority(authority)?;
                path
            }
            None => rest,
        };
        url.path = without_dots(path);
        Some(url)
    }

    fn set_authority(&mut self, authority: &'a str) -> Option<()> {
        self.authority = Some(authority);
        let host = match authority.split_once('@') {
            Some((_, host)) if host.contains('@') => {
                self.host = None;
                return Some(());
            }
            Some((user, host)) => {
                self.user = Some(user);
                host
            }
            None => authority,
        };
        let bracket = if host.starts_with('[') { host.find(']')? } else { 0 };
        let (name, port) = match host[bracket..].find(':') {
            Some(colon) => (&host[..bracket + colon], &host[bracket + colon + 1..]),
            None => (host, ""),
        };
        // a port is there to be checked only
        if !port.is_empty() && !port.parse::<i32>().is_ok_and(|port| port >= -1) {
            return None;
        }
        self.host = Some(name);
        Some(())
    }
}

/// A path without `/./`, and without `/name/../`.
fn without_dots(path: &str) -> String {
    let mut path = path.replace("/./", "/");
    let mut from = 0;
    while let Some(at) = path[from..].find("/../").map(|at| at + from) {
        match path[..at].rfind('/') {
            Some(parent) if !path[parent..].starts_with("/../") => {
                path.replace_range(parent..at + 3, "");
                from = 0;
            }
            _ => from = at + 3,
        }
    }
    if let Some(kept) = path.strip_suffix("/..")
        && let Some(parent) = kept.rfind('/')
    {
        path.truncate(parent + 1);
    }
    if path.ends_with("/.") && path.len() > 2 {
        path.pop();
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts() {
        let url = Url::parse(" HTTPS://user:pw@example.org:8080/p/a/t.html?q=1#frag ").unwrap();
        assert_eq!(url.protocol, "https");
        assert_eq!(url.authority, Some("user:pw@example.org:8080"));
        assert_eq!((url.user, url.host), (Some("user:pw"), Some("example.org")));
        assert_eq!(url.path, "/p/a/t.html");
        assert_eq!((url.query, url.reference), (Some("q=1"), Some("frag")));
        let url = Url::parse("mailto:a@b").unwrap();
        assert_eq!((url.authority, url.host, url.path.as_str()), (None, Some(""), "a@b"));
        let url = Url::parse("http://[::1]:80?x#").unwrap();
        assert_eq!((url.host, url.path.as_str(), url.reference), (Some("[::1]"), "", Some("")));
        assert_eq!(Url::parse("http://a@b@c/").unwrap().host, None);
    }

    #[test]
    fn what_is_no_url() {
        for text in ["", "not a url", "example.org/x", "gopher://x", "http://h:port/", "/a:b"] {
            assert_eq!(Url::parse(text), None, "{text}");
        }
    }

    #[test]
    fn dots_in_paths() {
        for (path, expected) in
            [("/a/./b", "/a/b"), ("/a/b/../c", "/a/c"), ("/../a", "/../a"), ("/a/..", "/"), ("/a/.", "/a/")]
        {
            assert_eq!(without_dots(path), expected, "{path}");
        }
    }
}
