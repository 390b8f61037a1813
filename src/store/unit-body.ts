import type { Json, JsonObject } from "../base/json.ts";
import type { ResultStatus, ResultWithScores, StoredResult, StoredScore } from "./run-store.ts";
import type { StoredUnit } from "./stored-unit.ts";

// What most units have in common is left out, and so is what the store knows beside it: a small row is a cheap commit.
interface UnitBody {
  /** Absent while only scorers have spoken. */
  readonly item?: string | undefined;
  readonly version?: number | undefined;
  readonly repeat?: number | undefined;
  readonly input?: Json | undefined;
  readonly output?: Json | undefined;
  readonly expected?: Json | undefined;
  readonly error?: JsonObject | undefined;
  readonly at?: number | undefined;
  readonly ms?: number | undefined;
  readonly retries?: number | undefined;
  readonly trace?: string | undefined;
  readonly extra?: JsonObject | undefined;
  readonly scores: readonly ScoreBody[];
}

interface ScoreBody {
  readonly by: string;
  readonly name?: string | undefined;
  readonly score: number | null;
  readonly reason?: string | undefined;
  readonly error?: string | undefined;
  readonly extra?: JsonObject | undefined;
}

/** What earlier versions wrote, and stores may still hold. */
type WordyBody = Pick<StoredUnit, "result" | "scores">;

/** What a store keeps of a unit beside its index and status, as JSON. */
export function encodeUnit({ result, scores }: StoredUnit): string {
  const marks = scores.map(packScore);
  if (result === null) return JSON.stringify({ scores: marks } satisfies UnitBody);
  const { error, startedAt, completedAt, retryCount } = result;
  return JSON.stringify({
    item: result.itemId,
    version: result.itemVersion,
    repeat: result.repeat === 1 ? undefined : result.repeat,
    input: result.input,
    output: result.output,
    expected: result.expectedOutput,
    error: error ?? undefined,
    at: startedAt,
    ms: completedAt === startedAt ? undefined : completedAt - startedAt,
    retries: retryCount === 0 ? undefined : retryCount,
    trace: result.traceId ?? undefined,
    extra: unlessEmpty(result.extra),
    scores: marks,
  } satisfies UnitBody);
}

/** The unit that a store kept; one without a result has no status. */
export function decodeUnit(index: number, status: ResultStatus | null, text: string): StoredUnit {
  if (status !== null) return { index, ...decodeResult(index, status, text) };
  const body = JSON.parse(text) as UnitBody | WordyBody;
  return "result" in body ? { index, ...body } : { index, result: null, scores: unpackScores(index, body) };
}

/** The same of one that has a result. */
export function decodeResult(index: number, status: ResultStatus, text: string): ResultWithScores {
  const body = JSON.parse(text) as UnitBody | ResultWithScores;
  if ("result" in body) return body;
  return { result: unpackResult(index, status, body), scores: unpackScores(index, body) };
}

function unpackResult(index: number, status: ResultStatus, body: UnitBody): StoredResult {
  const { item = "", version = 0, at = 0, ms = 0 } = body;
  return {
    index,
    itemId: item,
    repeat: body.repeat ?? 1,
    itemVersion: version,
    status,
    input: body.input ?? null,
    output: body.output ?? null,
    ...("expected" in body ? { expectedOutput: body.expected } : {}),
    error: body.error ?? null,
    startedAt: at,
    completedAt: at + ms,
    retryCount: body.retries ?? 0,
    traceId: body.trace ?? null,
    extra: body.extra ?? {},
  };
}

function packScore({ scorerId, scorerName, score, reason, error, extra }: StoredScore): ScoreBody {
  return {
    by: scorerId,
    name: scorerName === scorerId ? undefined : scorerName,
    score,
    reason: reason ?? undefined,
    error: error ?? undefined,
    extra: unlessEmpty(extra),
  };
}

function unpackScores(index: number, { scores }: UnitBody): StoredScore[] {
  return scores.map(({ by, name = by, score, reason = null, error = null, extra = {} }) => {
    return { index, scorerId: by, scorerName: name, score, reason, error, extra };
  });
}

function unlessEmpty(extra: JsonObject): JsonObject | undefined {
  for (const _key in extra) return extra;
  return undefined;
}
