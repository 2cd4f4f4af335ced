//! Blocks of numbers: dense matrices and sparse ones.

use bytemuck::Pod;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A matrix of numbers, row by row. It travels as its shape and raw bytes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(try_from = "RawDense<T>", bound = "T: Pod")]
pub struct Dense<T: Pod> {
    rows: usize,
    columns: usize,
    #[serde(serialize_with = "raw")]
    values: Vec<T>,
}

#[derive(Deserialize)]
#[serde(bound = "T: Pod")]
struct RawDense<T: Pod> {
    rows: usize,
    columns: usize,
    values: Raw<T>,
}

impl<T: Pod> TryFrom<RawDense<T>> for Dense<T> {
    type Error = &'static str;

    fn try_from(RawDense { rows, columns, values }: RawDense<T>) -> Result<Self, &'static str> {
        match rows.checked_mul(columns) {
            Some(len) if len == values.0.len() => Ok(Dense { rows, columns, values: values.0 }),
            _ => Err("a matrix has rows x columns values"),
        }
    }
}

impl<T: Pod> Dense<T> {
    /// Creates a matrix of zeros.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Dense { rows, columns, values: vec![T::zeroed(); rows * columns] }
    }

    /// Creates a matrix from a function of row and column.
    pub fn from_fn(rows: usize, columns: usize, mut value: impl FnMut(usize, usize) -> T) -> Self {
        let values = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
        Dense { rows, columns, values: values.map(|(row, column)| value(row, column)).collect() }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// All values, row by row.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// All values, row by row.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// One row.
    ///
    /// # Panics
    /// If there is no such row.
    #[track_caller]
    pub fn row(&self, row: usize) -> &[T] {
        check_row(row, self.rows);
        &self.values[row * self.columns..][..self.columns]
    }

    /// One row.
    ///
    /// # Panics
    /// If there is no such row.
    #[track_caller]
    pub fn row_mut(&mut self, row: usize) -> &mut [T] {
        check_row(row, self.rows);
        &mut self.values[row * self.columns..][..self.columns]
    }
}

impl<T: Pod> Index<(usize, usize)> for Dense<T> {
    type Output = T;

    #[track_caller]
    fn index(&self, (row, column): (usize, usize)) -> &T {
        match self.row(row).get(column) {
            Some(value) => value,
            None => panic!("column {column} is outside 0..{}", self.columns),
        }
    }
}

impl<T: Pod> IndexMut<(usize, usize)> for Dense<T> {
    #[track_caller]
    fn index_mut(&mut self, (row, column): (usize, usize)) -> &mut T {
        let columns = self.columns;
        match self.row_mut(row).get_mut(column) {
            Some(value) => value,
            None => panic!("column {column} is outside 0..{columns}"),
        }
    }
}

#[track_caller]
fn check_row(row: usize, rows: usize) {
    assert!(row < rows, "row {row} is outside a matrix of {rows} rows");
}

/// A sparse matrix in compressed rows. It travels as its shape and raw bytes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(try_from = "RawCsr<T>", bound = "T: Pod")]
pub struct Csr<T: Pod> {
    columns: usize,
    /// The start of each row, and the end of the last one.
    #[serde(serialize_with = "raw")]
    starts: Vec<u32>,
    /// The columns of the values; in a row they ascend.
    #[serde(serialize_with = "raw")]
    at: Vec<u32>,
    #[serde(serialize_with = "raw")]
    values: Vec<T>,
}

#[derive(Deserialize)]
#[serde(bound = "T: Pod")]
struct RawCsr<T: Pod> {
    columns: usize,
    starts: Raw<u32>,
    at: Raw<u32>,
    values: Raw<T>,
}

impl<T: Pod> TryFrom<RawCsr<T>> for Csr<T> {
    type Error = &'static str;

    fn try_from(RawCsr { columns, starts, at, values }: RawCsr<T>) -> Result<Self, &'static str> {
        let csr = Csr { columns, starts: starts.0, at: at.0, values: values.0 };
        let ends_well =
            csr.starts.first() == Some(&0) && csr.starts.last().is_some_and(|end| *end as usize == csr.at.len());
        if !(ends_well && csr.starts.is_sorted() && csr.at.len() == csr.values.len()) {
            return Err("the rows of a sparse matrix follow each other, with a column for each value");
        }
        let is_row = |row: &[u32]| {
            row.is_sorted_by(|one, next| one < next) && row.last().is_none_or(|last| (*last as usize) < columns)
        };
        match csr.starts.windows(2).all(|row| is_row(&csr.at[row[0] as usize..row[1] as usize])) {
            true => Ok(csr),
            false => Err("the columns of a row ascend, up to the last column of the matrix"),
        }
    }
}

