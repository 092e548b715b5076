//! Where the files of a table are.

use std::path::{Component, Path as LocalPath, PathBuf};
use std::sync::Arc;

use datafusion::common::{DataFusionError, Result, exec_datafusion_err, exec_err, plan_datafusion_err};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::runtime_env::RuntimeEnv;
use futures::TryStreamExt;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};

/// A file or a folder of files in a store.
#[derive(Debug, Clone)]
pub struct FileLocation {
    table: String,
    /// The option `path`, for messages.
    text: String,
    store: Arc<dyn ObjectStore>,
    pub(super) path: Path,
    /// The same on the local disk.
    pub(super) local: Option<PathBuf>,
}

impl FileLocation {
    /// Resolves the option `path` of a table: a URL by the object stores registered in `runtime`,
    /// anything else (and `file:`) as a path on the local disk, relative to `base`.
    pub fn resolve(table: &str, path: &str, base: &LocalPath, runtime: &RuntimeEnv) -> Result<Self> {
        let place = Place::resolve(path, base, runtime).map_err(|error| {
            plan_datafusion_err!("the option 'path' of table '{table}': '{path}': {error}")
        })?;
        Ok(FileLocation {
            table: table.to_string(),
            text: path.to_string(),
            store: place.store,
            path: place.path,
            local: place.local,
        })
    }

    /// The name of the table.
    pub fn table(&self) -> &str {
        &self.table
    }

    /// A folder in this one, its names taken as they are: `%` is a character like others.
    pub fn below(&self, folders: &[String]) -> Result<FileLocation> {
        let mut below = self.clone();
        for folder in folders {
            below.path = Path::parse(format!("{}/{folder}", below.path))
                .map_err(|error| exec_datafusion_err!("table '{}': {error}", self.table))?;
            below.local = below.local.map(|local| local.join(folder));
        }
        Ok(below)
    }

    pub(super) fn store(&self) -> &Arc<dyn ObjectStore> {
        &self.store
    }

    /// A path in the store as users know it.
    pub(super) fn display(&self, path: &Path) -> String {
        match &self.local {
            Some(_) => format!("/{path}"),
            None => path.to_string(),
        }
    }

    /// The files: the one that `path` names, or those in the folder and its folders, by name. Names
    /// that begin with `.` or `_` are hidden, whether of a file or a folder. An error where there is
    /// neither file nor folder.
    pub(super) async fn files(&self) -> Result<Vec<ObjectMeta>> {
        if !self.text.ends_with('/') {
            match self.store.head(&self.path).await {
                Ok(file) => return Ok(vec![file]),
                Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => return Err(self.error("cannot be read", &error)),
            }
        }
        let listing = self.store.list(Some(&self.path));
        let mut files: Vec<ObjectMeta> =
            listing.try_collect().await.map_err(|error| self.error("cannot be listed", &error))?;
        if files.is_empty() && !self.local.as_ref().is_some_and(|folder| folder.is_dir()) {
            return exec_err!(
                "table '{}': there is no file or folder '{}'; correct its option 'path'",
                self.table,
                self.display(&self.path)
            );
        }
        files.retain(|file| !self.is_hidden(&file.location));
        files.sort_by(|a, b| a.location.cmp(&b.location));
        Ok(files)
    }

    fn is_hidden(&self, file: &Path) -> bool {
        file.prefix_match(&self.path)
            .is_some_and(|mut parts| parts.any(|part| part.as_ref().starts_with(['.', '_'])))
    }

    /// The error of a file that cannot be written.
    pub(super) fn write_error(&self, path: &Path, error: object_store::Error) -> DataFusionError {
        let path = self.display(path);
        DataFusionError::from(error).context(format!("table '{}': {path} cannot be written", self.table))
    }

    /// An error at the whole location.
    fn error(&self, what: &str, error: &dyn std::fmt::Display) -> DataFusionError {
        exec_datafusion_err!("table '{}': option 'path' = '{}' {what}: {error}", self.table, self.text)
    }
}

/// Where a path or a URL leads.
pub(crate) struct Place {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) path: Path,
    /// The same on the local disk.
    pub(crate) local: Option<PathBuf>,
}

impl Place {
    /// Resolves a URL by the object stores registered in `runtime`, anything else (and `file:`) as a path on the
    /// local disk, relative to `base`.
    pub(crate) fn resolve(path: &str, base: &LocalPath, runtime: &RuntimeEnv) -> Result<Self, String> {
        let local = match path.split_once(':') {
            Some(("file", rest)) => Some(rest.strip_prefix("//").unwrap_or(rest)),
            Some((_, rest)) if rest.starts_with("//") => None,
            _ => Some(path),
        };
        if let Some(local) = local {
            let local = absolute(&base.join(local)).map_err(|error| error.to_string())?;
            let path = Path::from_absolute_path(&local).map_err(|error| error.to_string())?;
            return Ok(Place { store: Arc::new(LocalFileSystem::new()), path, local: Some(local) });
        }
        let host = path.find("://").map_or(0, |at| at + 3);
        let end = path[host..].find('/').map_or(path.len(), |at| host + at);
        let url = ObjectStoreUrl::parse(&path[..end]).map_err(|error| error.to_string())?;
        let store = runtime.object_store(url).map_err(|error| error.to_string())?;
        let path = Path::from_url_path(&path[end..]).map_err(|error| error.to_string())?;
        Ok(Place { store, path, local: None })
    }
}

/// An absolute path without `.` and `..`, whether or not there is such a file.
fn absolute(path: &LocalPath) -> std::io::Result<PathBuf> {
    if let Ok(existing) = path.canonicalize() {
        return Ok(existing);
    }
    let mut clean = PathBuf::new();
    for component in std::path::absolute(path)?.components() {
        match component {
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    Ok(clean)
}
