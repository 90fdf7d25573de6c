//! Usages compared with the model: each counts at most once, on the span that pays, and in the totals.

use super::check::Found;
use super::plan::Word;
use super::watch::node_of;
use super::world::{Node, Spot, Went, customer, price, remote};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use tool_core::trace::{CostEntry, CostSummary, Report, SpanKind, SpanRecord};

/// A usage that counts, and the span that pays. `None` is a separate root.
type Payer<'a> = (&'a SpanRecord, Option<u32>);

fn is_first(kind: SpanKind) -> bool {
    matches!(kind, SpanKind::Agent | SpanKind::Tool | SpanKind::Llm)
}

fn rank(kind: SpanKind) -> u8 {
    match kind {
        SpanKind::Section => 2,
        SpanKind::Http => 3,
        _ => 1,
    }
}

fn number_of(spent: &CostEntry) -> u32 {
    let paid = || {
        spent
            .cost
            .and_then(|cost| u32::try_from(cost.picodollars()).ok())
    };
    let number = match spent.used.tool_calls.first() {
        Some((number, _)) => number.parse().ok(),
        None => paid(),
    };
    number.expect("a number of ours")
}

/// Returns the llm span of the usage, if it is the nearest of the best rank.
fn question(spot: &Spot) -> Option<(u32, Went)> {
    let (node, went) = spot.chain().find(|(node, _)| is_first(node.kind))?;
    (node.kind == SpanKind::Llm).then_some((node.number, went))
}

