import { messageOf } from "../../base/rollout-error.ts";
import { readField } from "../targets/read-field.ts";

const mostCauses = 5;

/** The text of what was thrown with that of its causes, where they say more. */
export function describeThrown(thrown: unknown): string {
  let text = messageOf(thrown);
  let cause = readField(thrown, "cause");
  for (let depth = 0; cause !== undefined && cause !== null && depth < mostCauses; depth++) {
    const more = messageOf(cause);
    if (more !== "" && !text.includes(more)) text += `: ${more}`;
    cause = readField(cause, "cause");
  }
  return text;
}
