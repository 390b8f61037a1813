/** Ways in which the adapter can be broken on purpose, to see that the suite notices. */
export type Defect =
  | "kills only the direct child"
  | "merges the streams"
  | "merges directories"
  | "follows links on copy out"
  | "copies out without limits"
  | "keeps stdin open"
  | "ignores labels"
  | "reads output eagerly"
  | "waits for daemons"
  | "leaks variables"
  | "forgets to stop on freeze";
