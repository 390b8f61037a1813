import type { Clock } from "../../base/clock.ts";
import { RolloutError, messageOf, systemCodeOf } from "../../base/rollout-error.ts";
import { showUrl } from "./show-url.ts";

export interface FetchTextOptions {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly limitMs: number;
}

const mostRedirects = 5;
const largestBytes = 256 * 2 ** 20;
const timedOut = Symbol("timed out");

/** The body of an http(s) URL as text; rejects with `registry_failed`, or with the signal's reason when it is aborted. */
export async function fetchText(url: string, options: FetchTextOptions): Promise<string> {
  const { signal, clock, limitMs } = options;
  signal.throwIfAborted();
  const limit = new AbortController();
  const timer = clock.startTimer(limitMs, () => limit.abort(timedOut));
  try {
    return await follow(parseHttpUrl(url, url), AbortSignal.any([signal, limit.signal]));
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (limit.signal.aborted) {
      throw failed(url, `did not answer within ${limitMs / 1000} s`, "check the server and your network", true);
    }
    throw error instanceof RolloutError ? error : toNetworkError(url, error);
  } finally {
    timer.clear();
  }
}

async function follow(start: URL, signal: AbortSignal): Promise<string> {
  let url = start;
  for (let redirects = 0; redirects <= mostRedirects; redirects++) {
    const { bare, headers } = splitCredentials(url);
    const response = await fetch(bare, { redirect: "manual", signal, headers });
    if (response.status < 300 || response.status > 399) return readBody(url, response);
    await response.body?.cancel();
    const location = response.headers.get("location");
    if (location === null) throw failed(url.href, "redirects to nowhere", "check the URL", false);
    url = parseHttpUrl(new URL(location, bare).href, start.href);
    if (bare.startsWith("https:") && url.protocol === "http:") {
      throw failed(
        start.href,
        `redirects to the unencrypted ${showUrl(url.href)}`,
        "use that URL if you trust it",
        false,
      );
    }
  }
  throw failed(start.href, `redirects more than ${mostRedirects} times`, "use the URL it leads to", false);
}

function parseHttpUrl(text: string, asked: string): URL {
  const url = URL.parse(text);
  if (url === null)
    throw failed(asked, "is not a URL", "write it as https://host/path/registry.json", false, "config_invalid");
  if (url.protocol === "http:" || url.protocol === "https:") return url;
  const what = text === asked ? `has the scheme "${url.protocol}"` : `redirects to ${showUrl(text)}`;
  throw failed(asked, what, "use an https URL, or a path for a registry on this machine", false, "config_invalid");
}

// fetch refuses credentials in a URL, and sending them on after a redirect would give them to a stranger.
function splitCredentials(url: URL): { bare: string; headers: Record<string, string> } {
  const bare = new URL(url);
  bare.username = "";
  bare.password = "";
  if (url.username === "" && url.password === "") return { bare: bare.href, headers: {} };
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return { bare: bare.href, headers: { authorization: `Basic ${Buffer.from(pair).toString("base64")}` } };
}

async function readBody(url: URL, response: Response): Promise<string> {
  const { status } = response;
  if (!response.ok) {
    await response.body?.cancel();
    const isTransient = status >= 500 || status === 429 || status === 408;
    const hint =
      status === 401 || status === 403 ? "it asks for credentials" : isTransient ? "try again later" : "check the URL";
    throw failed(
      url.href,
      `answered ${status}${response.statusText ? ` ${response.statusText}` : ""}`,
      hint,
      isTransient,
    );
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > largestBytes) throw failed(url.href, `is larger than ${largestBytes} bytes`, "is it a registry?", false);
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

function toNetworkError(url: string, error: unknown): RolloutError {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const code = systemCodeOf(cause);
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return failed(
      url,
      "cannot be reached: its host is unknown",
      "check the host's name and your network",
      code === "EAI_AGAIN",
      "registry_failed",
      error,
    );
  }
  const isTransient = code === undefined || (!code.startsWith("ERR_TLS") && !code.includes("CERT"));
  return failed(
    url,
    `cannot be reached: ${messageOf(cause)}`,
    "check the server and your network",
    isTransient,
    "registry_failed",
    error,
  );
}

function failed(
  url: string,
  what: string,
  hint: string,
  transient: boolean,
  code: "registry_failed" | "config_invalid" = "registry_failed",
  cause?: unknown,
): RolloutError {
  return new RolloutError(code, `registry ${showUrl(url)} ${what}`, { hint, transient, cause });
}
