import { existsSync } from "node:fs";
import { mkdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { toPathSegment } from "../../base/path-segment.ts";
import { isDiskFull, messageOf, RolloutError, systemCodeOf } from "../../base/rollout-error.ts";
import { jobPaths, type JobPaths } from "./job-paths.ts";

/** Makes a job directory that nobody else has: the chosen name, or the local time with `-2`, `-3` … when it is taken. */
export async function createJobDirectory(
  jobsDir: string,
  name: string | null,
  now: number,
): Promise<{ name: string; paths: JobPaths }> {
  try {
    await makeDirectories(jobsDir);
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
          hint: existsSync(jobPaths(dir).own)
            ? "choose another name with --name, or run what is left of it with --resume"
            : "choose another name with --name, or leave the name out to have one made from the time",
        });
      }
    }
  } catch (error) {
    if (error instanceof RolloutError) throw error;
    const code = isDiskFull(error) ? "io_failed" : "config_invalid";
    throw new RolloutError(code, `the job directory cannot be made in ${jobsDir}: ${messageOf(error)}`, {
      hint: isDiskFull(error) ? "the disk is full or cannot be written to" : "choose another place with jobs_dir",
      cause: error,
    });
  }
}

// Not the recursive mkdir of Node, which never ends on a file system like /proc that refuses with ENOENT.
async function makeDirectories(dir: string): Promise<void> {
  try {
    await mkdir(dir);
  } catch (error) {
    const code = systemCodeOf(error);
    if (code === "EEXIST") {
      if (!(await stat(dir)).isDirectory()) throw error;
    } else if (code === "ENOENT" && dirname(dir) !== dir && !existsSync(dirname(dir))) {
      await makeDirectories(dirname(dir));
      await mkdir(dir);
    } else throw error;
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
