import type { Clock } from "../base/clock.ts";
import type { Host } from "../base/host.ts";
import type { Terminal } from "./terminal.ts";

/** What every command is given. */
export interface CliContext {
  readonly process: NodeJS.Process;
  readonly host: Host;
  readonly clock: Clock;
  readonly terminal: Terminal;
  readonly version: string;
  /** Where the package lies, with its schemas. */
  readonly packageDir: string;
}
