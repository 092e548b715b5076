//! The bytes of one file, in order.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use bytes::Bytes;
use datafusion::common::{Result, exec_datafusion_err};
use futures::StreamExt;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, GetResultPayload, ObjectStore};
use tokio::task::JoinHandle;

/// How much of a local file is read at once.
const CHUNK: u64 = 1 << 20;

/// A file being read. All methods are safe to cancel.
pub(super) struct Input {
    source: Source,
    /// Bytes read and not consumed start at `start`.
    buffer: Vec<u8>,
    start: usize,
}

enum Source {
    /// A local file, of which so many bytes are to be read.
    Local(File, u64),
    /// The file and the buffer are away, with a thread that reads.
    Reading(JoinHandle<io::Result<(File, u64, Vec<u8>)>>),
    /// A file in an object store.
    Remote(BoxStream<'static, object_store::Result<Bytes>>),
    Ended,
}

impl Input {
    /// Opens a file to read it from an offset to its end, which is at `size` even if the file grows.
    pub(super) async fn open(store: &dyn ObjectStore, file: &Path, offset: u64, size: u64) -> Result<Self> {
        let mut source = Source::Ended;
        if offset < size {
            let options = GetOptions { range: Some(GetRange::Bounded(offset..size)), ..Default::default() };
            source = match store.get_opts(file, options).await?.payload {
                GetResultPayload::File(mut local, _) => {
                    local.seek(SeekFrom::Start(offset))?;
                    Source::Local(local, size - offset)
                }
                GetResultPayload::Stream(stream) => Source::Remote(stream),
            };
        }
        Ok(Input { source, buffer: vec![], start: 0 })
    }

    /// What has been read and not consumed.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// The first bytes have been dealt with.
    pub(super) fn consume(&mut self, bytes: usize) {
        self.start += bytes;
    }

    /// Whether [`Input::bytes`] are the last ones.
    pub(super) fn is_at_end(&self) -> bool {
        matches!(self.source, Source::Ended)
    }

    /// Reads on, to have more bytes or to know that there are none.
    pub(super) async fn read(&mut self) -> Result<()> {
        self.source = match std::mem::replace(&mut self.source, Source::Ended) {
            Source::Local(mut file, rest) => {
                let (mut buffer, start) = (std::mem::take(&mut self.buffer), std::mem::take(&mut self.start));
                Source::Reading(tokio::task::spawn_blocking(move || {
                    buffer.drain(..start);
                    let read = (&mut file).take(rest.min(CHUNK)).read_to_end(&mut buffer)? as u64;
                    // Nothing read: the file has been cut
                    Ok((file, if read == 0 { 0 } else { rest - read }, buffer))
                }))
            }
            other => other,
        };
        match &mut self.source {
            Source::Reading(reading) => {
                let result = reading.await.map_err(|error| exec_datafusion_err!("{error}"));
                self.source = Source::Ended;
                let (file, rest, buffer) = result??;
                self.buffer = buffer;
                if rest > 0 {
                    self.source = Source::Local(file, rest);
                }
            }
            Source::Remote(stream) => match stream.next().await {
                None => self.source = Source::Ended,
                Some(chunk) => {
                    let chunk = chunk?;
                    self.buffer.drain(..std::mem::take(&mut self.start));
                    self.buffer.extend_from_slice(&chunk);
                }
            },
            Source::Local(..) | Source::Ended => {}
        }
        Ok(())
    }
}
