//! A program as the scheduler sees it: groups of instructions, and the blocks that they use.

use crate::Node;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Number of a block.
pub type BlockId = u32;
/// Number of a group.
pub type Group = u32;

/// One instruction: number `k` of a group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Instruction {
    /// Its group.
    pub group: Group,
    /// Its number in the group, from 0.
    pub k: u32,
}

/// The rule by which the instructions of a group follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Updates {
    /// They do not commute: one node runs all of them, in their order, whatever the policy.
    InOrder,
    /// They commute. On one node they run one after the other, in any order, because each has the incarnation alone.
    InTurns,
    /// They commute, and several may change one incarnation at the same time.
    Together,
}

/// An index launch: groups of instructions, which methods compute from numbers. No list of the instructions exists.
///
/// A *group* is all instructions that contribute to one block of the result (a *task group*, S0 section 3.1). Groups
/// stand in a grid of rows and columns. The groups of a row may share operands, and so may the groups of a column. All
/// methods are pure.
///
/// # Rules
///
/// 1. Two groups have different results, and no instruction reads a block that is a group's result.
/// 2. A group may have no instruction. [`result`](Self::result) and [`inputs`](Self::inputs) are not called for it.
/// 3. An instruction may have any number of inputs, also none, and may read a block twice.
pub trait Program {
    /// The blocks that one instruction reads: an array, or a list where their number differs.
    type Inputs: AsRef<[BlockId]>;

    /// Rows and columns of the grid; group `g` stands in row `g / columns`.
    fn grid(&self) -> (u32, u32);

    /// Returns the number of instructions of a group.
    fn len(&self, group: Group) -> u32;

    /// Returns the block to which the instructions of a group contribute. It is called only for groups that have an
    /// instruction.
    fn result(&self, group: Group) -> BlockId;

    /// Returns the blocks that an instruction reads.
    fn inputs(&self, instruction: Instruction) -> Self::Inputs;

    /// Returns the number of blocks. All block numbers are below it.
    fn blocks(&self) -> u32;

    /// Returns the place of a block in its matrix (row and column), and the shape of the matrix in blocks.
    fn place(&self, block: BlockId) -> ([u32; 2], [u32; 2]);

    /// Returns the rule by which the instructions of a group follow each other.
    fn updates(&self) -> Updates {
        Updates::Together
    }

    /// Returns true if the dispatcher tracks the states of the blocks that instructions read. If false, the dispatcher
    /// never calls [`inputs`](Self::inputs), and the program itself must ensure rule 1.
    fn follows_reads(&self) -> bool {
        true
    }

    /// Returns the number of groups.
    fn groups(&self) -> u32 {
        let (rows, columns) = self.grid();
        rows * columns
    }
}

impl<P: Program + ?Sized> Program for Arc<P> {
    type Inputs = P::Inputs;

    fn grid(&self) -> (u32, u32) {
        (**self).grid()
    }

    fn len(&self, group: Group) -> u32 {
        (**self).len(group)
    }

    fn result(&self, group: Group) -> BlockId {
        (**self).result(group)
    }

    fn inputs(&self, instruction: Instruction) -> P::Inputs {
        (**self).inputs(instruction)
    }

    fn updates(&self) -> Updates {
        (**self).updates()
    }

    fn follows_reads(&self) -> bool {
        (**self).follows_reads()
    }

    fn blocks(&self) -> u32 {
        (**self).blocks()
    }

    fn place(&self, block: BlockId) -> ([u32; 2], [u32; 2]) {
        (**self).place(block)
    }

    fn groups(&self) -> u32 {
        (**self).groups()
    }
}

/// The program of both papers: `C = A x B` in blocks, C(i, j) += A(i, k) B(k, j).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Product {
    rows: u32,
    inner: u32,
    columns: u32,
}

