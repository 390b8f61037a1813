import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { toPathSegment } from "../../base/path-segment.ts";
import { messageOf, RolloutError, systemCodeOf } from "../../base/rollout-error.ts";
import { jobPaths, type JobPaths } from "./job-paths.ts";

/** Makes a job directory that nobody else has: the chosen name, or the local time with `-2`, `-3` … when it is taken. */
export async function createJobDirectory(
  jobsDir: string,
  name: string | null,
  now: number,
): Promise<{ name: string; paths: JobPaths }> {
  try {
    await mkdir(jobsDir, { recursive: true });
    for (let n = 1; ; n++) {
      const tried = name ?? `${localTimeName(now)}${n === 1 ? "" : `-${n}`}`;
      const dir = join(jobsDir, toPathSegment(tried));
      if (await makeNew(dir)) {
        const paths = jobPaths(dir);
        await mkdir(paths.own);
        return { name: tried, paths };
      }
      if (name !== null) {
        throw new RolloutError("already_exists", `${dir} already exists`, {
          hint: "choose another name with --name, or leave the name out to have one made from the time",
        });
      }
    }
  } catch (error) {
    if (error instanceof RolloutError) throw error;
    throw new RolloutError("io_failed", `the job directory cannot be made in ${jobsDir}: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

async function makeNew(dir: string): Promise<boolean> {
  try {
    await mkdir(dir);
    return true;
  } catch (error) {
    if (systemCodeOf(error) === "EEXIST") return false;
    throw error;
  }
}

function localTimeName(now: number): string {
  const time = new Date(now);
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  return `${day}__${two(time.getHours())}-${two(time.getMinutes())}-${two(time.getSeconds())}`;
}
