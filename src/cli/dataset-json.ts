import type { DatasetItem, DatasetRecord, DatasetVersion } from "../store/dataset-store.ts";

/** A dataset for a program. */
export function datasetJson(dataset: DatasetRecord): Record<string, unknown> {
  return {
    id: dataset.id,
    name: dataset.name,
    description: dataset.description,
    metadata: dataset.metadata,
    input_schema: dataset.inputSchema,
    expected_output_schema: dataset.expectedOutputSchema,
    scorer_ids: dataset.scorerIds,
    version: dataset.version,
    item_count: dataset.itemCount,
    created_at: new Date(dataset.createdAt).toISOString(),
    updated_at: new Date(dataset.updatedAt).toISOString(),
  };
}

/** A version for a program. */
export function versionJson({ itemCount, createdAt, ...version }: DatasetVersion): Record<string, unknown> {
  return { ...version, item_count: itemCount, created_at: new Date(createdAt).toISOString() };
}

/** An item for a program. */
export function itemJson({ expectedOutput, scorerIds, ...item }: DatasetItem): Record<string, unknown> {
  return { ...item, expected_output: expectedOutput, scorer_ids: scorerIds };
}

/** One JSON object on stdout. */
export function jsonText(value: Readonly<Record<string, unknown>>): string {
  return `${JSON.stringify({ schema_version: 1, ...value }, null, 2)}\n`;
}
