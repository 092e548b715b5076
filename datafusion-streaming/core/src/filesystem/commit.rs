//! Committing the part files of a job.

use std::io::ErrorKind;
use std::path::Path as LocalPath;

use datafusion::common::{DataFusionError, Result};
use futures::TryStreamExt;
use object_store::path::Path;
use object_store::{Error, ObjectStoreExt};

use super::{FileLocation, PendingFile};

impl FileLocation {
    /// Gives a complete part the name under which readers find it. One that is not there any more has been
    /// committed before, and a reader may have taken it away since.
    pub async fn commit(&self, file: &PendingFile) -> Result<()> {
        let path =
            |text: &str| Path::parse(text).map_err(|error| self.write_error(&self.path, Error::from(error)));
        let (hidden, visible) = (path(&file.hidden)?, path(&file.visible)?);
        match self.store().rename(&hidden, &visible).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.write_error(&visible, error)),
        }
    }

    /// Removes the hidden parts whose names begin with `.part-<job>`, unfinished uploads included.
    pub async fn remove_hidden(&self, job: &str) -> Result<()> {
        let prefix = format!(".part-{job}");
        if let Some(folder) = self.local.clone() {
            // the store's own listing leaves unfinished uploads out
            return tokio::task::spawn_blocking(move || remove_local(&folder, &prefix))
                .await
                .map_err(|error| DataFusionError::External(Box::new(error)))?
                .map_err(|error| {
                    self.write_error(&self.path, Error::Generic { store: "local", source: error.into() })
                });
        }
        let files = self.store().list(Some(&self.path)).try_collect::<Vec<_>>().await;
        for file in files.map_err(|error| self.write_error(&self.path, error))? {
            if file.location.filename().is_some_and(|name| name.starts_with(&prefix)) {
                match self.store().delete(&file.location).await {
                    Ok(()) | Err(Error::NotFound { .. }) => {}
                    Err(error) => return Err(self.write_error(&file.location, error)),
                }
            }
        }
        Ok(())
    }
}

fn remove_local(folder: &LocalPath, prefix: &str) -> std::io::Result<()> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_local(&entry.path(), prefix)?;
        } else if entry.file_name().to_string_lossy().starts_with(prefix) {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
