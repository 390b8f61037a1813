import type { DatasetItem } from "../../../store/dataset-store.ts";
import { quoteCell, writeCell } from "../../../formats/csv-cell.ts";

// With more names than this a column for each is of no use to anybody.
const mostMetadataColumns = 200;
const rowsAtOnce = 200;

/** Items as CSV; they are read twice, because the first line names every column. */
export async function* writeCsv(read: () => AsyncIterable<DatasetItem>): AsyncGenerator<string, void> {
  const { names, hasExpected, hasScorers, hasEmpty } = await findColumns(read());
  // Columns of their own could not tell metadata without keys from none.
  const isFlat = names.size <= mostMetadataColumns && !hasEmpty;
  const flat = isFlat ? [...names].sort() : [];
  const header = [
    "id",
    "input",
    ...(hasExpected ? ["expected_output"] : []),
    ...(isFlat ? flat.map((name) => `metadata.${name}`) : ["metadata"]),
    ...(hasScorers ? ["scorer_ids"] : []),
  ];
  let rows = [header.map(quoteCell).join(",")];
  for await (const { id, input, expectedOutput, metadata, scorerIds } of read()) {
    const values = [
      input,
      ...(hasExpected ? [expectedOutput] : []),
      ...(isFlat
        ? flat.map((name) => (metadata && Object.hasOwn(metadata, name) ? metadata[name] : undefined))
        : [metadata]),
      ...(hasScorers ? [scorerIds] : []),
    ];
    const cells = values.map((value) => (value === undefined ? "" : writeCell(value)));
    rows.push([id, ...cells].map(quoteCell).join(","));
    if (rows.length < rowsAtOnce) continue;
    yield `${rows.join("\r\n")}\r\n`;
    rows = [];
  }
  if (rows.length > 0) yield `${rows.join("\r\n")}\r\n`;
}

async function findColumns(items: AsyncIterable<DatasetItem>) {
  const names = new Set<string>();
  let hasExpected = false;
  let hasScorers = false;
  let hasEmpty = false;
  for await (const { expectedOutput, metadata, scorerIds } of items) {
    hasExpected ||= expectedOutput !== undefined;
    hasScorers ||= scorerIds !== undefined;
    hasEmpty ||= metadata !== undefined && Object.keys(metadata).length === 0;
    for (const name of Object.keys(metadata ?? {})) if (names.size <= mostMetadataColumns) names.add(name);
  }
  return { names, hasExpected, hasScorers, hasEmpty };
}
