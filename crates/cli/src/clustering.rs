//! Finds clusters for `clusters` and `dedup`, and prints them: as text, as JSON, as rows of a table, and on the page of
//! `--report`.
//!
//! Each member is compared with the first one of its group: the smallest key or, for files, the one that is kept. Files with
//! the same bytes as the first one come right after it.

use ringer::groups::{Cluster, Linkage, Report};
use ringer::scheme::Measure;
use ringer::{Comparison, Error, Estimate, Originals, Snapshot};
use serde_json::{Map, Value, json};

use crate::actions::{Keep, Plan, Role};
use crate::exit::Failure;
use crate::grouping::{self, Conditions};
use crate::report::{Mark, Place, Report as Page, Similarity};
use crate::results::{self, Results, key_cell};
use crate::show::{self, Style};
use crate::sources;
use crate::table::{Cell, Column, Kind};

/// The columns of a table of clusters: a row for each member, compared with the representative.
pub(crate) fn columns(measure: Measure) -> Vec<Column> {
    let columns = [("cluster", Kind::Integer), ("key", Kind::Text), ("representative", Kind::Text)];
    results::columns(&columns, measure)
}

/// A request for clusters.
pub(crate) struct Clustering<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) min: f64,
    pub(crate) linkage: Linkage,
    pub(crate) conditions: Conditions,
    pub(crate) style: Style,
    /// What a member is called in the output: `file` or `set`.
    pub(crate) thing: &'static str,
    /// Sorted keys of this run, if the database holds others as well. Clusters without any of these keys are not printed,
    /// and other members are marked.
    pub(crate) wanted: Option<&'a [Vec<u8>]>,
    /// The original sets, if clusters are decided by exact comparison.
    pub(crate) originals: Option<&'a Originals<'a>>,
    /// Which file is kept, if keys are paths of files. Then identical files are marked.
    pub(crate) keep: Option<Keep<'a>>,
}

/// A member of a group, compared with the first one.
pub(crate) struct Member {
    pub(crate) key: Box<[u8]>,
    pub(crate) similarity: Estimate,
    pub(crate) exact: bool,
    /// A file with the same bytes as the first one.
    pub(crate) identical: bool,
    /// A member from an earlier run.
    pub(crate) earlier: bool,
}

/// A cluster whose members are compared with the first one.
pub(crate) struct Group {
    pub(crate) number: u64,
    pub(crate) measure: Measure,
    /// The first one has the similarity 1 to itself.
    pub(crate) members: Vec<Member>,
}

/// The result of a run.
pub(crate) struct Clustered {
    pub(crate) report: Report,
    pub(crate) clusters: u64,
    /// The members of all clusters.
    pub(crate) members: u64,
    /// The files that have the same bytes as the first one of their cluster.
    pub(crate) identical: u64,
}

