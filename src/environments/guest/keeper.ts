/** How long the main process of a container sleeps, which tells it from others of its name. */
export const keeperSeconds = "2147483647";

/**
 * A main process without an init before it: the shell reaps what is orphaned and ends at once on TERM, as if that
 * had killed it: a kubelet forgets why it ended what ended well. A sleeper that somebody killed is replaced, one that
 * cannot sleep ends the container.
 */
export const keeperAlone: readonly string[] = [
  "sh",
  "-c",
  `trap 'exit 143' TERM; while :; do sleep ${keeperSeconds} & wait $!; code=$?; [ $code -gt 128 ] || exit $code; done`,
];

/** True for the text of the process that keeps a container alive. */
export function isKeeper(command: string): boolean {
  return command === `sleep ${keeperSeconds}`;
}
