import type { OutputSink } from "../../environments/environment.ts";

// Words of common tools that say the test itself did not happen, so that the reward says nothing about the agent.
const troubles: readonly { readonly pattern: RegExp; readonly meaning: string }[] = [
  {
    pattern: /could not resolve host|temporary failure in name resolution|name or service not known/i,
    meaning: "could not reach the network",
  },
  {
    pattern: /curl: \((?:5|6|7|22|28|35|52|56)\)|wget: unable to resolve|failed to connect to [^\n]{1,80} port \d+/i,
    meaning: "could not download something",
  },
  {
    pattern: /unable to locate package|e: failed to fetch|no installation candidate/i,
    meaning: "could not install a package",
  },
  {
    pattern: /could not find a version that satisfies|no matching distribution found|newconnectionerror/i,
    meaning: "could not install a Python package",
  },
  {
    pattern: /npm (?:err!|error) (?:code )?(?:enotfound|econnrefused|etimedout|eai_again)/i,
    meaning: "could not install an npm package",
  },
  {
    pattern: /(?:uvx|uv|pytest|pip3?|curl|wget|npm|npx|node|go|cargo): (?:command )?not found/i,
    meaning: "did not find one of its own tools",
  },
  { pattern: /no module named ['"]?pytest/i, meaning: "did not find one of its own tools" },
  { pattern: /no tests ran|collected 0 items|no tests found|\bran 0 tests\b|no test files/i, meaning: "ran no test" },
];

// Longer than any phrase above, so that one cut by a chunk boundary is still seen.
const overlap = 160;

/** Watches what a verifier prints for signs that it could not do its work. */
export class VerifierTrouble {
  readonly #found = new Map<string, string>();

  /** A sink that looks at a stream on its way to the given one. */
  watch(sink: OutputSink): OutputSink {
    let tail = "";
    return {
      write: (chunk) => {
        const text = tail + Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString("latin1");
        this.#look(text);
        tail = text.slice(-overlap);
        return sink.write(chunk);
      },
    };
  }

  /** One sentence for each kind of trouble that was seen. */
  warnings(): string[] {
    return [...this.#found].map(
      ([meaning, words]) => `the verifier ${meaning} ("${words}"): its reward may say nothing about the agent`,
    );
  }

  #look(text: string): void {
    for (const { pattern, meaning } of troubles) {
      if (this.#found.has(meaning)) continue;
      const match = pattern.exec(text);
      if (match) this.#found.set(meaning, match[0]);
    }
  }
}
