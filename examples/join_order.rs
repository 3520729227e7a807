//! In which order should tables be joined? The sizes of all joins, estimated from the signatures of their keys.
//!
//! Each table is the set of its join keys. Joining tables one after the other makes intermediate results, and the best order
//! makes the smallest ones. Their sizes are intersections of two, three and more sets. A planner that keeps a signature of
//! each table knows them with an error, and without reading the tables.
//!
//! ```sh
//! cargo run --release --example join_order                     # on tables that it makes up
//! cargo run --release --example join_order -- FILE FILE FILE   # one key per line, two to eight files
//! ```

use std::collections::HashSet;
use std::error::Error;

use ringer::scheme::{CardinalityField, Slots};
use ringer::{Scheme, Signature, Sketcher, measures_of, presets};

/// A table and its keys.
struct Table {
    name: String,
    keys: Vec<u64>,
}

/// Four tables of a shop, by the customers that they name.
fn made_up() -> Vec<Table> {
    let mixed = |x: u64, salt: u64| (x ^ salt << 40).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let customers = |keep: &dyn Fn(u64) -> bool| (0..200_000).filter(|x| keep(*x)).collect();
    let table = |name: &str, keys| Table { name: name.into(), keys };
    vec![
        table("orders", customers(&|x| mixed(x, 1) % 10 < 6)),
        // Customers who ordered write most of the reviews.
        table(
            "reviews",
            customers(&|x| mixed(x, 2) % 100 < if mixed(x, 1) % 10 < 6 { 45 } else { 5 }),
        ),
        table("returns", customers(&|x| mixed(x, 1) % 10 < 3 && mixed(x, 3).is_multiple_of(2))),
        // Newsletters go to few customers who returned something.
        table(
            "newsletter",
            customers(&|x| match mixed(x, 1) % 10 {
                0..3 => mixed(x, 4).is_multiple_of(8),
                _ => mixed(x, 4) % 3 < 2,
            }),
        ),
    ]
}

fn read(path: &str) -> Result<Table, Box<dyn Error>> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    // A stable number for each key: FNV-1a.
    let number = |key: &str| {
        key.bytes().fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
        })
    };
    let keys: HashSet<u64> = text.lines().map(number).collect();
    Ok(Table { name: path.into(), keys: keys.into_iter().collect() })
}

/// The exact size of the join of these tables.
fn exact(tables: &[Table], joined: &[usize]) -> f64 {
    let others: Vec<HashSet<u64>> =
        joined[1..].iter().map(|t| tables[*t].keys.iter().copied().collect()).collect();
    let keys = tables[joined[0]].keys.iter();
    keys.filter(|key| others.iter().all(|other| other.contains(key))).count() as f64
}

/// The estimated size of the join of these tables, with its standard error.
fn estimated(signatures: &[Signature], joined: &[usize]) -> ringer::Result<(f64, f64)> {
    let joined: Vec<&Signature> = joined.iter().map(|t| &signatures[*t]).collect();
    let size = measures_of(&joined)?.intersection;
    Ok((size.value, size.std_error))
}

/// All orders of tables. The first two are joined first, so their order does not matter.
fn orders(tables: usize) -> Vec<Vec<usize>> {
    let mut orders = vec![Vec::new()];
    for _ in 0..tables {
        let longer = |order: &Vec<usize>| {
            let free = (0..tables).filter(|t| !order.contains(t));
            free.map(|t| [&order[..], &[t]].concat()).collect::<Vec<_>>()
        };
        orders = orders.iter().flat_map(longer).collect();
    }
    orders.retain(|order| order[0] < order[1]);
    orders
}

fn main() -> Result<(), Box<dyn Error>> {
    let files: Vec<String> = std::env::args().skip(1).collect();
    let tables = match files.is_empty() {
        true => made_up(),
        false => files.iter().map(|path| read(path)).collect::<Result<_, _>>()?,
    };
    if !(2..=8).contains(&tables.len()) {
        return Err("give two to eight files with one key per line".into());
    }
    // 512 samples of 4 bits: 256 bytes a table.
    let scheme = presets::PRECISE.with_samples(512).with_bits(4);
    let scheme = scheme.with_cardinality(CardinalityField::Exact).with_slots(Slots::NONE);
    let sketcher = Sketcher::new(&Scheme::new(scheme)?);
    let signatures: ringer::Result<Vec<Signature>> =
        tables.iter().map(|table| sketcher.sketch(&table.keys)).collect();
    let signatures = signatures?;
    for table in &tables {
        println!("{:<12} {:>7} keys", table.name, table.keys.len());
    }
    let names =
        |order: &[usize]| order.iter().map(|t| &*tables[*t].name).collect::<Vec<_>>().join(" ⋈ ");
    // The cost of an order is the size of its intermediate results: all joins but the last.
    let cost = |order: &[usize], size: &dyn Fn(&[usize]) -> f64| {
        (2..tables.len().max(3)).map(|n| size(&order[..n])).sum::<f64>()
    };
    println!("\n{:<45} {:>18} {:>9}", "intermediate results", "estimated", "exact");
    let mut pairs: Vec<Vec<usize>> =
        orders(tables.len()).iter().map(|order| order[..2].to_vec()).collect();
    pairs.dedup();
    for pair in &pairs {
        let (value, error) = estimated(&signatures, pair)?;
        println!("{:<45} {value:>9.0} ± {error:>6.0} {:>9.0}", names(pair), exact(&tables, pair));
    }
    let size = |joined: &[usize]| estimated(&signatures, joined).map_or(f64::INFINITY, |e| e.0);
    let by_cost = |size: &dyn Fn(&[usize]) -> f64| {
        let costs = orders(tables.len()).into_iter().map(|order| (cost(&order, size), order));
        costs.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, order)| order).unwrap_or_default()
    };
    let count = |joined: &[usize]| exact(&tables, joined);
    let (chosen, best) = (by_cost(&size), by_cost(&count));
    println!(
        "\nchosen from signatures: {}, {:.0} rows in between",
        names(&chosen),
        cost(&chosen, &count)
    );
    println!(
        "best by counting:       {}, {:.0} rows in between",
        names(&best),
        cost(&best, &count)
    );
    let (all, error) = estimated(&signatures, &chosen)?;
    println!("rows of the result:     {all:.0} ± {error:.0}, counted {:.0}", count(&chosen));
    Ok(())
}
