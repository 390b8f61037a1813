// oxlint-disable typescript/no-non-null-assertion -- every index is inside its array, and a check would cost what the method saves
/** Like `bestAssignment`, but a later row never gets an earlier column. */
export function bestAlignment(values: readonly (readonly number[])[]): (number | null)[] {
  const rows = values.length;
  const columns = values[0]?.length ?? 0;
  // The most that the rows and columns from here on can have.
  const most = Array.from({ length: rows + 1 }, () => new Float64Array(columns + 1));
  for (let row = rows - 1; row >= 0; row--) {
    for (let column = columns - 1; column >= 0; column--) {
      const together = values[row]![column]! + most[row + 1]![column + 1]!;
      most[row]![column] = Math.max(together, most[row + 1]![column]!, most[row]![column + 1]!);
    }
  }
  const given = Array.from({ length: rows }, (): number | null => null);
  for (let row = 0, column = 0; row < rows && column < columns;) {
    const here = most[row]![column]!;
    if (here === values[row]![column]! + most[row + 1]![column + 1]!) given[row++] = column++;
    else if (here === most[row + 1]![column]!) row++;
    else column++;
  }
  return given;
}
