import type { Json, JsonObject } from "../../base/json.ts";
import type { Capability, DiscoverAnswer } from "../protocol.ts";
import type { Conversation } from "./conversation.ts";

/** What is known of an executor before its rules are checked, and what it can be asked. */
export interface CheckSubject {
  readonly discovered: DiscoverAnswer;
  /** What it named when it was asked in the way that names capabilities. */
  readonly capabilities: readonly string[];
  /** It marks its answers and takes one evaluator at a time. */
  readonly isMarked: boolean;
  /** What a task can be run on. */
  readonly input: Json;
  readonly expected: Json | undefined;
  /** What a task must fail on; undefined when nobody said. */
  readonly badInput: Json | undefined;
  /** What a task takes far longer on than on `input`; undefined when nobody said. */
  readonly slowInput: Json | undefined;
  /** Starts the executor anew; it ends with the rule. */
  open(): Conversation;
  /** Lets time pass for what must not happen. */
  pause(ms: number): Promise<void>;
  /** A file that is there as long as the rule is checked. */
  writeFile(text: string): Promise<string>;
}

/** One thing that an executor has to do. */
export interface CheckRule {
  /** For people and scripts to name it. */
  readonly name: string;
  readonly title: string;
  /** Checked only where the executor names it. */
  readonly needs?: Capability | undefined;
  /** Rejects when it is broken, with `NotOffered` when there is nothing to check and `NotChecked` when it cannot be. */
  run(subject: CheckSubject): Promise<void>;
}

/** There is nothing to check: the executor does not have it. */
export class NotOffered extends Error {}

/** It could not be checked: nobody said how to provoke it, or it did not show itself. */
export class NotChecked extends Error {}

/** A rule's verdict; a broken one comes with what was said. */
export interface RuleVerdict {
  readonly rule: string;
  readonly title: string;
  readonly verdict: "pass" | "fail" | "not_offered" | "not_checked";
  readonly why: string | null;
  readonly transcript: readonly string[];
}

/** A task on the subject's input, with any names. */
export function taskInput(
  subject: CheckSubject,
  id: string,
  more: JsonObject & { readonly input?: Json } = {},
): JsonObject {
  const { input, expected, discovered } = subject;
  return {
    id,
    input,
    ...(expected === undefined ? {} : { output: expected }),
    metadata: {},
    run_id: `${id}#1`,
    repetition_number: 1,
    params: discovered.params,
    ...more,
  };
}

/** An evaluation of an output of the subject's input. */
export function evalInput(subject: CheckSubject, id: string, output: Json): JsonObject {
  const { input, expected, discovered } = subject;
  return {
    example: { id, run_id: `${id}#1`, input, ...(expected === undefined ? {} : { output: expected }), metadata: {} },
    actual_output: output,
    ...(expected === undefined ? {} : { expected_output: expected }),
    params: discovered.params,
  };
}
