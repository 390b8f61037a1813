import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { giveReward } from "../testing/acts.ts";
import { onlyTrial, runJobOnRig } from "../testing/job-rig.ts";
import { VerifierTrouble } from "./verifier-trouble.ts";

function warningsOf(...chunks: readonly (string | Uint8Array)[]): string[] {
  const trouble = new VerifierTrouble();
  const sink = trouble.watch({ write: () => {} });
  for (const chunk of chunks) void sink.write(Buffer.from(chunk));
  return trouble.warnings();
}

describe("what a verifier prints", () => {
  test.each([
    ["curl: (6) Could not resolve host: astral.sh", "could not reach the network"],
    ["E: Unable to locate package python3-pytest", "could not install a package"],
    ["ERROR: No matching distribution found for pytest==8.4.1", "could not install a Python package"],
    ["/tests/test.sh: line 3: uvx: command not found", "did not find one of its own tools"],
    ["/usr/bin/python3: No module named pytest", "did not find one of its own tools"],
    ["npm error code ENOTFOUND", "could not install an npm package"],
    ["curl: (28) Connection timed out after 10001 ms", "could not download something"],
    ["============ no tests ran in 0.01s ============", "ran no test"],
    ["collected 0 items", "ran no test"],
  ])("R20: %j is a sign of trouble", (line, meaning) => {
    expect(warningsOf(`${line}\n`).join("\n")).toContain(`the verifier ${meaning}`);
  });

  test.each([
    "===== 3 passed, 1 failed in 0.12s =====",
    "collected 10 items",
    "FAILED test_outputs.py::test_resolve - AssertionError",
    "installing pytest... done",
  ])("R20: %j is none", (line) => expect(warningsOf(`${line}\n`)).toEqual([]));

  test("R20: a sign that is cut anywhere by the end of a chunk is still seen, once", () => {
    const text = `${"x".repeat(300)} curl: (6) Could not resolve host: astral.sh ${"y".repeat(300)}`;
    fc.assert(
      fc.property(fc.array(fc.nat(text.length), { maxLength: 6 }), (cuts) => {
        const edges = [0, ...cuts.toSorted((a, b) => a - b), text.length];
        const chunks = edges.slice(1).map((edge, index) => text.slice(edges[index], edge));
        expect(warningsOf(...chunks)).toHaveLength(2);
      }),
    );
  });
});

test("R20: a trial whose verifier could not work keeps its reward and carries a warning", async () => {
  const job = await runJobOnRig({
    script: {
      test: async (call) => {
        await call.stderr("curl: (6) Could not resolve host: astral.sh\n");
        await call.stdout("no tests ran\n");
        return giveReward("0")(call);
      },
    },
  });
  const { reward, error, warnings } = job.trial(onlyTrial);
  expect({ reward, error }).toEqual({ reward: 0, error: null });
  expect(warnings).toEqual([
    expect.stringContaining("could not reach the network"),
    expect.stringContaining("could not download something"),
    expect.stringContaining("ran no test"),
  ]);
  const [finished] = job.events.filter((event) => event.type === "unit_finished");
  expect(finished?.unit.warnings).toEqual(warnings);
});

test("R20: what the agent prints is not taken for the verifier's trouble", async () => {
  const job = await runJobOnRig({
    script: {
      execute: async ({ stdout }) => {
        await stdout("curl: (6) Could not resolve host\n");
        return 0;
      },
    },
  });
  expect(job.trial(onlyTrial).warnings).toEqual([]);
});
