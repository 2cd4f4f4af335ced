//! Tables: the head of each column, and the cell of each row.

use maud::{Markup, Render, html};

/// The columns of a table of `R`s, from the left.
pub struct Table<'c, R>(Vec<Column<'c, R>>);

struct Column<'c, R> {
    head: String,
    /// The class of text, which is aligned on the left; numbers have no class and are aligned on the right.
    class: Option<&'static str>,
    cell: Box<dyn Fn(&R) -> Markup + 'c>,
}

impl<'c, R> Table<'c, R> {
    /// Makes a table without columns.
    pub fn new() -> Self {
        Table(Vec::new())
    }

    /// Adds a column of words.
    pub fn text<M: Render>(self, head: &str, cell: impl Fn(&R) -> M + 'c) -> Self {
        self.with(head, Some("text"), cell)
    }

    /// Adds a column of text that may be broken.
    pub fn lines<M: Render>(self, head: &str, cell: impl Fn(&R) -> M + 'c) -> Self {
        self.with(head, Some("break"), cell)
    }

    /// Adds a column of figures.
    pub fn number<M: Render>(self, head: &str, cell: impl Fn(&R) -> M + 'c) -> Self {
        self.with(head, None, cell)
    }

    fn with<M: Render>(mut self, head: &str, class: Option<&'static str>, cell: impl Fn(&R) -> M + 'c) -> Self {
        self.0.push(Column { head: head.into(), class, cell: Box::new(move |row| html! { (cell(row)) }) });
        self
    }

    /// Returns the table with all rows, below a caption if it is not empty.
    pub fn of(self, caption: &str, rows: impl IntoIterator<Item = R>) -> Markup {
        html! {
            .wide { table {
                @if !caption.is_empty() { caption { span { (caption) } } }
                thead { tr { @for column in &self.0 { th class=[column.class.and(Some("text"))] { (column.head) } } } }
                tbody { @for row in rows { tr {
                    @for column in &self.0 { td class=[column.class] { ((column.cell)(&row)) } }
                } } }
            } }
        }
    }
}
