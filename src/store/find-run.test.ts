import { describe, expect, test } from "vitest";
import { findRun } from "./find-run.ts";
import type { Run } from "./run.ts";
import type { RunSource } from "./run-source.ts";

// Newest first; the finder reads nothing but ids and names.
const runs = [
  { id: "c0ffee11-0000", name: "qa" },
  { id: "7f3a91aa-0000", name: "nightly" },
  { id: "7f3a91bb-0000", name: "nightly" },
  { id: "0b6d3c1e-0000", name: "nightly" },
  { id: "beef0000-0000", name: "v1~1" },
] as unknown as Run[];

const source = {
  get: async (id: string) => runs.find((run) => run.id === id) ?? null,
  list: async (_filter: object, { after, limit }: { after: string | null; limit: number }) => {
    const from = after === null ? 0 : Number(after);
    const entries = runs.slice(from, from + Math.min(2, limit));
    const next = from + entries.length;
    return { entries, next: next < runs.length ? String(next) : null };
  },
} as unknown as RunSource;

describe("a run is found", () => {
  test.each([
    ["by its id", "7f3a91bb-0000", "7f3a91bb-0000"],
    ["by four characters of its id", "c0ff", "c0ffee11-0000"],
    ["by its name, the newest first", "nightly", "7f3a91aa-0000"],
    ["by its name and how many runs ago", "nightly~2", "0b6d3c1e-0000"],
    ["by its name and zero runs ago", "nightly~0", "7f3a91aa-0000"],
    ["by a name that ends like that itself", "v1~1", "beef0000-0000"],
    ["without a word, as the newest", undefined, "c0ffee11-0000"],
  ])("%s", async (_how, word, id) => {
    expect((await findRun(source, word)).id).toBe(id);
  });
});

describe("is refused", () => {
  test.each([
    ["a beginning that several ids have", "7f3a", "2 runs have an id that starts with 7f3a"],
    ["a beginning of three characters", "c0f", 'there is no run "c0f"'],
    ["a name with more steps back than runs", "nightly~3", 'there are only 3 runs named "nightly"'],
  ])("%s", async (_what, word, message) => {
    await expect(findRun(source, word)).rejects.toThrow(message);
  });
});
