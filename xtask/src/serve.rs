//! A static server for the demo: several folders under one address, on this machine only.

use anyhow::{Result, anyhow};
use rouille::{Request, Response};
use std::path::PathBuf;

/// A folder that is served below a path.
#[derive(Clone)]
pub struct Mount {
    /// The path, with slashes at both ends.
    pub path: &'static str,
    /// The folder.
    pub folder: PathBuf,
}

/// A server that has its port already.
pub struct Server {
    /// Where a browser finds it.
    pub url: String,
    serve: Box<dyn FnOnce() + Send>,
}

impl Server {
    /// Takes a port of 127.0.0.1 (0: any that is free).
    pub fn bind(port: u16, mounts: Vec<Mount>) -> Result<Self> {
        let server = rouille::Server::new(("127.0.0.1", port), move |request| answer(request, &mounts))
            .map_err(|error| anyhow!("cannot serve on 127.0.0.1:{port}: {error}"))?;
        let url = format!("http://{}/", server.server_addr());
        Ok(Self {
            url,
            serve: Box::new(move || server.run()),
        })
    }

    /// Serves until the process ends.
    pub fn run(self) {
        (self.serve)();
    }
}

/// The longest mount whose path begins the request's.
fn answer(request: &Request, mounts: &[Mount]) -> Response {
    let url = request.url();
    let mount = mounts
        .iter()
        .filter(|mount| url.starts_with(mount.path))
        .max_by_key(|mount| mount.path.len());
    let Some((mount, rest)) = mount.and_then(|mount| Some((mount, url.strip_prefix(mount.path)?.to_owned())))
    else {
        return Response::empty_404();
    };
    let file = if rest.is_empty() || rest.ends_with('/') {
        format!("{rest}index.html")
    } else {
        rest
    };
    let inner = Request::fake_http(request.method(), format!("/{file}"), headers(request), Vec::new());
    let mut response = rouille::match_assets(&inner, &mount.folder);
    // What is built anew must be seen at the next reload.
    response.headers.retain(|(name, _)| name != "Cache-Control");
    if response.is_success() && file.ends_with(".mjs") {
        // Unknown to the library, and a browser runs no module of another type.
        response = response.with_unique_header("Content-Type", "text/javascript; charset=utf-8");
    }
    response.with_unique_header("Cache-Control", "no-cache")
}

fn headers(request: &Request) -> Vec<(String, String)> {
    request
        .headers()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(url: &str) -> Result<(u16, Option<String>)> {
        let root = std::env::temp_dir().join(format!("burrow-serve-{}", std::process::id()));
        std::fs::create_dir_all(root.join("inner"))?;
        std::fs::write(root.join("index.html"), "page")?;
        std::fs::write(root.join("inner/a.wasm"), "wasm")?;
        std::fs::write(root.join("inner/a.mjs"), "mjs")?;
        let mounts = [
            Mount {
                path: "/",
                folder: root.clone(),
            },
            Mount {
                path: "/x/",
                folder: root.join("inner"),
            },
        ];
        let response = answer(&Request::fake_http("GET", url, Vec::new(), Vec::new()), &mounts);
        let kind = response.headers.iter().find(|(name, _)| name == "Content-Type");
        Ok((response.status_code, kind.map(|(_, value)| value.to_string())))
    }

    #[test]
    fn files_come_with_the_type_that_a_browser_insists_on() -> Result<()> {
        assert_eq!(status("/x/a.wasm")?, (200, Some("application/wasm".into())));
        assert!(
            status("/x/a.mjs")?
                .1
                .is_some_and(|kind| kind.contains("javascript"))
        );
        assert!(status("/")?.1.is_some_and(|kind| kind.contains("text/html")));
        Ok(())
    }

    #[test]
    fn nothing_outside_the_folders_is_served() -> Result<()> {
        assert_eq!(status("/x/none")?.0, 404);
        assert_eq!(status("/x/../index.html")?.0, 404);
        Ok(())
    }
}
