import { RolloutError } from "../base/rollout-error.ts";

/** The text of a file, piece by piece; rejects with `config_invalid` when it is not UTF-8. */
export async function* decodeText(chunks: AsyncIterable<Uint8Array>, file: string): AsyncGenerator<string, void> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  try {
    for await (const chunk of chunks) yield decoder.decode(chunk, { stream: true });
    yield decoder.decode();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw notUtf8(file, error);
  }
}

/** What is thrown for a file that is no UTF-8. */
export function notUtf8(file: string, cause?: unknown): RolloutError {
  return new RolloutError("config_invalid", `${file} is no UTF-8 text`, {
    hint: "save it as UTF-8, for example with: iconv -f LATIN1 -t UTF-8",
    cause,
  });
}
