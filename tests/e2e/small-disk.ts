import { execFileSync } from "node:child_process";
import { mkdirSync, statfsSync } from "node:fs";
import { onTestFinished, type TestContext } from "vitest";
import { cannotRun, type Room } from "./rollout-cli.ts";

const mostTries = 20;

/** A file system of its own in a room, as large as the test wants. */
export interface SmallDisk {
  /** Leaves room for so many bytes more. */
  squeeze(bytes: number): void;
  resize(bytes: number): void;
}

/** Makes `jobs` of a room a file system of its own, or ends the test and says why that cannot be. */
export function mountSmallDisk(context: TestContext, room: Pick<Room, "path">, bytes: number): SmallDisk {
  if (process.getuid?.() !== 0 || process.platform !== "linux")
    cannotRun(context, "only root on Linux can mount a small disk");
  const jobs = room.path("jobs");
  mkdirSync(jobs);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${bytes}`, "tmpfs", jobs], { stdio: "pipe" });
  } catch {
    cannotRun(context, "this machine does not let even root mount a small disk");
  }
  onTestFinished(() => void execFileSync("umount", ["--lazy", jobs]));
  const resize = (size: number): void =>
    void execFileSync("mount", ["-o", `remount,size=${size}`, jobs], { stdio: "pipe" });
  return {
    resize,
    squeeze(left) {
      for (let tries = 1; ; tries++) {
        const { blocks, bfree, bsize } = statfsSync(jobs);
        try {
          return resize((blocks - bfree) * bsize + left);
        } catch (error) {
          // Somebody wrote more than that in between, and no disk becomes smaller than what it holds.
          if (tries === mostTries) throw error;
        }
      }
    },
  };
}
