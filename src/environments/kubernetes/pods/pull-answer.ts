import type { Pod } from "./pod.ts";

/** What the last word of a registry about an image means. */
export type PullAnswer =
  /** It will not be had, however often it is asked for. */
  | "absent"
  /** It is not given to who asks. */
  | "refused"
  /** The network's fault, or the registry's; the kubelet asks again. */
  | "passing";

// Names of images and addresses, which may hold any word.
const names = /"[^"]*"|\[[^\]]*\]|\bhttps?:\/\/\S+/g;
const absent = /not found|manifest unknown|invalid|no match for platform|unsupported/i;
const refused = /unauthorized|denied|forbidden|authorization failed|no basic auth/i;

/** Reads what a kubelet tells about a pull that failed. */
export function pullAnswer(message: string): PullAnswer {
  const words = message.replaceAll(names, "");
  if (refused.test(words)) return "refused";
  return absent.test(words) ? "absent" : "passing";
}

/** True when a Pod names secrets for its pulls, its own or those of its account. */
export function hasPullSecrets({ spec }: Pod): boolean {
  return (spec?.imagePullSecrets ?? []).length > 0;
}
