/** What a request proves itself with. */
export interface Credentials {
  readonly token: string | null;
  readonly cert: string | Buffer | null;
  readonly key: string | Buffer | null;
}

/** Where credentials come from; they may change while we work. */
export interface CredentialSource {
  get(signal: AbortSignal): Promise<Credentials>;
  /** To be called when they were refused: the next ones are read anew. */
  forget(): void;
}

/** Where a cluster is, and as whom we come. */
export interface ClusterEndpoint {
  readonly server: URL;
  /** Null trusts what the system trusts. */
  readonly ca: string | Buffer | null;
  readonly isVerified: boolean;
  /** The name that the certificate must carry; the server's when null. */
  readonly serverName: string | null;
  readonly credentials: CredentialSource;
  readonly namespace: string;
  /** What told us of it, for people. */
  readonly origin: string;
  /** The options that lead `kubectl` to the same place. */
  readonly kubectlOptions: readonly string[];
}
