/** One task of a registry. */
export interface RegistryTask {
  readonly name: string;
  readonly gitUrl: string;
  /** Null when the registry does not pin it. */
  readonly gitCommitId: string | null;
  /** Inside the repository; `.` is its root. */
  readonly path: string;
}

/** One version of a dataset of a registry. */
export interface RegistryEntry {
  readonly name: string;
  readonly version: string | null;
  readonly description: string | null;
  readonly tasks: readonly RegistryTask[];
}
