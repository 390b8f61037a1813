import { AbortReason } from "../engine/abort-reason.ts";

const signalNames = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const;

export type SignalName = (typeof signalNames)[number];

// SIGHUP is signal 1 in the mask of the launcher.
const hangupBit = 1n;

/**
 * True when the process was started with SIGHUP ignored, as `nohup` does. Node resets that before any of our code runs,
 * so the launcher in front of Node passes on what the kernel reports (`SigIgn` of Linux).
 */
export function ignoresHangup({ env }: Pick<NodeJS.Process, "env">): boolean {
  const mask = env["ROLLOUT_IGNORED_SIGNALS"] ?? "";
  return /^[0-9a-f]+$/i.test(mask) && (BigInt(`0x${mask}`) & hangupBit) !== 0n;
}

/** The reason that a signal gives to the work it ends. */
export class Interruption extends AbortReason {
  readonly signalName: SignalName;

  constructor(signalName: SignalName, message: string) {
    super("cancelled", message);
    this.signalName = signalName;
  }
}

/** The person's wish to stop: once to stop and clean up, twice to stop waiting for that. */
export interface Interrupts extends Disposable {
  readonly signal: AbortSignal;
  readonly forceSignal: AbortSignal;
  /** Which signal came first. */
  readonly received: SignalName | null;
}

/** Listens to the signals that end a command. SIGHUP is left out when the process was started with it ignored. */
export function listenToInterrupts(
  process: NodeJS.Process,
  onFirst: (name: SignalName) => void,
  onSecond: () => void,
  what = "the job",
): Interrupts {
  const stop = new AbortController();
  const force = new AbortController();
  let received: SignalName | null = null;
  const onSignal = (name: SignalName): void => {
    if (received === null) {
      received = name;
      onFirst(name);
      stop.abort(new Interruption(name, `${what} was cancelled by ${name}`));
    } else if (!force.signal.aborted) {
      onSecond();
      force.abort(new Interruption(name, `the cleaning up was cut short by a second ${name}`));
    }
  };
  const handlers = signalNames
    .filter((name) => name !== "SIGHUP" || !ignoresHangup(process))
    .map((name) => [name, () => onSignal(name)] as const);
  for (const [name, handler] of handlers) process.on(name, handler);
  return {
    signal: stop.signal,
    forceSignal: force.signal,
    get received() {
      return received;
    },
    [Symbol.dispose]() {
      for (const [name, handler] of handlers) process.off(name, handler);
    },
  };
}
