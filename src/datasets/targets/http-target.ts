import { RolloutError } from "../../base/rollout-error.ts";
import type { FunctionCall, FunctionTarget } from "./target.ts";

export interface HttpTargetOptions {
  readonly url: string;
  readonly method?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** What is sent for an input; the input itself, as JSON, when absent. */
  readonly body?: ((input: unknown, call: FunctionCall) => unknown) | undefined;
  /** What is taken of an answer; the answer itself when absent. */
  readonly output?: ((answer: unknown, response: Response) => unknown) | undefined;
  /** Answers beyond so many bytes are refused; 16 MiB when absent. */
  readonly maxBytes?: number | undefined;
}

/** An answer that says no; its status decides whether the item is tried again. */
class HttpError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = "HttpError";
    this.status = status;
  }
}

const longestQuote = 300;

/** A target that sends each item's input to an HTTP endpoint and takes its answer, JSON or text. */
export function httpTarget(options: HttpTargetOptions): FunctionTarget {
  if (!URL.canParse(options.url)) throw new RolloutError("config_invalid", `${JSON.stringify(options.url)} is no URL`);
  const { url, method = "POST", headers = {}, maxBytes = 16 * 1024 * 1024 } = options;
  const { hostname } = new URL(url);
  const send = async (input: unknown, call: FunctionCall): Promise<unknown> => {
    const body = options.body ? options.body(input, call) : JSON.stringify(input);
    const response = await fetch(url, {
      method,
      headers: { "content-type": "application/json", ...headers },
      body: method === "GET" ? null : typeof body === "string" ? body : JSON.stringify(body),
      signal: call.signal,
    });
    const text = await readText(response, maxBytes);
    if (!response.ok)
      throw new HttpError(response.status, `${hostname} answered ${response.status}: ${text.slice(0, longestQuote)}`);
    const answer = isJson(response) ? parse(text, hostname) : text;
    return options.output ? options.output(answer, response) : answer;
  };
  return Object.defineProperty(send, "name", { value: hostname });
}

async function readText(response: Response, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new Error(`the answer has more than ${maxBytes} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function isJson(response: Response): boolean {
  return /\bjson\b/.test(response.headers.get("content-type") ?? "");
}

function parse(text: string, hostname: string): unknown {
  try {
    return JSON.parse(text);
  } catch (thrown) {
    throw new Error(`${hostname} answered what is no JSON: ${text.slice(0, longestQuote)}`, { cause: thrown });
  }
}
