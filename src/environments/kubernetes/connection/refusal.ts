import type { IncomingMessage } from "node:http";
import { KubeError } from "./kube-error.ts";

const longestMessage = 64 * 1024;

/** The whole answer as text. */
export async function readText(answer: IncomingMessage, most = Number.POSITIVE_INFINITY): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > most) break;
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** What an answer with an error status says. */
export async function refusalOf(answer: IncomingMessage): Promise<KubeError> {
  const text = await readText(answer, longestMessage).catch(() => "");
  const status = answer.statusCode ?? 500;
  const seconds = Number(answer.headers["retry-after"]);
  const retryAfterMs = Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : null;
  let [message, reason] = [text.trim(), ""];
  try {
    const parsed = JSON.parse(text) as { message?: unknown; reason?: unknown };
    if (typeof parsed.message === "string" && parsed.message !== "") message = parsed.message;
    if (typeof parsed.reason === "string") reason = parsed.reason;
  } catch {
    // Then the text itself is all it has to say.
  }
  return new KubeError(status, message || `the API server answered ${status}`, { reason, retryAfterMs });
}
