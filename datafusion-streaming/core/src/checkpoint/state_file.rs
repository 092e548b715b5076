//! Rows as bytes: Arrow IPC that tells what it is and whether it is whole.
//!
//! ```text
//! 8 bytes   magic     "DFSTATE\n"
//! 4 bytes   version   little endian
//! 8 bytes   length of the body, little endian
//! 32 bytes  BLAKE3 of the body
//!           body: an Arrow IPC stream of one batch
//! ```

use std::io::Cursor;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use datafusion::common::Result;

const MAGIC: [u8; 8] = *b"DFSTATE\n";
const VERSION: u32 = 1;
const HEADER: usize = 8 + 4 + 8 + 32;

/// The bytes of a batch.
pub(super) fn encode(rows: &RecordBatch) -> Result<Vec<u8>> {
    let mut bytes = vec![0; HEADER];
    let mut writer = StreamWriter::try_new(&mut bytes, &rows.schema())?;
    writer.write(rows)?;
    writer.finish()?;
    drop(writer);
    let (header, body) = bytes.split_at_mut(HEADER);
    let mut place = 0;
    for field in [
        &MAGIC[..],
        &VERSION.to_le_bytes(),
        &(body.len() as u64).to_le_bytes(),
        blake3::hash(body).as_bytes(),
    ] {
        header[place..place + field.len()].copy_from_slice(field);
        place += field.len();
    }
    Ok(bytes)
}

/// The batch in some bytes, or what is wrong with them.
pub(super) fn decode(bytes: &[u8]) -> Result<RecordBatch, String> {
    let Some((header, body)) = bytes.split_at_checked(HEADER) else {
        return Err(format!("it is cut short: {} bytes are less than a header", bytes.len()));
    };
    let (magic, header) = header.split_at(8);
    if magic != MAGIC {
        return Err("it is no state file".to_string());
    }
    let (version, header) = header.split_at(4);
    let version = u32::from_le_bytes(version.try_into().unwrap_or_default());
    if version > VERSION {
        return Err(format!("it is of version {version}, and this program reads versions up to {VERSION}"));
    }
    if version != VERSION {
        return Err(format!("there is no version {version}"));
    }
    let (length, checksum) = header.split_at(8);
    let length = u64::from_le_bytes(length.try_into().unwrap_or_default());
    if length != body.len() as u64 {
        return Err(format!("it is cut short: {} of {length} bytes are there", body.len()));
    }
    if blake3::hash(body).as_bytes() != checksum {
        return Err("its content is not what its checksum says".to_string());
    }
    let read = || -> Result<RecordBatch> {
        let reader = StreamReader::try_new(Cursor::new(body), None)?;
        let schema = reader.schema();
        let batches = reader.collect::<Result<Vec<_>, _>>()?;
        match <[RecordBatch; 1]>::try_from(batches) {
            Ok([batch]) => Ok(batch),
            Err(batches) => Ok(concat_batches(&schema, &batches)?),
        }
    };
    read().map_err(|error| format!("it cannot be decoded: {error}"))
}

/// The name of a file of these bytes.
pub(super) fn name_of(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}