impl Product {
    /// Creates the product of a matrix of `rows` x `inner` blocks and one of `inner` x `columns` blocks. `None` if one
    /// of the three matrices has no block, or if all of them together have more than `u32::MAX` blocks.
    pub fn new(rows: u32, inner: u32, columns: u32) -> Option<Self> {
        let areas = [(rows, inner), (inner, columns), (rows, columns)].map(|(a, b)| u128::from(a) * u128::from(b));
        let fits = areas.iter().all(|area| *area > 0) && areas.iter().sum::<u128>() <= u128::from(u32::MAX);
        fits.then_some(Product { rows, inner, columns })
    }

    /// Creates the product of two square matrices of `n` x `n` blocks. `None` in the cases of [`new`](Self::new).
    pub fn square(n: u32) -> Option<Self> {
        Product::new(n, n, n)
    }

    /// Returns the number of the first block of B; the blocks of A have smaller numbers. The groups of a grid row share
    /// blocks of A, and the groups of a grid column share blocks of B.
    pub fn shared_by_columns(&self) -> BlockId {
        self.rows * self.inner
    }

    /// Returns the number of instructions.
    pub fn instructions(&self) -> u64 {
        u64::from(self.rows) * u64::from(self.inner) * u64::from(self.columns)
    }
}

impl Program for Product {
    /// A block of A, which all groups of the grid row read, and a block of B, which all groups of the grid column read.
    type Inputs = [BlockId; 2];

    fn grid(&self) -> (u32, u32) {
        (self.rows, self.columns)
    }

    #[inline]
    fn len(&self, _: Group) -> u32 {
        self.inner
    }

    #[inline]
    fn result(&self, group: Group) -> BlockId {
        (self.rows + self.columns) * self.inner + group
    }

    #[inline]
    fn inputs(&self, Instruction { group, k }: Instruction) -> [BlockId; 2] {
        let (i, j) = (group / self.columns, group % self.columns);
        [i * self.inner + k, self.rows * self.inner + k * self.columns + j]
    }

    fn blocks(&self) -> u32 {
        (self.rows + self.columns) * self.inner + self.rows * self.columns
    }

    fn place(&self, block: BlockId) -> ([u32; 2], [u32; 2]) {
        let at = |index: u32, rows: u32, columns: u32| ([index / columns, index % columns], [rows, columns]);
        let (a, b) = (self.rows * self.inner, self.inner * self.columns);
        match block {
            block if block < a => at(block, self.rows, self.inner),
            block if block < a + b => at(block - a, self.inner, self.columns),
            block => at(block - a - b, self.rows, self.columns),
        }
    }
}

/// Returns true if a node can have this speed. The bound keeps the sum of all nodes' speeds finite.
pub(crate) fn is_speed(speed: f64) -> bool {
    speed > 0.0 && speed <= 1e290
}

/// The nodes in a grid, and the part of each matrix that each node owns from the start (S2 section 3.4: *static*).
///
/// Node `n` stands in grid row `n / columns` and grid column `n % columns`, and its part of a matrix is a rectangle. A
/// matrix with one row or one column of blocks is cut over all nodes instead, in the order of their numbers and in
/// proportion to their speeds: for such a matrix the nodes stand in one row or one column
/// ([`grid_for`](Self::grid_for)).
#[derive(Clone, PartialEq, Debug)]
pub struct Parts {
    rows: Vec<f64>,
    columns: Vec<f64>,
    speeds: Vec<f64>,
}

impl Hash for Parts {
    fn hash<H: Hasher>(&self, into: &mut H) {
        self.rows.iter().chain(&self.columns).chain(&self.speeds).for_each(|cut| cut.to_bits().hash(into));
    }
}

