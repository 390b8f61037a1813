import { AbortReason } from "../engine/abort-reason.ts";

export type SignalName = "SIGINT" | "SIGTERM";

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

/** Listens to SIGINT and SIGTERM, also when the process was started with them ignored. */
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
  const handlers = { SIGINT: () => onSignal("SIGINT"), SIGTERM: () => onSignal("SIGTERM") };
  process.on("SIGINT", handlers.SIGINT);
  process.on("SIGTERM", handlers.SIGTERM);
  return {
    signal: stop.signal,
    forceSignal: force.signal,
    get received() {
      return received;
    },
    [Symbol.dispose]() {
      process.off("SIGINT", handlers.SIGINT);
      process.off("SIGTERM", handlers.SIGTERM);
    },
  };
}
