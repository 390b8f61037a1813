import { readField, readNumber, readText } from "../targets/read-field.ts";
import type { TargetError } from "../targets/target.ts";

const transientStatuses: readonly number[] = [408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529];

const transientCodes: readonly string[] = [
  "ECONNRESET",
  "ECONNREFUSED",
  "ECONNABORTED",
  "ETIMEDOUT",
  "EPIPE",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
  "UND_ERR_SOCKET",
];

const transientText =
  /\btime(d)?[ -]?out\b|rate.?limit|too many requests|\b(429|500|502|503|504|529)\b|socket hang up|fetch failed|overloaded|ECONNRESET|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN/i;

const deepest = 8;

/** Whether the same call may succeed if it is made again: what the error says in its fields counts before its words. */
export function isTransientError({ message, thrown }: TargetError): boolean {
  return judge(thrown, 0) ?? transientText.test(message);
}

/** Null when the fields say nothing. */
function judge(error: unknown, depth: number): boolean | null {
  if (typeof error !== "object" || error === null || depth > deepest) return null;
  return (
    judgeFields(error) ?? judge(readField(error, "lastError"), depth + 1) ?? judge(readField(error, "cause"), depth + 1)
  );
}

function judgeFields(error: object): boolean | null {
  for (const name of ["isRetryable", "retryable", "transient"]) {
    const flag = readField(error, name);
    // Ours is false by default and then says less than what caused it.
    if (typeof flag === "boolean" && (flag || name !== "transient")) return flag;
  }
  const status =
    readNumber(error, "status", "statusCode") ?? readNumber(readField(error, "response"), "status", "statusCode");
  if (status !== null && status >= 400) return transientStatuses.includes(status);
  const code = readText(error, "code");
  if (code !== null && transientCodes.includes(code)) return true;
  const name = readText(error, "name");
  if (name === "AbortError") return false;
  return name === "TimeoutError" ? true : null;
}
