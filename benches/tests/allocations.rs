//! How often a batch asks for memory: as often for many rows as for few. A file of its own, as the counting
//! allocator is the whole program's.

#![expect(unsafe_code, reason = "a global allocator is unsafe")]
#![expect(clippy::unwrap_used, reason = "a test that cannot run should stop")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion_streaming_benches::Events;
use datafusion_streaming_benches::kv::Kv;
use datafusion_streaming_benches::operators::{Chain, group_aggregate};
use datafusion_streaming_physical_plan::changelog::{ChangelogBatch, ChangelogMode};
use datafusion_streaming_physical_plan::runtime::StreamElement;

struct Counting;

static REQUESTS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all requests are passed on to the system's allocator as they are.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        REQUESTS.fetch_add(1, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        REQUESTS.fetch_add(1, Ordering::Relaxed);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        REQUESTS.fetch_add(1, Ordering::Relaxed);
        unsafe { System.realloc(place, layout, size) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const KEYS: u64 = 64;

fn rows(from: u64, number: u64) -> StreamElement {
    let batch = Kv { keys: KEYS }.rows(from..from + number).unwrap().project(&[0, 1]).unwrap();
    StreamElement::Data(ChangelogBatch::insert_only(batch))
}

/// The requests for memory that a batch of so many rows makes.
fn requests(job: &mut Chain, number: u64) -> usize {
    let input = rows(50_000, number);
    let before = REQUESTS.load(Ordering::Relaxed);
    let changes = job.run([input]).unwrap();
    let requests = REQUESTS.load(Ordering::Relaxed) - before;
    assert_eq!(changes, 2 * number as usize);
    requests
}

/// `SELECT k, COUNT(*), SUM(v), MAX(v) … GROUP BY k` on appends with keys that are known.
#[test]
fn requests_for_memory_do_not_depend_on_the_number_of_rows() {
    let mut job = group_aggregate(ChangelogMode::INSERT_ONLY).unwrap();
    job.run([rows(0, 4_096), rows(4_096, 4_096)]).unwrap();
    let few = requests(&mut job, 1_024);
    let many = requests(&mut job, 4_096);
    assert_eq!(few, many, "a batch of 1,024 rows, and one of 4,096");
    assert!(many < 100, "{many} requests");
}
