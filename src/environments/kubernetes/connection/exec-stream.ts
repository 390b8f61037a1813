import { z } from "zod";
import type { Clock } from "../../../base/clock.ts";
import type { KubeClient } from "./kube-client.ts";
import { KubeError } from "./kube-error.ts";
import { WebSocketConnection } from "./web-socket.ts";

const channels = { stdin: 0, stdout: 1, stderr: 2, status: 3, close: 255 } as const;
// The first version in which one side of a stream can be ended; Kubernetes has it since 1.30.
const protocols = ["v5.channel.k8s.io"];
const largestPiece = 256 * 1024;

/** Where a command is started. */
export interface PodAddress {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

export interface ExecStreamRequest extends PodAddress {
  readonly command: readonly string[];
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export type ExecPart =
  | { readonly kind: "stdout" | "stderr"; readonly bytes: Buffer }
  | { readonly kind: "exit"; readonly exitCode: number };

const statusSchema = z.object({
  status: z.string().optional(),
  message: z.string().optional(),
  reason: z.string().optional(),
  code: z.number().optional(),
  details: z
    .object({ causes: z.array(z.object({ reason: z.string().optional(), message: z.string().optional() })).nullish() })
    .nullish(),
});

/** A command that was started in a Pod, with its three streams. */
export class ExecStream implements Disposable {
  readonly #connection: WebSocketConnection;
  #isInputEnded = false;

  private constructor(connection: WebSocketConnection) {
    this.#connection = connection;
  }

  static async open(client: KubeClient, request: ExecStreamRequest): Promise<ExecStream> {
    const { namespace, pod, container, command, clock, signal } = request;
    const words = command.map((word): [string, string] => ["command", word]);
    const query = new URLSearchParams([["container", container], ...words]);
    for (const name of ["stdin", "stdout", "stderr"]) query.append(name, "true");
    const path = `/api/v1/namespaces/${namespace}/pods/${pod}/exec?${query.toString()}`;
    return new ExecStream(await WebSocketConnection.open(client, { path, protocols, clock, signal }));
  }

  /** The next thing that the command said; its exit code comes last. Rejects with a `KubeError` when the connection is lost. */
  async next(): Promise<ExecPart> {
    for (;;) {
      const message = await this.#connection.next();
      if (message === null)
        throw new KubeError(null, "the API server ended the connection before the command was over");
      const bytes = message.subarray(1);
      if (message[0] === channels.status) return { kind: "exit", exitCode: readExitCode(bytes.toString("utf8")) };
      if (bytes.length === 0) continue;
      if (message[0] === channels.stdout) return { kind: "stdout", bytes };
      if (message[0] === channels.stderr) return { kind: "stderr", bytes };
    }
  }

  /** Sends bytes to the command's standard input; resolves when there is room for more. */
  async write(bytes: Uint8Array): Promise<void> {
    for (let start = 0; start < bytes.length; start += largestPiece) {
      const piece = bytes.subarray(start, start + largestPiece);
      const message = Buffer.allocUnsafe(piece.length + 1);
      message[0] = channels.stdin;
      message.set(piece, 1);
      await this.#connection.send(message);
    }
  }

  /** Ends the command's standard input; doing it twice is fine. */
  async endInput(): Promise<void> {
    if (this.#isInputEnded) return;
    this.#isInputEnded = true;
    await this.#connection.send(Buffer.from([channels.close, channels.stdin]));
  }

  [Symbol.dispose](): void {
    this.#connection[Symbol.dispose]();
  }
}

function readExitCode(text: string): number {
  const parsed = statusSchema.safeParse(JSON.parse(text));
  const status = parsed.success ? parsed.data : {};
  if (status.status === "Success") return 0;
  const code = status.details?.causes?.find(({ reason }) => reason === "ExitCode")?.message;
  if (code !== undefined && Number.isInteger(Number(code))) return Number(code);
  // Then it is not the command that failed but what should have started it.
  throw new KubeError(status.code ?? 500, status.message ?? "the command could not be started", {
    reason: status.reason ?? "ExecRefused",
  });
}
