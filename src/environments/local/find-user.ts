import type { CommandRunner } from "./command-runner.ts";
import { toolWords } from "./toolbox.ts";
import { resolveUser, type ResolvedUser } from "./users.ts";

/** Looks a user up in the environment itself, where links cannot lead to the host's files. */
export async function findUser(runner: CommandRunner, name: string, signal: AbortSignal): Promise<ResolvedUser> {
  const read = async (file: string): Promise<string> => {
    const chunks: Uint8Array[] = [];
    await runner.run({
      command: [...toolWords("cat"), file],
      env: { PATH: "" },
      cwd: "/",
      user: null,
      stdout: { write: (chunk) => void chunks.push(Buffer.from(chunk)) },
      stderr: { write: () => {} },
      signal,
    });
    return Buffer.concat(chunks).toString("utf8");
  };
  return resolveUser(name, await read("/etc/passwd"), await read("/etc/group"));
}
