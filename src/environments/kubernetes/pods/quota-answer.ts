import { parseQuantity } from "../../../base/quantity.ts";
import { hasStatus, type KubeError } from "../connection/kube-error.ts";

const exceeded = /exceeded quota: .*?, requested: (?<requested>.*?), used: .*?, limited: (?<limited>.*)$/s;

/** What a namespace's quota says to a Pod: there is no room at the moment, or never for one like it; null when it is not the quota. */
export function quotaAnswer(error: unknown): "full" | "never" | null {
  if (!hasStatus(error, 403)) return null;
  const { message } = error as KubeError;
  // One that was made a moment ago has not been counted yet.
  if (message.includes("status unknown for quota")) return "full";
  if (!message.includes("exceeded quota")) return null;
  const { requested = "", limited = "" } = exceeded.exec(message)?.groups ?? {};
  const limits = readAmounts(limited);
  const isMore = ([name, amount]: [string, number]): boolean => amount > (limits.get(name) ?? Number.POSITIVE_INFINITY);
  return [...readAmounts(requested)].some(isMore) ? "never" : "full";
}

function readAmounts(list: string): Map<string, number> {
  const amounts = list.split(",").flatMap((item): [string, number][] => {
    const at = item.lastIndexOf("=");
    const amount = parseQuantity(item.slice(at + 1));
    return at === -1 || amount === undefined ? [] : [[item.slice(0, at).trim(), amount]];
  });
  return new Map(amounts);
}
