// oxlint-disable typescript/no-non-null-assertion -- every index is inside its array, and a check would cost what the method saves
/**
 * For each row the column it is given, so that the values of all pairs sum to the most that is possible; null for rows that
 * get none (the Hungarian method). Each column is given once.
 */
export function bestAssignment(values: readonly (readonly number[])[]): (number | null)[] {
  const rows = values.length;
  const columns = values[0]?.length ?? 0;
  if (rows > columns) return inverted(bestAssignment(transposed(values, columns)), rows);
  const rowPrice = new Float64Array(rows + 1);
  const columnPrice = new Float64Array(columns + 1);
  // The row that holds each column, counted from 1; column 0 holds the row that is looking for a place.
  const holder = new Int32Array(columns + 1);
  const cameFrom = new Int32Array(columns + 1);
  for (let row = 1; row <= rows; row++) {
    holder[0] = row;
    let free = findFreeColumn(values, rowPrice, columnPrice, holder, cameFrom);
    for (; free !== 0; free = cameFrom[free]!) holder[free] = holder[cameFrom[free]!]!;
  }
  const given = Array.from({ length: rows }, (): number | null => null);
  for (let column = 1; column <= columns; column++) if (holder[column]! > 0) given[holder[column]! - 1] = column - 1;
  return given;
}

// The cheapest way from the row in column 0 to a column that nobody holds; cost is the negative of value.
function findFreeColumn(
  values: readonly (readonly number[])[],
  rowPrice: Float64Array,
  columnPrice: Float64Array,
  holder: Int32Array,
  cameFrom: Int32Array,
): number {
  const columns = holder.length - 1;
  const slack = new Float64Array(columns + 1).fill(Number.POSITIVE_INFINITY);
  const isDone = new Uint8Array(columns + 1);
  let column = 0;
  do {
    isDone[column] = 1;
    const row = holder[column]!;
    let least = Number.POSITIVE_INFINITY;
    let next = 0;
    for (let other = 1; other <= columns; other++) {
      if (isDone[other]) continue;
      const reduced = -values[row - 1]![other - 1]! - rowPrice[row]! - columnPrice[other]!;
      if (reduced < slack[other]!) {
        slack[other] = reduced;
        cameFrom[other] = column;
      }
      if (slack[other]! < least) {
        least = slack[other]!;
        next = other;
      }
    }
    for (let other = 0; other <= columns; other++) {
      if (isDone[other]) {
        rowPrice[holder[other]!]! += least;
        columnPrice[other]! -= least;
      } else slack[other]! -= least;
    }
    column = next;
  } while (holder[column] !== 0);
  return column;
}

function transposed(values: readonly (readonly number[])[], columns: number): number[][] {
  return Array.from({ length: columns }, (_, column) => values.map((row) => row[column]!));
}

function inverted(given: readonly (number | null)[], length: number): (number | null)[] {
  const result = Array.from({ length }, (): number | null => null);
  for (const [column, row] of given.entries()) if (row !== null) result[row] = column;
  return result;
}
