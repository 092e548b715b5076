//! Random patterns over random rows, judged by all matches that there could be.
//!
//! The judge knows nothing of states. It tries every way to give the rows from a start on to the
//! variables, and goes by what Flink documents: of the matches that start at a row, the one that is
//! complete first counts; matches are found in the order of their starts; a start whose match may still
//! become complete holds up all later ones. Where rows can be given to variables in several ways, any of
//! them is right.

use arrow::array::BooleanArray;
use datafusion_streaming_udfs::aggregate::Count;

use super::*;

const VARIABLES: usize = 4;
const ROWS: usize = 9;

/// Random numbers, the same on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound
    }
}

/// Which rows fit which variables.
type Fits = Vec<[bool; VARIABLES]>;

/// Ways to give rows to variables.
struct Judge<'a> {
    elements: &'a [PatternElement],
    fits: &'a Fits,
}

impl Judge<'_> {
    /// Every way to give the rows from `start` on, as the variable of each row.
    fn ways(&self, start: usize, end: usize) -> Vec<Vec<usize>> {
        let mut ways = vec![vec![]];
        for row in start..end {
            ways = ways
                .into_iter()
                .flat_map(|way: Vec<usize>| {
                    let first = way.last().copied().unwrap_or(0);
                    (first..self.elements.len()).map(move |variable| {
                        let mut longer = way.clone();
                        longer.push(variable);
                        longer
                    })
                })
                .filter(|way| self.fits[row][way[way.len() - 1]] && self.is_begun(way, start))
                .collect();
        }
        ways
    }

    fn count(way: &[usize], variable: usize) -> u32 {
        way.iter().filter(|of| **of == variable).count() as u32
    }

    /// Whether a way may be the beginning of a match.
    fn is_begun(&self, way: &[usize], start: usize) -> bool {
        let Some(last) = way.last() else { return true };
        self.elements.iter().enumerate().take(last + 1).all(|(variable, element)| {
            let Quantifier { min, max, .. } = element.quantifier;
            let count = Self::count(way, variable);
            let is_enough = variable == *last || count >= min;
            // the first row behind a greedy variable does not fit it
            let behind = way.iter().position(|of| *of > variable);
            let is_left = !element.quantifier.is_greedy()
                || behind.is_none_or(|place| !self.fits[start + place][variable]);
            is_enough && max.is_none_or(|max| count <= max) && is_left
        })
    }

    /// Whether a way is a match: nothing is lacking, and no greedy variable could go on with its last row.
    fn is_complete(&self, way: &[usize], start: usize) -> bool {
        let Some(last) = way.last() else { return false };
        let row = start + way.len() - 1;
        let rest = self.elements.iter().enumerate().skip(*last);
        let mut rest = rest.map(|(variable, element)| {
            let enough = Self::count(way, variable) >= element.quantifier.min;
            let greedy = element.quantifier.is_greedy() && variable + 1 < self.elements.len();
            enough && !(greedy && self.fits[row][variable])
        });
        rest.all(|holds| holds)
    }

    /// The matches that start at a row and are complete first, and their end; `None`: there is none.
    fn first_matches(&self, start: usize) -> Option<(usize, Vec<Vec<usize>>)> {
        (start..self.fits.len()).find_map(|end| {
            let mut ways = self.ways(start, end + 1);
            ways.retain(|way| self.is_complete(way, start));
            (!ways.is_empty()).then_some((end, ways))
        })
    }
}

/// The row at which the next match may start.
fn next_start(after: AfterMatch, start: usize, way: &[usize]) -> Option<usize> {
    let place = match after {
        AfterMatch::SkipToNextRow => Some(1),
        AfterMatch::SkipPastLastRow => Some(way.len()),
        AfterMatch::SkipToFirst(variable) => way.iter().position(|of| *of == variable),
        AfterMatch::SkipToLast(variable) => way.iter().rposition(|of| *of == variable),
    };
    place.filter(|place| *place > 0).map(|place| start + place)
}

fn random_pattern(random: &mut Random) -> Pattern {
    const QUANTIFIERS: [&str; 12] =
        ["", "", "", "+", "+?", "*", "*?", "?", "{2}", "{1,2}", "{2,3}?", "{2,}?"];
    loop {
        let count = 1 + random.below(VARIABLES);
        let names = ["A", "B", "C", "D"];
        let element = |name: &&str| format!("{name}{}", QUANTIFIERS[random.below(QUANTIFIERS.len())]);
        let text: Vec<String> = names[..count].iter().map(element).collect();
        if let Ok(pattern) = pattern(&text.join(" ")) {
            return pattern;
        }
    }
}

/// Rows with an id, a time, and for each variable whether they fit.
fn schema() -> SchemaRef {
    let mut fields = vec![
        Field::new("id", DataType::Int64, true),
        Field::new("ts", DataType::Timestamp(TimeUnit::Millisecond, None), true),
    ];
    fields.extend((0..VARIABLES).map(|variable| Field::new(format!("f{variable}"), DataType::Boolean, true)));
    Arc::new(Schema::new(fields))
}