impl Clustering<'_> {
    /// Finds and prints the clusters. Adds them to the page of `--report`, and to the plan of what happens to files.
    pub(crate) fn print(
        &self,
        results: &mut Results,
        mut page: Option<&mut Page>,
        mut plan: Option<&mut Plan<'_>>,
    ) -> Result<Clustered, Failure> {
        let (mut clusters, mut members, mut identical) = (0, 0, 0);
        let bar = grouping::bar(self.style);
        let ask = self.snapshot.clusters(self.min).linkage(self.linkage);
        let ask = ask.pairs(|pairs| {
            let pairs = self.conditions.put(pairs).progress(grouping::follow(&bar, self.style));
            match self.originals {
                Some(originals) => pairs.verify(originals),
                None => pairs,
            }
        });
        let mut one = |cluster: &Cluster<'_>| {
            if !self.is_wanted(cluster)? {
                return Ok(());
            }
            clusters += 1;
            members += cluster.keys.len() as u64;
            let group = self.group(clusters, cluster)?;
            identical += group.members.iter().filter(|member| member.identical).count() as u64;
            if let Some(page) = page.as_deref_mut() {
                group.show(page)?;
            }
            let roles = plan.as_deref_mut().map(|plan| plan.add(&group));
            grouping::row(&bar, results.on_terminal, || {
                self.line(&group, roles.as_deref(), results)
            })
        };
        let report = grouping::printing(|printed| ask.run(|cluster| printed(one(&cluster))));
        bar.finish_and_clear();
        results.lines.flush()?;
        Ok(Clustered { report: report?, clusters, members, identical })
    }

    fn asks_about(&self, key: &[u8]) -> bool {
        self.wanted.is_none_or(|wanted| wanted.binary_search_by(|one| one[..].cmp(key)).is_ok())
    }

    fn is_wanted(&self, cluster: &Cluster<'_>) -> Result<bool, Error> {
        for key in cluster.keys.clone() {
            if self.asks_about(&key?) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Compares the members of a cluster with the first one.
    fn group(&self, number: u64, cluster: &Cluster<'_>) -> Result<Group, Failure> {
        let mut keys = cluster.keys.clone().collect::<Result<Vec<Box<[u8]>>, _>>()?;
        let first = self.keep.as_ref().map_or(0, |keep| keep.choose(&keys));
        let first = keys.remove(first.min(keys.len().saturating_sub(1)));
        let earlier = !self.asks_about(&first);
        let (mut identical, mut others) = (Vec::new(), Vec::new());
        for key in keys {
            let comparison = self.compare(&first, &key)?;
            let (similarity, exact) = (comparison.similarity(), comparison.is_exact());
            let same = self.keep.is_some()
                && exact
                && similarity.value == 1.0
                && sources::same_bytes(&first, &key);
            let earlier = !self.asks_about(&key);
            let into = if same { &mut identical } else { &mut others };
            into.push(Member { key, similarity, exact, identical: same, earlier });
        }
        let exact = cluster.lowest.is_exact();
        let mut members = vec![Member {
            key: first,
            similarity: Estimate::exact(1.0),
            exact,
            identical: false,
            earlier,
        }];
        members.append(&mut identical);
        members.append(&mut others);
        Ok(Group { number, measure: cluster.lowest.measure(), members })
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Result<Comparison, Error> {
        match self.originals {
            Some(originals) => self.snapshot.compare_exactly(a, b, originals),
            None => self.snapshot.compare(a, b),
        }
    }

    fn line(
        &self,
        group: &Group,
        roles: Option<&[Role]>,
        results: &mut Results,
    ) -> Result<(), Failure> {
        if results.is_table() {
            return group.rows(results);
        }
        match results.style.json {
            true => results.lines.line(group.json(roles)),
            false => group.text(self.thing, roles, results),
        }
    }
}

impl Group {
    /// The first member, and the others.
    pub(crate) fn split(&self) -> Option<(&Member, &[Member])> {
        self.members.split_first()
    }

    /// Adds the group to the page of `--report`.
    fn show(&self, page: &mut Page) -> Result<(), Failure> {
        let Some((first, others)) = self.split() else { return Ok(()) };
        let place = |member: &Member| Place { key: member.key.to_vec(), row: None };
        page.begin(place(first), first.mark(), None);
        for member in others {
            page.member(
                place(member),
                member.mark(),
                Similarity::new(&member.similarity, member.exact),
            );
        }
        page.end()
    }

    fn json(&self, roles: Option<&[Role]>) -> Value {
        let Some((first, others)) = self.split() else { return Value::Null };
        let key = |member: &Member| show::json_key(&member.key);
        let lowest =
            others.iter().map(|other| other.similarity).min_by(|a, b| a.value.total_cmp(&b.value));
        let lowest = lowest.unwrap_or(first.similarity);
        let least = format!("min_{}", self.measure.similarity_name());
        let [low, high] = ["low", "high"].map(|end| format!("{least}_{end}"));
        let member = |(i, member): (usize, &Member)| {
            let mut object = Map::new();
            object.insert("key".into(), key(member));
            show::put_similarity(&mut object, self.measure, &member.similarity);
            object.insert("exact".into(), (i == 0 || member.exact).into());
            if member.identical {
                object.insert("identical".into(), true.into());
            }
            if let Some(role) = roles.and_then(|roles| roles.get(i)) {
                object.insert("fate".into(), role.name().into());
            }
            Value::Object(object)
        };
        let mut line = json!({
            "cluster": self.number,
            "keys": self.members.iter().map(key).collect::<Vec<_>>(),
            (least): if self.measure == Measure::Cosine { lowest.value } else { lowest.clamped() },
            (low): lowest.low,
            (high): lowest.high,
            "representative": key(first),
            "exact": self.members.iter().all(|member| member.exact),
            "members": self.members.iter().enumerate().map(member).collect::<Vec<_>>(),
        });
        let earlier: Vec<Value> =
            self.members.iter().filter(|member| member.earlier).map(key).collect();
        if !earlier.is_empty() {
            line["earlier"] = earlier.into();
        }
        line
    }

    fn text(
        &self,
        thing: &str,
        roles: Option<&[Role]>,
        results: &mut Results,
    ) -> Result<(), Failure> {
        let out = &mut results.lines;
        out.line(format_args!(
            "group {}: {}",
            self.number,
            show::count(self.members.len() as u64, thing)
        ))?;
        for (i, member) in self.members.iter().enumerate() {
            let alike = match (i, member.identical, member.exact) {
                (0, ..) => String::new(),
                (_, true, _) => "identical".into(),
                (.., true) => format!("{:.3} exact", member.similarity.value),
                (.., false) => show::similarity(self.measure, &member.similarity),
            };
            let earlier = if member.earlier { "  (from an earlier run)" } else { "" };
            let fate = roles.and_then(|roles| roles.get(i)).map_or("", |role| role.note());
            out.line(format_args!("  {alike:<13}  {}{earlier}{fate}", show::key(&member.key)))?;
        }
        Ok(())
    }

    /// Adds the members as rows of a table.
    fn rows(&self, results: &mut Results) -> Result<(), Failure> {
        let Some((first, _)) = self.split() else { return Ok(()) };
        for member in &self.members {
            let mut row =
                vec![Cell::Integer(self.number), key_cell(&member.key), key_cell(&first.key)];
            row.extend(results::estimate_cells(&member.similarity, member.exact));
            results.row(row)?;
        }
        Ok(())
    }
}

impl Member {
    fn mark(&self) -> Mark {
        match (self.identical, self.earlier) {
            (true, _) => Mark::Identical,
            (false, true) => Mark::Earlier,
            (false, false) => Mark::None,
        }
    }
}
