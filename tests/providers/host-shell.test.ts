import { AssertionError } from "node:assert";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { missingNeeds } from "../../src/environments/conformance/conformance-case.ts";
import { conformanceCases } from "../../src/environments/conformance/conformance-cases.ts";
import { runConformanceCase } from "../../src/environments/conformance/run-conformance-case.ts";
import type { Defect } from "./host-shell/defect.ts";
import { idPrefix, openHostShellProvider } from "./host-shell/host-shell-provider.ts";
import { findMarked } from "./host-shell/marked-processes.ts";

const isRoot = process.getuid?.() === 0;
const notIsolated = "two environments do not see each other's files";

function openWith(...defects: Defect[]) {
  return async (tempDir: string) => ({
    provider: await openHostShellProvider(tempDir, defects),
    scratch: join(tempDir, "scratch"),
  });
}

function findCase(title: string) {
  const found = conformanceCases.find((entry) => entry.title === title);
  if (!found) throw new Error(`no case is called "${title}"`);
  return found;
}

const capabilities = {
  shell: true,
  users: isRoot,
  owners: isRoot,
  stop: true,
  freeze: true,
  limits: { cpus: "none", memory: "none", storage: "none" },
  network: [],
} as const;

describe("real processes without isolation keep the contract", () => {
  for (const entry of conformanceCases) {
    if (missingNeeds(entry, capabilities).length > 0 || entry.title === notIsolated) continue;
    test(entry.title, ({ signal }) => runConformanceCase(entry, { open: openWith(), signal }));
  }
});

const defects: Readonly<Record<Defect, readonly string[]>> = {
  "kills only the direct child": [
    "aborting a command kills a child in the background",
    "aborting a command kills a daemon in a session of its own",
    "aborting a command kills a daemon that forked twice",
    "aborting a command kills a daemon that was started with nohup",
    "aborting a command kills a daemon that ignores every polite signal",
  ],
  "merges the streams": ["standard output and standard error stay apart"],
  "merges directories": ["a placed tree replaces the old one instead of merging into it"],
  "follows links on copy out": [
    "links that lead out of the tree are refused and reported while their neighbours arrive",
    "a link that is asked for by name is not followed out",
  ],
  "copies out without limits": [
    "a copy out leaves files that would be too much, and ends where there are too many entries",
  ],
  "keeps stdin open": ["standard input is at its end from the start"],
  "ignores labels": ["environments are found by all of their labels and by no other value"],
  "reads output eagerly": ["a slow reader holds the command back instead of filling memory"],
  "waits for daemons": ["a command is over when it ends, although a daemon it left holds its output open"],
  "leaks variables": ["variables of one command are gone in the next"],
  "forgets to stop on freeze": ["a frozen environment writes no more and can still be read and destroyed"],
};

async function failureOf(title: string, signal: AbortSignal, ...defects: Defect[]): Promise<unknown> {
  const options = { open: openWith(...defects), signal, patienceMs: 1500 };
  return runConformanceCase(findCase(title), options).then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe("the suite notices an adapter that", () => {
  for (const [defect, titles] of Object.entries(defects)) {
    for (const title of titles) {
      test(`${defect}: ${title}`, async ({ signal }) => {
        expect(await failureOf(title, signal, defect as Defect)).toBeInstanceOf(AssertionError);
      });
    }
  }

  test(`isolates nothing: ${notIsolated}`, async ({ signal }) => {
    expect(await failureOf(notIsolated, signal)).toBeInstanceOf(AssertionError);
  });
});

afterAll(() => {
  expect(findMarked(idPrefix)).toEqual([]);
});
