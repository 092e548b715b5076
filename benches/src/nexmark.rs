//! The events of an auction house, after the Nexmark benchmark.
//!
//! Of 50 events the first is a new [`Person`], the next three new [`Auction`]s and the other 46
//! [`Bid`]s. Half of the bids go to a hot auction, three quarters come from a hot bidder; the others
//! spread over the newest.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::common::Result;

use crate::Events;
use crate::random::{below, letters, millis, random};

/// The lowest id of a person or auction.
const FIRST_ID: u64 = 1000;
/// Persons are numbered by the group of this many events that they begin.
const GROUP: u64 = 50;
const AUCTIONS: u64 = 3;
/// Of so many auctions or persons one is hot.
const HOT: u64 = 100;

/// The texts that rows pick from.
struct Pools {
    channels: Vec<String>,
    urls: Vec<String>,
    extras: Vec<String>,
    items: Vec<String>,
    descriptions: Vec<String>,
    names: Vec<String>,
    emails: Vec<String>,
    cards: Vec<String>,
    cities: Vec<String>,
    states: Vec<String>,
}

static POOLS: LazyLock<Pools> = LazyLock::new(|| {
    fn pool(entries: u64, text: impl Fn(u64) -> String) -> Vec<String> {
        (0..entries).map(text).collect()
    }
    fn url(channel: u64) -> String {
        let (first, second) = (letters(1, channel, 5, 1), letters(2, channel, 5, 1));
        format!("https://www.nexmark.com/{first}/{second}/item.htm?query=1&channel_id={channel}")
    }
    fn card(person: u64) -> String {
        [1, 7, 13, 29].map(|factor| format!("{:04}", person * factor % 10_000)).join(" ")
    }
    let hot_channels = ["Google", "Facebook", "Baidu", "Apple"].map(String::from);
    Pools {
        channels: hot_channels.into_iter().chain(pool(10_000, |index| format!("channel-{index}"))).collect(),
        urls: pool(10_004, url),
        extras: pool(1024, |index| letters(3, index, 32, 64)),
        items: pool(1024, |index| letters(4, index, 10, 20)),
        descriptions: pool(1024, |index| letters(5, index, 50, 100)),
        names: pool(100, |index| {
            format!("{} {}", letters(6, index / 10, 3, 6), letters(7, index % 10, 3, 6))
        }),
        emails: pool(1024, |index| format!("{}@{}.com", letters(8, index, 7, 1), letters(9, index, 5, 1))),
        cards: pool(1024, card),
        cities: pool(10, |index| format!("city-{index}")),
        states: ["AZ", "CA", "ID", "OR", "WA", "WY"].map(String::from).into(),
    }
});

/// A price from two random numbers: from 100 to almost 100 million, the small ones the most likely.
fn price(digits: u64, exponent: u64) -> u64 {
    (100 + below(digits, 900)) * 10u64.pow(below(exponent, 6) as u32)
}

/// One of the `window` newest indexes up to `last`.
fn recent(last: u64, window: u64, random: u64) -> u64 {
    let window = window.min(last + 1);
    last + 1 - window + below(random, window)
}

/// The hot person of the time of a group of events, mostly; else one of the newest thousand.
fn person_of(group: u64, choice: u64, which: u64) -> u64 {
    let hot = below(choice, 4) != 0;
    FIRST_ID + if hot { group / HOT * HOT } else { recent(group, 1000, which) }
}

fn numbers(events: &[u64], number: impl Fn(u64) -> u64) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(events.iter().map(|n| number(*n) as i64)))
}

fn times(events: &[u64], time: impl Fn(u64) -> i64) -> ArrayRef {
    Arc::new(TimestampMillisecondArray::from_iter_values(events.iter().map(|n| time(*n))))
}

/// Entries of a pool, each chosen by `index` of an event.
fn texts(events: &[u64], pool: &[String], index: impl Fn(u64) -> u64) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(events.iter().map(|n| &pool[index(*n) as usize])))
}

/// Entries of a pool, each chosen by a random number of the event.
fn any_text(events: &[u64], pool: &[String], stream: u64) -> ArrayRef {
    texts(events, pool, |n| below(random(n, stream), pool.len() as u64))
}

/// The events of a range that are of one kind: those with such a place in their group.
fn select(events: Range<u64>, places: Range<u64>) -> Vec<u64> {
    events.filter(|n| places.contains(&(n % GROUP))).collect()
}

const NUMBER: DataType = DataType::Int64;
const TEXT: DataType = DataType::Utf8;
const TIME: DataType = DataType::Timestamp(TimeUnit::Millisecond, None);

