import { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import type { Clock } from "../../base/clock.ts";
import { freeBytes } from "../../base/free-bytes.ts";
import type { OutputSink } from "../environment.ts";
import type { Pipe } from "./pipe-stock.ts";

const quietTurns = 3;
const turnMs = 20;

/** The output of a command on its way to a sink. */
export interface OutputPump {
  /** Resolves when all that the command has written is delivered, also when somebody else holds the pipe open. */
  finish(): Promise<void>;
  /** Drops what comes from now on, so that a daemon that goes on writing is neither blocked nor killed. */
  drop(): void;
}

/** Delivers what arrives in a pipe, holding the writer back when the sink does. */
export function startPump({ readDescriptor }: Pipe, sink: OutputSink, clock: Clock): OutputPump {
  const socket = new Socket({ fd: readDescriptor, readable: true, writable: false });
  const state = { chunks: 0, isBusy: false, isOver: false, isDropped: false };
  let failure: { readonly error: unknown } | undefined;
  const pump = async (): Promise<void> => {
    for await (const chunk of socket) {
      state.chunks++;
      if (state.isDropped || failure) continue;
      state.isBusy = true;
      try {
        await sink.write(chunk as Uint8Array);
      } catch (error) {
        failure = { error };
      }
      freeBytes(chunk as Uint8Array);
      state.isBusy = false;
    }
  };
  const running = pump()
    .catch(() => {})
    .finally(() => (state.isOver = true));
  return {
    async finish() {
      const never = new AbortController().signal;
      // What the command wrote is in the pipe already: when we look again and again and find nothing, that was all.
      for (let quiet = 0, seen = state.chunks; !state.isOver && quiet < quietTurns;) {
        await Promise.race([running, clock.sleep(turnMs, never)]);
        await setImmediate();
        await setImmediate();
        quiet = state.isBusy || seen !== state.chunks ? 0 : quiet + 1;
        seen = state.chunks;
      }
      if (failure) throw failure.error;
    },
    drop() {
      state.isDropped = true;
      socket.unref();
    },
  };
}
