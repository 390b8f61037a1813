import { spawn } from "node:child_process";

// A line says that all is over; the end of input without one says that we are dead.
const script = 'read -r over || kill -9 "-$0" 2>/dev/null';

/** Ends a group of processes if this one dies first, however it dies. The function that is returned calls it off. */
export function watchGroup(group: number): () => void {
  const watcher = spawn("/bin/sh", ["-c", script, String(group)], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  // Without a watcher the end of input is all an executor is told.
  watcher.on("error", () => {});
  watcher.stdin.on("error", () => {});
  watcher.unref();
  return () => watcher.stdin.end("over\n");
}
