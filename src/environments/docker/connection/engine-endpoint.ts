/** Keys and certificates of a connection that is encrypted. */
export interface EndpointTls {
  readonly ca: string | null;
  readonly cert: string | null;
  readonly key: string | null;
  /** False takes any certificate of the server, as the docker command does without `--tlsverify`. */
  readonly isVerified: boolean;
}

/** Where an engine listens, and who said so. */
export type EngineEndpoint = {
  /** For people: `DOCKER_HOST`, `the context colima`, `the default socket`. */
  readonly origin: string;
} & (
  | { readonly kind: "unix"; readonly socketPath: string }
  | { readonly kind: "tcp"; readonly host: string; readonly port: number; readonly tls: EndpointTls | null }
  | { readonly kind: "ssh"; readonly destination: string; readonly args: readonly string[] }
);

/** The address of an endpoint as people write it. */
export function addressOf(endpoint: EngineEndpoint): string {
  if (endpoint.kind === "unix") return `unix://${endpoint.socketPath}`;
  if (endpoint.kind === "ssh") return `ssh://${endpoint.destination}`;
  return `tcp://${endpoint.host}:${endpoint.port}`;
}
