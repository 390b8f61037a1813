import { randomUUID } from "node:crypto";
import type { OutputSink } from "../../environments/environment.ts";

// Says what the reward file holds, as shell text without single quotes.
const say = `__rollout_reward=-
if [ -f /logs/verifier/reward.txt ]; then
  IFS= read -r -d "" -n 5000 __rollout_reward </logs/verifier/reward.txt || :
  __rollout_reward=+$__rollout_reward
fi`;

// Read by the shell of the tests before anything else: it bears witness at its own end, so that nobody can see it end
// and write before. Its pipe is not that of its output, which the tests may lead elsewhere.
const inside = `unset BASH_ENV
exec 9<&-
if [ -n "\${__rollout_env:-}" ]; then export BASH_ENV=$__rollout_env; . "$BASH_ENV"; fi
unset __rollout_env
trap '{ set +x; } 2>/dev/null
${say}
printf "%s\\0" "$__rollout_reward" 1>&8 2>/dev/null || :' EXIT`;

// Runs the tests and says what the reward was at the very moment they ended: whatever is written later, by whomever,
// does not count. A text for a command is the cheapest way to a pipe, or to a nameless file in older shells. Tests that take the end of their shell for themselves are followed by a look from here. It all goes
// the way of the output, because nothing that lies in the environment is out of others' reach.
const script = `exec 7<<<"" 6>&2 2>/dev/null
read -r -u 7 _
__rollout_env=$BASH_ENV BASH_ENV=/dev/fd/9 bash --norc /tests/test.sh 2>&6 8>>/dev/fd/7 6>&- 7>&- 9<<<"$2"
code=$?
if ! IFS= read -r -d "" -t 0.01 -u 7 __rollout_reward; then
${say}
fi
printf "\\0%s%s\\0" "$1" "$__rollout_reward"
exit "$code"`;

// What follows the mark is cut here when its end never comes.
const longestText = 20_000;

/** What a reward file held when the tests ended; null when there was none. */
export interface WitnessedReward {
  readonly text: string | null;
}

/** Takes the reward at the end of the tests out of what their command prints. */
export class RewardWitness {
  readonly #token = randomUUID().replaceAll("-", "");
  readonly #mark = Buffer.concat([Buffer.of(0), Buffer.from(this.#token)]);
  #held: Buffer = Buffer.alloc(0);
  #isInside = false;
  #said: string | null = null;

  /** The words that run the tests and bear witness. */
  get command(): readonly string[] {
    return ["bash", "--norc", "-c", script, "bash", this.#token, inside];
  }

  /** What was said; null when the command was cut short before. */
  get reward(): WitnessedReward | null {
    if (this.#said === null) return null;
    return { text: this.#said.startsWith("+") ? this.#said.slice(1) : null };
  }

  /** A sink that passes everything on but our own words. */
  watch(sink: OutputSink): OutputSink & { end(): void | Promise<void> } {
    return {
      write: (chunk) => {
        const passed = this.#take(Buffer.concat([this.#held, chunk]));
        return passed.length > 0 ? sink.write(passed) : undefined;
      },
      end: () => {
        const rest = this.#held;
        this.#held = Buffer.alloc(0);
        return rest.length > 0 && !this.#isInside ? sink.write(rest) : undefined;
      },
    };
  }

  #take(bytes: Buffer): Buffer {
    if (this.#said !== null) {
      this.#held = Buffer.alloc(0);
      return bytes;
    }
    const at = this.#isInside ? 0 : bytes.indexOf(this.#mark);
    if (at < 0) {
      const open = openLength(bytes, this.#mark);
      this.#held = bytes.subarray(bytes.length - open);
      return bytes.subarray(0, bytes.length - open);
    }
    const before = bytes.subarray(0, at);
    const said = bytes.subarray(this.#isInside ? 0 : at + this.#mark.length);
    const end = said.indexOf(0);
    if (end < 0 && said.length < longestText) {
      this.#isInside = true;
      this.#held = said;
      return before;
    }
    this.#isInside = false;
    this.#held = Buffer.alloc(0);
    this.#said = said.subarray(0, end < 0 ? longestText : end).toString("latin1");
    return end < 0 ? before : Buffer.concat([before, said.subarray(end + 1)]);
  }
}

// How many bytes at the end may be the beginning of the mark.
function openLength(bytes: Buffer, mark: Buffer): number {
  for (let length = Math.min(mark.length - 1, bytes.length); length > 0; length--)
    if (bytes.subarray(bytes.length - length).equals(mark.subarray(0, length))) return length;
  return 0;
}