impl<T: Pod> Csr<T> {
    /// Creates a matrix from the entries that a function gives for each row: pairs of column and value. The columns of
    /// a row must ascend.
    ///
    /// # Panics
    /// If the columns of a row do not ascend, or one is not below `columns`; if there are more than `u32::MAX` entries.
    pub fn from_rows<R: IntoIterator<Item = (usize, T)>>(
        rows: usize,
        columns: usize,
        mut entries: impl FnMut(usize) -> R,
    ) -> Self {
        let (mut starts, mut at, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in 0..rows {
            let begin = at.len();
            for (column, value) in entries(row) {
                let ascends = at.len() == begin || (at[at.len() - 1] as usize) < column;
                assert!(ascends && column < columns, "row {row}: column {column} of {columns} does not ascend");
                at.push(u32::try_from(column).expect("a column below 2^32"));
                values.push(value);
            }
            starts.push(u32::try_from(at.len()).expect("a sparse matrix has fewer than 2^32 entries"));
        }
        Csr { columns, starts, at, values }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of entries.
    pub fn entries(&self) -> usize {
        self.at.len()
    }

    /// Returns the entries of a row: the columns, in ascending order, and the values.
    ///
    /// # Panics
    /// If there is no such row.
    #[track_caller]
    pub fn row(&self, row: usize) -> (&[u32], &[T]) {
        check_row(row, self.rows());
        let range = self.starts[row] as usize..self.starts[row + 1] as usize;
        (&self.at[range.clone()], &self.values[range])
    }
}

/// Numbers as bytes.
fn raw<T: Pod, S: Serializer>(values: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytemuck::cast_slice(values))
}

/// Numbers that travel as bytes.
struct Raw<T>(Vec<T>);

impl<'de, T: Pod> Deserialize<'de> for Raw<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes<T>(PhantomData<T>);

        impl<'de, T: Pod> Visitor<'de> for Bytes<T> {
            type Value = Raw<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "values of {} bytes", size_of::<T>())
            }

            fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Raw<T>, E> {
                match size_of::<T>() {
                    0 => Err(E::custom("values without bytes")),
                    size if bytes.len().is_multiple_of(size) => Ok(Raw(bytemuck::pod_collect_to_vec(bytes))),
                    size => Err(E::custom(format_args!("{} bytes are no values of {size}", bytes.len()))),
                }
            }

            // Formats that have no bytes of their own.
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Raw<T>, A::Error> {
                let mut bytes = Vec::new();
                while let Some(byte) = list.next_element::<u8>()? {
                    bytes.push(byte);
                }
                self.visit_bytes::<A::Error>(&bytes).map_err(A::Error::custom)
            }
        }

        deserializer.deserialize_bytes(Bytes(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_travel() {
        let dense = Dense::from_fn(3, 2, |row, column| (row * 10 + column) as f64);
        let bytes = postcard::to_allocvec(&dense).unwrap();
        assert_eq!(bytes.len(), 2 + 1 + 6 * 8);
        assert_eq!(postcard::from_bytes::<Dense<f64>>(&bytes).unwrap(), dense);
        let json = serde_json::to_string(&dense).unwrap();
        assert_eq!(serde_json::from_str::<Dense<f64>>(&json).unwrap(), dense);
        let csr = Csr::from_rows(3, 9, |row| (0..row).map(move |at| (at * 4, (row * at) as f32)));
        assert_eq!((csr.rows(), csr.columns(), csr.entries()), (3, 9, 3));
        assert_eq!(csr.row(2), (&[0, 4][..], &[0.0, 2.0][..]));
        let bytes = postcard::to_allocvec(&csr).unwrap();
        assert_eq!(postcard::from_bytes::<Csr<f32>>(&bytes).unwrap(), csr);
    }

    #[test]
    fn matrices_that_cannot_be_are_refused() {
        let bytes = |rows: usize, columns: usize, values: &[u8]| {
            let mut all = postcard::to_allocvec(&(rows, columns, values.len())).unwrap();
            all.extend(values);
            postcard::from_bytes::<Dense<u32>>(&all)
        };
        assert!(bytes(1, 2, &[0; 8]).is_ok());
        assert!(bytes(2, 2, &[0; 8]).is_err() && bytes(1, 2, &[0; 7]).is_err());
        assert!(bytes(usize::MAX, 2, &[0; 8]).is_err());
        let csr = |starts: &[u32], at: &[u32]| {
            Csr::try_from(RawCsr {
                columns: 4,
                starts: Raw(starts.into()),
                at: Raw(at.into()),
                values: Raw(vec![0_u8; at.len()]),
            })
        };
        assert!(csr(&[0, 2, 3], &[0, 3, 1]).is_ok());
        let bad: [(&[u32], &[u32]); 6] = [
            (&[], &[]),
            (&[1, 2], &[0, 1]),
            (&[0, 2], &[0]),
            (&[0, 2, 1, 3], &[0, 1, 2]),
            (&[0, 2], &[1, 1]),
            (&[0, 2], &[1, 4]),
        ];
        for (starts, at) in bad {
            assert!(csr(starts, at).is_err(), "{starts:?} {at:?}");
        }
    }
}