pub fn check(found: &mut Found, spots: &[Arc<Spot>]) {
    let reports = std::mem::take(&mut found.reports);
    let mut counted: HashMap<u32, Vec<(usize, Payer<'_>)>> = HashMap::new();
    for (collector, report) in reports.iter().enumerate() {
        for span in report.spans() {
            for spent in span.spent() {
                counted
                    .entry(number_of(spent))
                    .or_default()
                    .push((collector, (span, node_of(span))));
            }
        }
        totals(found, collector, report);
    }
    let mut told: HashMap<u32, Vec<&Spot>> = HashMap::new();
    let mut responses: HashMap<(usize, u32), Vec<&Spot>> = HashMap::new();
    for spot in spots {
        if let (Word::Told, Some((question, _))) = (spot.of.told, question(spot)) {
            told.entry(question).or_default().push(spot);
        }
        if let Some(id) = spot.of.response {
            responses
                .entry((spot.place.collector, id))
                .or_default()
                .push(spot);
        }
    }
    for spot in spots {
        let times = counted.get(&spot.of.number).map_or(0, Vec::len);
        let allowed = if spot.of.response.is_some() {
            0..=1
        } else {
            often(spot, &told)
        };
        found.hold(allowed.contains(&times), || {
            format!("{} counted {times} times, not {allowed:?}", named(spot))
        });
        for (collector, payer) in counted.get(&spot.of.number).into_iter().flatten() {
            pays(found, spot, *collector, *payer);
        }
    }
    for same in responses.values() {
        one_response(found, same, &told, &counted);
    }
    found.reports = reports;
}

/// Returns how often a usage without a response id counts.
fn often(spot: &Spot, told: &HashMap<u32, Vec<&Spot>>) -> std::ops::RangeInclusive<usize> {
    let Some((number, went)) = question(spot).filter(|_| spot.of.told == Word::Seen) else {
        return 1..=1;
    };
    let told = told.get(&number).map(Vec::as_slice).unwrap_or_default();
    if told.iter().any(|told| told.ended < spot.began) {
        return 0..=0;
    }
    // A later record on the llm span replaces it.
    let surely = |told: &&&Spot| {
        told.of.response.is_none() && question(told).is_some_and(|(_, went)| went == Went::On)
    };
    match told.iter().find(surely) {
        _ if told.is_empty() => 1..=1,
        Some(_) if went == Went::On => 0..=0,
        _ => 0..=1,
    }
}

/// A usage counts on the first active span of the best rank, or else on a separate root.
fn pays(found: &mut Found, spot: &Spot, collector: usize, (span, node): Payer<'_>) {
    found.hold(collector == spot.place.collector, || {
        format!("{} is in collector {collector}", named(spot))
    });
    let mut chain = spot.chain().collect::<Vec<_>>();
    chain.sort_by_key(|(node, _)| rank(node.kind));
    let sure = chain.iter().position(|(_, went)| *went == Went::On);
    let mut may = chain
        .iter()
        .take(sure.map_or(chain.len(), |at| at + 1))
        .filter(|(_, went)| *went != Went::Over);
    match node {
        Some(node) => {
            found.hold(may.any(|(may, _)| may.number == node), || {
                format!("{} is on {span:?}", named(spot))
            });
        }
        None => {
            found.hold(sure.is_none(), || {
                format!("{} is on a separate root, {span:?}", named(spot))
            });
            // Without any span it has the parent that a span would have here.
            let above = spot
                .place
                .remote
                .filter(|_| spot.node.is_none())
                .map(remote);
            let is_there = span.parent() == above.map(|above| above.1);
            found.hold(is_there, || {
                format!("{}: its root {span:?} hangs from something", named(spot))
            });
            let for_customer = spot.place.customer.map(customer);
            let is_for = span.customer_id() == for_customer.as_deref();
            found.hold(is_for, || {
                format!("{}: its root is for {:?}", named(spot), span.customer_id())
            });
        }
    }
}

/// Usages with one response id count once. A recorded one replaces an observed one.
fn one_response(
    found: &mut Found,
    same: &[&Spot],
    told: &HashMap<u32, Vec<&Spot>>,
    counted: &HashMap<u32, Vec<(usize, Payer<'_>)>>,
) {
    let counts = |spot: &&&Spot| counted.contains_key(&spot.of.number);
    let times = same.iter().filter(counts).count();
    // A record without an id may belong to any observed response of the llm span, which then does not count
    // later.
    let is_whole = |told: &Vec<&Spot>| told.iter().any(|told| told.of.response.is_none());
    let question_of = |spot: &Spot| question(spot).and_then(|(at, _)| told.get(&at));
    let is_told =
        |spot: &&Spot| spot.of.told == Word::Seen && question_of(spot).is_some_and(is_whole);
    let least = usize::from(!same.iter().any(is_told));
    let all = || {
        same.iter()
            .map(|spot| named(spot))
            .collect::<Vec<_>>()
            .join("; ")
    };
    found.hold(times >= least && times <= 1, || {
        format!("one response counted {times} times: {}", all())
    });
    let Some(first) = same
        .iter()
        .find(counts)
        .filter(|spot| spot.of.told == Word::Seen)
    else {
        return;
    };
    let payer = counted
        .get(&first.of.number)
        .and_then(|payers| payers.first())
        .and_then(|(_, (_, node))| *node);
    let is_later = |spot: &&&Spot| spot.of.told == Word::Told && first.ended < spot.began;
    for later in same.iter().filter(is_later) {
        let goes_on = later
            .chain()
            .any(|(node, went)| Some(node.number) == payer && went == Went::On);
        found.hold(!goes_on, || {
            format!(
                "the reported use did not replace the observed one: {}",
                all()
            )
        });
    }
}

fn named(spot: &Spot) -> String {
    let chain = spot
        .chain()
        .map(|(node, went)| format!("{}:{} {went:?}", node.kind, node.number));
    format!(
        "{:?} in [{}] at {}..{}",
        spot.of,
        chain.collect::<Vec<_>>().join(", "),
        spot.began,
        spot.ended
    )
}

/// Checks that the totals are the sums over the spans.
fn totals(found: &mut Found, collector: usize, report: &Report) {
    let mut all = [CostSummary::default(); 3];
    let mut lists: [BTreeMap<String, CostSummary>; 4] = Default::default();
    for span in report.spans() {
        let node = node_of(span)
            .and_then(|node| found.nodes.get(&node))
            .cloned();
        let nearest = |kind| {
            node.iter()
                .flat_map(Node::chain)
                .find(|node| node.kind == kind)
                .map(|node| node.name)
        };
        let tracked = node
            .iter()
            .flat_map(Node::chain)
            .any(|node| is_first(node.kind));
        for spent in span.spent() {
            let cost = if spent.used.model == "search" {
                spent.cost
            } else {
                price(&spent.used.model, spent.used.usage.input)
            };
            found.hold(cost == spent.cost, || {
                format!("collector {collector}: {spent:?} costs {cost:?}")
            });
            add(&mut all[0], spent);
            add(&mut all[if tracked { 1 } else { 2 }], spent);
            let names = [
                nearest(SpanKind::Agent).map(str::to_owned),
                nearest(SpanKind::Tool).map(str::to_owned),
                Some(spent.used.model.to_string()),
                span.customer_id().map(str::to_owned),
            ];
            for (list, name) in lists.iter_mut().zip(names) {
                name.into_iter()
                    .for_each(|name| add(list.entry(name).or_default(), spent));
            }
        }
    }
    let totals = report.totals();
    let [agents, tools, models, customers] = lists;
    let same = all == [totals.total, totals.tracked, totals.untracked]
        && agents == totals.agents
        && tools == totals.tools
        && models == totals.models
        && customers == totals.customers;
    found.hold(same, || {
        format!(
            "collector {collector}: {totals:?} is not {all:?}, {agents:?}, {tools:?}, {customers:?}"
        )
    });
    let parts = totals.tracked.cost + totals.untracked.cost;
    found.hold(parts == totals.total.cost, || {
        format!("collector {collector}: tracked and untracked are {parts}")
    });
}

fn add(sum: &mut CostSummary, spent: &CostEntry) {
    sum.cost += spent.cost.unwrap_or_default();
    sum.usage += spent.used.usage;
    sum.uses += 1;
    sum.unpriced += u64::from(spent.cost.is_none());
}
