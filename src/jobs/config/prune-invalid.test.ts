import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { jobFileSchema } from "./job-schema.ts";
import { pruneInvalid, type PrunedJob } from "./prune-invalid.ts";

function prune(value: unknown): PrunedJob | undefined {
  const parsed = jobFileSchema.safeParse(value);
  return parsed.success ? { job: parsed.data, touched: new Set() } : pruneInvalid(value, parsed.error);
}

describe("pruneInvalid", () => {
  test("keeps everything that was right, at its place", () => {
    const pruned = prune({
      n_attempts: "many",
      n_concurrent_trials: 7,
      agents: [5, { name: "b", execute: "run", env: { A: null, B: "1" } }, { name: "c", exceute: "x" }],
      datasets: [{ tasks: ["/a", 5, "/b"] }],
      verifier: { paths: ["rel", "/abs"] },
    });
    expect(pruned?.job).toMatchObject({
      n_attempts: 1,
      n_concurrent_trials: 7,
      agents: [{}, { name: "b", execute: "run", env: { B: "1" } }, { name: "c" }],
      datasets: [{ tasks: ["/a", "/", "/b"] }],
      verifier: { paths: ["/", "/abs"] },
    });
    expect([...(pruned?.touched ?? [])].sort()).toEqual(
      [
        "agents[0]",
        "agents[0].name",
        "agents[1].env.A",
        "agents[2].exceute",
        "agents[2].execute",
        "datasets[0].tasks[1]",
        "n_attempts",
        "verifier.paths[0]",
      ].sort(),
    );
  });

  test("gives names that nobody gave, the same each time", () => {
    const value = { agents: [{}, { name: "stand-in-0" }, {}], datasets: [{ path: "/x/STAND-IN-1" }] };
    const names = prune(value)?.job.agents.map((agent) => agent.name);
    expect(names).toEqual(["stand-in-2", "stand-in-0", "stand-in-3"]);
    expect(prune(value)?.job.agents.map((agent) => agent.name)).toEqual(names);
  });

  test("gives up on what is no table at all", () => {
    for (const value of [[], "x", 5, null]) expect(prune(value)).toBeUndefined();
  });

  test("does not change what it was given", () => {
    const value = { agents: [{ nmae: "x" }], datasets: [] };
    prune(value);
    expect(value).toEqual({ agents: [{ nmae: "x" }], datasets: [] });
  });

  test("leaves something to check of every table, whatever is wrong with it", () => {
    const junk = fc.oneof(
      fc.constantFrom(null, 5, "", "x", true, [], {}, [[]], [5], [{}], { a: 1 }),
      fc.jsonValue({ maxDepth: 2 }),
    );
    const inner = fc.dictionary(
      fc.constantFrom(
        "name",
        "path",
        "tasks",
        "registry",
        "env",
        "execute",
        "type",
        "paths",
        "network",
        "allow",
        "url",
      ),
      junk,
      { maxKeys: 3 },
    );
    const some = fc.oneof(junk, inner, fc.array(fc.oneof(junk, inner), { maxLength: 3 }));
    const keys = fc.constantFrom(...Object.keys(jobFileSchema.shape), "typo", "agnets");
    fc.assert(
      fc.property(fc.dictionary(keys, some, { maxKeys: 6 }), (value) => {
        const pruned = prune(value);
        expect(pruned).toBeDefined();
        expect(new Set(pruned?.job.agents.map((agent) => typeof agent.name))).toEqual(new Set(["string"]));
      }),
      { numRuns: 500 },
    );
  });
});