impl Parts {
    /// Creates parts that are rectangles. A grid row of nodes gets rows of blocks in proportion to the sum of its
    /// nodes' speeds, and a grid column gets columns of blocks in the same way. `None` if there are no speeds, or if
    /// one is not a number above 0 and up to 1e290.
    ///
    /// A part is in proportion to the speed of its node only if all grid rows have their speeds in the same ratios:
    /// equal speeds, or 1 and 3 in turn. Otherwise a slow node next to fast ones gets more than its share: sort the
    /// speeds, or use a policy that corrects the parts at the end: [`TAIL`](crate::Policy::TAIL) or
    /// [`ECT`](crate::Policy::ECT).
    ///
    /// For p nodes the grid has `2^floor(log2(p) / 2)` rows if that number divides p, otherwise the largest smaller
    /// number that divides p: 8 nodes stand as 2 x 4, 12 as 2 x 6, and 7 as 1 x 7.
    ///
    /// ```
    /// use aurora_super::{Parts, Product, Program};
    ///
    /// // Node 0 stands in the slow row, but node 2 makes its column a fast one.
    /// let parts = Parts::by_speed(&[1.0, 1.0, 7.0, 1.0]).unwrap();
    /// let product = Product::square(10).unwrap();
    /// let mut blocks = [0; 4];
    /// parts.owners(&product).take(100).for_each(|node| blocks[node as usize] += 1);
    /// assert_eq!((parts.grid(), blocks), ((2, 2), [16, 4, 64, 16]));
    /// assert_eq!(Parts::by_speed(&[1.0, f64::NAN]), None);
    /// ```
    pub fn by_speed(speeds: &[f64]) -> Option<Self> {
        let nodes = u32::try_from(speeds.len()).ok().filter(|nodes| *nodes > 0)?;
        if !speeds.iter().copied().all(is_speed) {
            return None;
        }
        let wanted = 1_u32 << (nodes.ilog2() / 2);
        let rows = (1..=wanted).rev().find(|rows| nodes.is_multiple_of(*rows)).expect("1 divides");
        let columns = nodes / rows;
        let sum = |of: &dyn Fn(usize) -> bool| -> f64 {
            speeds.iter().enumerate().filter(|(node, _)| of(*node)).map(|(_, speed)| speed).sum()
        };
        let cuts = |count: u32, of: &dyn Fn(usize) -> u32| shares((0..count).map(|line| sum(&|node| of(node) == line)));
        let (by_row, by_column) = (|node| node as u32 / columns, |node| node as u32 % columns);
        Some(Parts { rows: cuts(rows, &by_row), columns: cuts(columns, &by_column), speeds: speeds.to_vec() })
    }

    /// Returns the speeds of the nodes.
    pub fn speeds(&self) -> &[f64] {
        &self.speeds
    }

    /// Returns the rows and columns of the grid of nodes.
    pub fn grid(&self) -> (u32, u32) {
        (self.rows.len() as u32, self.columns.len() as u32)
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> u32 {
        let (rows, columns) = self.grid();
        rows * columns
    }

    /// Returns the rows and columns of the grid of nodes for a matrix of this shape, in blocks: one row of all nodes
    /// for a matrix of one row, one column of all nodes for a matrix of one column, otherwise [`grid`](Self::grid).
    pub fn grid_for(&self, [rows, columns]: [u32; 2]) -> (u32, u32) {
        match (rows, columns) {
            (1, _) => (1, self.nodes()),
            (_, 1) => (self.nodes(), 1),
            _ => self.grid(),
        }
    }

    /// Returns the grid row of each row and the grid column of each column of a matrix of this shape, in blocks. The
    /// grid is the one of [`grid_for`](Self::grid_for).
    pub fn of(&self, shape: [u32; 2]) -> [Vec<u32>; 2] {
        let [rows, columns] = shape;
        let all = |count| lines(&shares(self.speeds.iter().copied()), count);
        match shape {
            [1, _] => [vec![0], all(columns)],
            [_, 1] => [all(rows), vec![0]],
            _ => [lines(&self.rows, rows), lines(&self.columns, columns)],
        }
    }

    /// Returns the owner of each block of a matrix of this shape, in blocks, row by row.
    ///
    /// ```
    /// use aurora_super::Parts;
    ///
    /// let parts = Parts::by_speed(&[1.0, 1.0, 3.0, 3.0]).unwrap();
    /// assert_eq!(parts.owners_of([4, 2]).collect::<Vec<_>>(), [0, 1, 2, 3, 2, 3, 2, 3]);
    /// assert_eq!(parts.owners_of([8, 1]).collect::<Vec<_>>(), [0, 1, 2, 2, 2, 3, 3, 3]);
    /// ```
    pub fn owners_of(&self, shape: [u32; 2]) -> impl Iterator<Item = Node> + use<> {
        let cut = Cut::new(self, shape);
        let [rows, columns] = shape;
        (0..rows).flat_map(move |row| (0..columns).map(move |column| [row, column])).map(move |place| cut.owner(place))
    }

    /// Returns the initial owner of each block of a program, in the order of the blocks.
    pub fn owners(&self, program: &impl Program) -> impl Iterator<Item = Node> {
        let mut cut = ([0, 0], Cut::new(self, [0, 0]));
        (0..program.blocks()).map(move |block| {
            let (place, shape) = program.place(block);
            if cut.0 != shape {
                cut = (shape, Cut::new(self, shape));
            }
            cut.1.owner(place)
        })
    }
}

/// The cut of one matrix into parts.
struct Cut {
    lines: [Vec<u32>; 2],
    /// Columns of the grid of nodes.
    width: u32,
}

impl Cut {
    fn new(parts: &Parts, shape: [u32; 2]) -> Self {
        let (_, width) = parts.grid_for(shape);
        Cut { lines: parts.of(shape), width }
    }

