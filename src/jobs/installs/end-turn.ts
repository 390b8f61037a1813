import type { TryState } from "../trial/try-state.ts";

/** Ends a trial's turn to bake, if it has it still: whoever waits for its install must hear of the end, whatever it was. */
export function endTurn(state: TryState): void {
  if (state.install.kind !== "bake") return;
  state.install.settle(null);
  state.install = { kind: "fresh" };
}