fn schema(columns: &[(&str, DataType)]) -> SchemaRef {
    let field = |(name, data_type): &(&str, DataType)| Field::new(*name, data_type.clone(), false);
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

/// New persons: one event in 50.
#[derive(Debug, Clone, Copy)]
pub struct Person;

impl Events for Person {
    fn schema(&self) -> SchemaRef {
        schema(&[
            ("id", NUMBER),
            ("name", TEXT),
            ("emailAddress", TEXT),
            ("creditCard", TEXT),
            ("city", TEXT),
            ("state", TEXT),
            ("dateTime", TIME),
            ("extra", TEXT),
        ])
    }

    fn rows(&self, events: Range<u64>) -> Result<RecordBatch> {
        let n = &select(events, 0..1);
        let columns = vec![
            numbers(n, |n| FIRST_ID + n / GROUP),
            any_text(n, &POOLS.names, 0),
            any_text(n, &POOLS.emails, 1),
            any_text(n, &POOLS.cards, 2),
            any_text(n, &POOLS.cities, 3),
            any_text(n, &POOLS.states, 4),
            times(n, millis),
            any_text(n, &POOLS.extras, 5),
        ];
        Ok(RecordBatch::try_new(self.schema(), columns)?)
    }
}

/// New auctions: three events in 50.
#[derive(Debug, Clone, Copy)]
pub struct Auction;

impl Events for Auction {
    fn schema(&self) -> SchemaRef {
        schema(&[
            ("id", NUMBER),
            ("itemName", TEXT),
            ("description", TEXT),
            ("initialBid", NUMBER),
            ("reserve", NUMBER),
            ("dateTime", TIME),
            ("expires", TIME),
            ("seller", NUMBER),
            ("category", NUMBER),
            ("extra", TEXT),
        ])
    }

    fn rows(&self, events: Range<u64>) -> Result<RecordBatch> {
        let n = &select(events, 1..1 + AUCTIONS);
        let initial_bid = |n| price(random(n, 0), random(n, 1));
        let columns = vec![
            numbers(n, |n| FIRST_ID + AUCTIONS * (n / GROUP) + n % GROUP - 1),
            any_text(n, &POOLS.items, 2),
            any_text(n, &POOLS.descriptions, 3),
            numbers(n, initial_bid),
            numbers(n, |n| initial_bid(n) + price(random(n, 4), random(n, 5))),
            times(n, millis),
            times(n, |n| millis(n) + 1 + below(random(n, 6), 20_000) as i64),
            numbers(n, |n| person_of(n / GROUP, random(n, 7), random(n, 8))),
            numbers(n, |n| 10 + below(random(n, 9), 5)),
            any_text(n, &POOLS.extras, 10),
        ];
        Ok(RecordBatch::try_new(self.schema(), columns)?)
    }
}

/// Bids: 46 events in 50.
#[derive(Debug, Clone, Copy)]
pub struct Bid;

impl Bid {
    /// The hot auction or one of the newest hundred.
    fn auction(n: u64) -> u64 {
        let newest = AUCTIONS * (n / GROUP) + AUCTIONS - 1;
        let hot = below(random(n, 0), 2) == 0;
        FIRST_ID + if hot { newest / HOT * HOT } else { recent(newest, 100, random(n, 1)) }
    }

    /// One of the four hot channels or of ten thousand others.
    fn channel(n: u64) -> u64 {
        let hot = below(random(n, 6), 2) == 0;
        if hot { below(random(n, 7), 4) } else { 4 + below(random(n, 7), 10_000) }
    }
}

impl Events for Bid {
    fn schema(&self) -> SchemaRef {
        schema(&[
            ("auction", NUMBER),
            ("bidder", NUMBER),
            ("price", NUMBER),
            ("channel", TEXT),
            ("url", TEXT),
            ("dateTime", TIME),
            ("extra", TEXT),
        ])
    }

    fn rows(&self, events: Range<u64>) -> Result<RecordBatch> {
        let n = &select(events, 1 + AUCTIONS..GROUP);
        let columns = vec![
            numbers(n, Bid::auction),
            numbers(n, |n| person_of(n / GROUP, random(n, 2), random(n, 3))),
            numbers(n, |n| price(random(n, 4), random(n, 5))),
            texts(n, &POOLS.channels, Bid::channel),
            texts(n, &POOLS.urls, Bid::channel),
            times(n, millis),
            any_text(n, &POOLS.extras, 8),
        ];
        Ok(RecordBatch::try_new(self.schema(), columns)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks;
    use crate::random::tests::checksum;

    /// What the first hundred thousand events have of a kind.
    fn baseline(generator: impl Events) -> (usize, u64) {
        let batches: Vec<_> = blocks(generator, 100_000).map(|block| block.unwrap().batch).collect();
        checksum(&batches)
    }

    #[test]
    fn rows_are_those_of_the_baseline() {
        assert_eq!(baseline(Person), (2_000, 0x6994_5494_a70f_6c40));
        assert_eq!(baseline(Auction), (6_000, 0xc7f7_3691_8685_88f2));
        assert_eq!(baseline(Bid), (92_000, 0x41ff_9549_c583_19e1));
    }
}