fn element_of(fits: &Fits) -> Result<StreamElement> {
    let ids = 0..fits.len() as i64;
    let mut columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(ids.clone())),
        Arc::new(TimestampMillisecondArray::from_iter_values(ids)),
    ];
    for variable in 0..VARIABLES {
        columns.push(Arc::new(BooleanArray::from_iter(fits.iter().map(|row| Some(row[variable])))));
    }
    Ok(changes(ChangelogBatch::insert_only(RecordBatch::try_new(schema(), columns)?)))
}

/// The id of the first row, and the number of rows of each variable.
fn counted(pattern: &Pattern) -> Result<MatchRecognizeNode> {
    let variables = pattern.elements().len();
    let count = |variable| PatternReference::Aggregate {
        variable: Some(variable),
        call: AggregateCall {
            function: Arc::new(Count),
            args: vec![],
            filter: None,
            distinct: false,
            ignore_nulls: false,
            appends_only: false,
            return_type: DataType::Int64,
            display: "count(*)".to_string(),
        },
    };
    let references: Vec<_> =
        std::iter::once(row(None, true, 0, 0)).chain((0..variables).map(count)).collect();
    let numbers: Vec<Field> =
        (0..=variables).map(|place| Field::new(format!("r{place}"), DataType::Int64, true)).collect();
    let numbers = Schema::new(numbers);
    let columns = (0..=variables).map(column).collect();
    let measures = PatternExpressions::try_new(columns, references, &numbers, &[], &schema())?;
    let definition = |variable| {
        let field = schema().field(2 + variable).clone();
        let reference = row(Some(variable), false, 0, 2 + variable);
        let column = Arc::new(Column::new(field.name(), 0));
        PatternExpressions::try_new(vec![column], vec![reference], &Schema::new(vec![field]), &[], &schema())
    };
    Ok(MatchRecognizeNode {
        keys: vec![],
        time: 1,
        kind: TimeAttributeKind::Rowtime,
        then_by: vec![],
        pattern: pattern.clone(),
        after: AfterMatch::SkipToNextRow,
        within: 0,
        definitions: (0..variables).map(|variable| definition(variable).map(Some)).collect::<Result<_>>()?,
        measures,
        input: schema(),
        schema: Arc::new(numbers),
    })
}

#[test]
fn of_all_possible_matches_the_right_ones_are_found() -> Result<()> {
    let mut random = Random(7);
    let mut matches = 0;
    for case in 0..3_000 {
        let pattern = random_pattern(&mut random);
        let variables = pattern.elements().len();
        let after = match random.below(4) {
            0 => AfterMatch::SkipToNextRow,
            1 => AfterMatch::SkipToFirst(random.below(variables)),
            2 => AfterMatch::SkipToLast(random.below(variables)),
            _ => AfterMatch::SkipPastLastRow,
        };
        let fits: Fits = (0..ROWS).map(|_| std::array::from_fn(|_| random.below(5) < 3)).collect();
        let node = MatchRecognizeNode { after, ..counted(&pattern)? };
        let lines = found(&node, vec![element_of(&fits)?]);
        let about =
            format!("case {case}: PATTERN ({pattern}) {}, {fits:?}: {lines:?}", after.display(&pattern));

        let judge = Judge { elements: pattern.elements(), fits: &fits };
        let Ok(lines) = &lines else {
            // some match has no row to go on at
            let is_stuck = |way: &Vec<usize>| next_start(after, 0, way).is_none();
            let mut all = (0..ROWS).filter_map(|start| judge.first_matches(start));
            assert!(all.any(|(_, ways)| ways.iter().any(is_stuck)), "{about}");
            continue;
        };
        let mut lines = lines.iter();
        let mut start = 0;
        while start < ROWS {
            let Some((end, ways)) = judge.first_matches(start) else {
                if !judge.ways(start, ROWS).is_empty() {
                    break;
                }
                start += 1;
                continue;
            };
            let Some(line) = lines.next() else { panic!("no match from {start} to {end}; {about}") };
            let numbers: Vec<usize> = line.split(' ').skip(1).filter_map(|it| it.parse().ok()).collect();
            let way: Vec<usize> =
                (0..variables).flat_map(|it| std::iter::repeat_n(it, numbers[1 + it])).collect();
            assert_eq!(numbers[0], start, "{about}");
            assert!(ways.contains(&way), "{way:?} is none of {ways:?}; {about}");
            matches += 1;
            let Some(next) = next_start(after, start, &way) else { panic!("it goes on nowhere; {about}") };
            start = next;
        }
        assert_eq!(lines.next(), None, "{about}");
    }
    assert!(matches > 3_000, "{matches}");
    Ok(())
}
