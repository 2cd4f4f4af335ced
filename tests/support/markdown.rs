//! Tables as Markdown.

/// The lines that begin a table with these columns: `row|median|max (ms)`.
pub fn head(columns: &str) -> String {
    let columns: Vec<_> = columns.split('|').collect();
    format!("{}\n|{}", line(&columns), "---|".repeat(columns.len()))
}

/// A line of a table.
pub fn line(cells: &[impl AsRef<str>]) -> String {
    let cells: String = cells.iter().map(|cell| format!(" {} |", cell.as_ref())).collect();
    format!("|{cells}")
}

/// A table with all its rows.
pub fn table(columns: &str, rows: impl IntoIterator<Item = impl AsRef<[String]>>) -> String {
    let rows = rows.into_iter().map(|cells| line(cells.as_ref()));
    [head(columns)].into_iter().chain(rows).map(|line| line + "\n").collect()
}
