import { randomUUID } from "node:crypto";
import type { ExecRequest, OutputSink } from "../../environment.ts";
import { isRoot } from "../is-root.ts";

const refusedCode = 121;
const mostWords = 1000;

/** A command that first puts things in place. */
export interface PlacingCommand {
  readonly request: ExecRequest;
  /** To be called when its output has ended; tells why things could not be put in place, in which case the command itself did not run. */
  findRefusal(): Promise<string | null>;
}

/** Whether such a command would end up as what was asked for: only root may place, and only bash becomes another bash without a trace in its variables. */
export function canBeginWithPlacing(request: ExecRequest, user: string): boolean {
  return isRoot(user) && request.command[0] === "bash";
}

/** The same command behind a script that puts things in place, which saves archives and commands of their own. */
export function beginWithPlacing(request: ExecRequest, script: string): PlacingCommand {
  const mark = `rollout-${randomUUID()}`;
  // In a shell of its own, so that its mode mask and what it may overwrite are nobody else's.
  const whole = `words=$( { set -C; umask 022; ${script}; } 2>&1 ) || { printf '%s%s' "$0" "$words" >&2; exit ${refusedCode}; }; exec "$@"`;
  const stderr = new RefusalSink(request.stderr, Buffer.from(mark));
  return {
    request: {
      ...request,
      command: ["bash", "--norc", "-p", "-c", whole, mark, ...request.command],
      stderr,
    },
    findRefusal: () => stderr.end(),
  };
}

/** Keeps what follows the mark, if that comes first, and hands everything else on. */
class RefusalSink implements OutputSink {
  readonly #next: OutputSink;
  readonly #mark: Buffer;
  #state: "unknown" | "refused" | "passing" = "unknown";
  #held = Buffer.alloc(0);

  constructor(next: OutputSink, mark: Buffer) {
    this.#next = next;
    this.#mark = mark;
  }

  write(chunk: Uint8Array): void | Promise<void> {
    if (this.#state === "passing") return this.#next.write(chunk);
    const held = Buffer.concat([this.#held, chunk]);
    const length = Math.min(held.length, this.#mark.length);
    if (!held.subarray(0, length).equals(this.#mark.subarray(0, length))) {
      this.#state = "passing";
      return this.#next.write(held);
    }
    if (length === this.#mark.length) this.#state = "refused";
    this.#held = held.subarray(0, length + mostWords);
  }

  /** Hands on what only began like the mark; gives what followed the mark itself. */
  async end(): Promise<string | null> {
    if (this.#state === "refused")
      return this.#held.subarray(this.#mark.length).toString("utf8").trim() || "no reason was given";
    if (this.#state === "unknown") await this.#next.write(this.#held);
    return null;
  }
}