    fn owner(&self, [row, column]: [u32; 2]) -> Node {
        let [rows, columns] = &self.lines;
        rows[row as usize] * self.width + columns[column as usize]
    }
}

/// Returns the end of each part's share, as a fraction of the whole. Shares are in proportion to the weights.
fn shares(weights: impl Iterator<Item = f64>) -> Vec<f64> {
    let cuts: Vec<f64> = weights
        .scan(0.0, |up_to, weight| {
            *up_to += weight;
            Some(*up_to)
        })
        .collect();
    let all = cuts[cuts.len() - 1];
    cuts.into_iter().map(|cut| cut / all).collect()
}

/// Returns the part of each of `count` lines. `cuts` are the ends of the parts, as fractions of the whole.
fn lines(cuts: &[f64], count: u32) -> Vec<u32> {
    let mut of = Vec::with_capacity(count as usize);
    for (part, cut) in (0..).zip(cuts) {
        // 1e-9 corrects the rounding of fractions such as thirds.
        let end = (f64::from(count) * cut + 1e-9).floor() as usize;
        of.resize(end.max(of.len()), part);
    }
    of
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_of_a_row_and_of_a_column_share_operands() {
        let product = Product::new(2, 3, 4).unwrap();
        let inputs = |group, k| product.inputs(Instruction { group, k });
        assert_eq!(inputs(0, 1)[0], inputs(3, 1)[0]);
        assert_eq!(inputs(1, 2)[1], inputs(5, 2)[1]);
        let all: std::collections::BTreeSet<_> =
            (0..8).flat_map(|group| (0..3).flat_map(move |k| inputs(group, k))).collect();
        assert_eq!(all, (0..6 + 12).collect());
        assert_eq!((product.result(0), product.blocks()), (18, 26));
        assert_eq!(product.place(5), ([1, 2], [2, 3]));
        assert_eq!(product.place(6 + 5), ([1, 1], [3, 4]));
        assert_eq!(product.place(18 + 7), ([1, 3], [2, 4]));
        assert_eq!((Product::new(0, 1, 1), Product::new(1 << 16, 1 << 16, 1)), (None, None));
    }

    #[test]
    fn blocks_that_have_no_numbers_are_refused() {
        for [rows, inner, columns] in [[u32::MAX; 3], [1 << 31, 1 << 31, 3 << 30], [u32::MAX, 1, 1], [1, u32::MAX, 1]] {
            assert_eq!(Product::new(rows, inner, columns), None, "{rows} x {inner} x {columns}");
        }
        assert_eq!(Product::square(u32::MAX), None);
        let most = Product::new((1 << 31) - 1, 1, 1).unwrap();
        assert_eq!(most.blocks(), u32::MAX);
    }

    #[test]
    fn parts_follow_speeds() {
        let parts = Parts::by_speed(&[1.0; 8]).unwrap();
        assert_eq!(parts.grid(), (2, 4));
        assert_eq!(parts.of([4, 8]), [vec![0, 0, 1, 1], vec![0, 0, 1, 1, 2, 2, 3, 3]]);
        let mixed: Vec<f64> = (0..8).map(|node| if node % 2 == 1 { 3.0 } else { 1.0 }).collect();
        assert_eq!(Parts::by_speed(&mixed).unwrap().of([2, 8])[1], [0, 1, 1, 1, 2, 3, 3, 3]);
        assert_eq!(Parts::by_speed(&[1.0; 6]).unwrap().grid(), (2, 3));
        assert_eq!(Parts::by_speed(&[1.0; 7]).unwrap().grid(), (1, 7));
        assert_eq!(Parts::by_speed(&[]), None);
    }

    #[test]
    fn one_row_or_one_column_is_cut_over_all_nodes() {
        let owners = |speeds: &[f64], shape| -> Vec<Node> {
            let parts = Parts::by_speed(speeds).unwrap();
            let owners: Vec<Node> = parts.owners_of(shape).collect();
            assert!(owners.iter().all(|node| *node < parts.nodes()));
            owners
        };
        for shape in [[1, 10], [10, 1]] {
            assert_eq!(owners(&[1.0; 4], shape), [0, 0, 1, 1, 1, 2, 2, 3, 3, 3]);
            assert_eq!(owners(&[1.0; 8], shape), [0, 1, 2, 3, 3, 4, 5, 6, 7, 7]);
            assert_eq!(owners(&[1.0, 3.0, 1.0, 3.0], shape), [0, 1, 1, 1, 1, 2, 3, 3, 3, 3]);
            assert_eq!(owners(&[3.0, 1.0], shape), [0, 0, 0, 0, 0, 0, 0, 1, 1, 1]);
        }
        assert_eq!(owners(&[1.0; 8], [1, 1]), [7]);
        assert_eq!((owners(&[1.0; 8], [0, 1]), owners(&[1.0; 8], [1, 0])), (vec![], vec![]));
        assert_eq!(owners(&[1.0; 4], [2, 3]), [0, 1, 1, 2, 3, 3]);
    }

    #[test]
    fn a_program_has_its_blocks_where_its_matrices_have_theirs() {
        let parts = Parts::by_speed(&[1.0, 3.0, 2.0, 1.0]).unwrap();
        for [rows, inner, columns] in [[1, 9, 6], [6, 1, 9], [9, 6, 1], [1, 1, 1], [7, 5, 3]] {
            let product = Product::new(rows, inner, columns).unwrap();
            let matrices = [[rows, inner], [inner, columns], [rows, columns]];
            let wanted: Vec<Node> = matrices.into_iter().flat_map(|shape| parts.owners_of(shape)).collect();
            assert_eq!(parts.owners(&product).collect::<Vec<_>>(), wanted);
            assert_eq!(parts.owners(&Arc::new(product)).collect::<Vec<_>>(), wanted);
        }
    }

    #[test]
    fn speeds_that_cannot_be_have_no_parts() {
        for bad in [0.0, -0.0, -2.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX] {
            assert_eq!(Parts::by_speed(&[1.0, bad]), None, "{bad}");
            assert_eq!(Parts::by_speed(&[bad; 4]), None, "{bad}");
        }
        let (program, parts) = (Product::square(4).unwrap(), Parts::by_speed(&[1e290; 9]).unwrap());
        assert_eq!(parts.owners(&program).count(), 48);
    }

    #[test]
    fn every_line_belongs_to_a_part() {
        for count in 0..40 {
            for speeds in [&[1.0][..], &[1.0, 3.0], &[0.1, 0.2, 0.3, 7.0, 1e-9, 5.0]] {
                let parts = Parts::by_speed(speeds).unwrap();
                let [rows, columns] = parts.of([count, count]);
                assert_eq!((rows.len(), columns.len()), (count as usize, count as usize));
                assert!(columns.is_sorted());
            }
        }
    }
}
