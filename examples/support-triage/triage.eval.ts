// rollout eval examples/support-triage/triage.eval.ts
// or, with the same messages as a versioned dataset:
//   rollout dataset import examples/support-triage/messages.jsonl --name messages
//   rollout eval examples/support-triage/triage.eval.ts --dataset messages
import { readFileSync } from "node:fs";
import { defineEval } from "rollout-eval/datasets";
import { exact, jsonEquals, latency, macroF1 } from "rollout-eval/scorers";
import { triage } from "./triage.ts";

interface Message {
  readonly id: string;
  readonly input: string;
  readonly expected_output: { readonly queue: string; readonly urgent: boolean };
}

const lines = readFileSync(new URL("messages.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n");

const queueOf = (value: unknown): string => (value as { queue: string } | null)?.queue ?? "";

export const triageEval = defineEval({
  name: "triage",
  data: lines.map((line) => {
    const { id, input, expected_output: expectedOutput } = JSON.parse(line) as Message;
    return { id, input, expectedOutput };
  }),
  target: triage,
  scorers: [
    jsonEquals(),
    exact({
      id: "queue",
      read: ({ output }) => queueOf(output),
      expected: ({ groundTruth }) => queueOf(groundTruth),
    }),
    latency({ limitMs: 1000 }),
    macroF1({
      id: "queue-f1",
      read: ({ output }) => queueOf(output),
      expected: ({ groundTruth }) => queueOf(groundTruth),
    }),
  ],
});
