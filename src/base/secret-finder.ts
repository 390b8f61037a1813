import { secretForms, type Secret } from "./redactor.ts";

/** The name of the first secret in a stream of bytes, in whatever form the redactor knows; null when there is none. */
export type SecretFinder = (body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>) => Promise<string | null>;

/** A finder for the given secrets; values that are too short to be redacted are not looked for. */
export function createSecretFinder(secrets: readonly Secret[]): SecretFinder {
  const forms = secretForms(secrets).map(({ name, text }) => ({ name, bytes: Buffer.from(text, "latin1") }));
  const overlap = Math.max(0, ...forms.map(({ bytes }) => bytes.length - 1));
  return async (body) => {
    if (forms.length === 0) return null;
    let held = Buffer.alloc(0);
    for await (const chunk of body) {
      const text = Buffer.concat([held, chunk]);
      const found = forms.find(({ bytes }) => text.includes(bytes));
      if (found) return found.name;
      held = text.subarray(Math.max(0, text.length - overlap));
    }
    return null;
  };
}
