import type { LogLevel } from "../../base/log.ts";
import type { Problem } from "../../base/problem.ts";
import type { Secret } from "../../base/redactor.ts";
import type { NetworkPolicy } from "../../environments/environment.ts";

/** An agent as the job defines it; `oracle` and `nop` have neither script. */
export interface Agent {
  readonly name: string;
  readonly description: string | null;
  readonly install: string | null;
  readonly execute: string | null;
  /** Expanded; given to install and execute only. */
  readonly env: Readonly<Record<string, string>>;
  readonly nConcurrent: number | null;
  /** Trials may start from what an earlier install left. */
  readonly isCached: boolean;
}

/** Where a dataset comes from. Paths are absolute. */
export type DatasetRef =
  | { readonly kind: "path"; readonly path: string; readonly name: string; readonly nConcurrent: number | null }
  | {
      readonly kind: "registry";
      readonly registry: { readonly path: string } | { readonly url: string };
      readonly name: string;
      readonly version: string | null;
      readonly nConcurrent: number | null;
    }
  /** Task directories given one by one. */
  | {
      readonly kind: "tasks";
      readonly paths: readonly string[];
      readonly name: string;
      readonly nConcurrent: number | null;
    };

export interface RetryPolicy {
  /** Retries after the first try. */
  readonly maxAttempts: number;
  readonly initialDelayMs: number;
  readonly maxDelayMs: number;
  readonly multiplier: number;
}

export type Leftovers = "keep" | "kill";
export type NonzeroExit = "error" | "reward";
export type VerifierEnvironment = "shared" | "separate";
export type PreserveEnv = "always" | "never" | "on_failure";
export type Metric = "sum" | "min" | "max" | "mean";

export interface JobEnvironment {
  readonly type: string;
  readonly forceBuild: boolean;
  readonly preserveEnv: PreserveEnv;
  /** Expanded. */
  readonly providerConfig: Readonly<Record<string, unknown>>;
  readonly overrideCpus: number | null;
  readonly overrideMemoryBytes: number | null;
  readonly overrideStorageBytes: number | null;
  /** Null when the job sets none; then the default applies where the provider can keep it. */
  readonly pidsLimit: number | null;
  readonly network: { readonly agent: NetworkPolicy; readonly verifier: NetworkPolicy };
  /** Phases for which the job file sets a policy. A policy of the job overrides what tasks demand. */
  readonly networkSetFor: readonly ("agent" | "verifier")[];
}

/** Verifier settings of the job; null leaves the choice to the task, then to the default. */
export interface JobVerifier {
  readonly overrideTimeoutSec: number | null;
  readonly maxTimeoutSec: number | null;
  readonly disable: boolean;
  readonly leftovers: Leftovers | null;
  readonly nonzeroExit: NonzeroExit | null;
  readonly environment: VerifierEnvironment | null;
  readonly paths: readonly string[] | null;
  /** Expanded. */
  readonly env: Readonly<Record<string, string>>;
}

export interface Budget {
  readonly costUsd: number | null;
  readonly wallSec: number | null;
  readonly tokens: number | null;
}

/** A job with nothing left open: defaults, overrides and variables applied, paths absolute. */
export interface Job {
  /** The file it was read from; null for a job given as an object or on the command line. */
  readonly file: string | null;
  /** What relative paths in the job file start from. */
  readonly baseDir: string;
  readonly name: string | null;
  readonly jobsDir: string;
  readonly nAttempts: number;
  readonly nConcurrentTrials: number;
  /** Somebody chose that number; a machine that has less than the usual one takes may bound it otherwise. */
  readonly isConcurrencyChosen: boolean;
  readonly timeoutMultiplier: number;
  readonly retry: RetryPolicy;
  readonly logLevel: LogLevel;
  readonly instructionPath: string;
  readonly outputLimitBytes: number;
  readonly logsLimitBytes: number;
  readonly environment: JobEnvironment;
  readonly verifier: JobVerifier;
  readonly metrics: readonly Metric[];
  readonly agents: readonly Agent[];
  readonly datasets: readonly DatasetRef[];
  readonly budget: Budget;
  /** The job as config.json keeps it: resolved, with `${VAR}` as templates. */
  readonly document: Readonly<Record<string, unknown>>;
  /** Every value that came from a variable, for the redactor. */
  readonly secrets: readonly Secret[];
  /** Where a key of the job file stands, for problems that are found later. */
  readonly placeOf: (path: readonly (string | number)[]) => Pick<Problem, "file" | "line" | "column">;
}
