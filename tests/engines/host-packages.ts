import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";

const database = "/var/lib/dpkg";
const wanted = new Set(["apt", "bash", "coreutils", "ca-certificates", "procps", "netbase", "tar"]);
const leftOut = /^\/usr\/share\/(doc|man|locale|info|lintian)\/./;
// What maintainer scripts made and no package lists.
const madeLater = [
  ..."/bin /sbin /lib /lib32 /lib64 /libx32 /usr /var /etc /etc/ld.so.cache /etc/passwd /etc/group".split(" "),
  ..."/etc/nsswitch.conf /etc/debian_version /etc/ssl/certs/ca-certificates.crt".split(" "),
  ...["format", "diversions", "alternatives", "arch"].map((name) => `${database}/${name}`),
  `${database}/info/format`,
];
const madeTrees = [
  "/etc/alternatives",
  "/etc/apt",
  "/usr/share/keyrings",
  "/etc/ssl/certs",
  `${database}/alternatives`,
];

interface HostPackage {
  readonly name: string;
  readonly fields: ReadonlyMap<string, string>;
  readonly paragraph: string;
}

/** The files of a small Debian system, taken from the packages of this one, with the status of its package database. */
export interface HostSystem {
  /** Absolute paths, none through a link. */
  readonly paths: readonly string[];
  readonly status: string;
}

/** Why this machine's packages cannot make a base image; null when they can. */
export function whyNoHostSystem(): string | null {
  return existsSync(join(database, "status")) ? null : "the machine has no Debian packages to make a base image from";
}

/** Chooses the essential packages of this machine, what they need, and their files. */
export function readHostSystem(): HostSystem {
  const chosen = choosePackages(readPackages());
  const files = new Set<string>();
  const add = (path: string): void => {
    if (lstatSync(path, { throwIfNoEntry: false })) files.add(path);
  };
  for (const { name, fields } of chosen) {
    const plain = join(database, "info", name);
    const stem = existsSync(`${plain}.list`) ? plain : `${plain}:${fields.get("Architecture")}`;
    for (const line of readFileSync(`${stem}.list`, "utf8").split("\n")) {
      if (line !== "" && line !== "/." && !leftOut.test(line)) add(line);
    }
    for (const end of ["list", "md5sums", "conffiles", "postinst", "preinst", "prerm", "postrm", "triggers"])
      add(`${stem}.${end}`);
  }
  madeLater.forEach(add);
  for (const tree of madeTrees) listTree(tree).forEach(add);
  addAlternatives(files);
  const paths = [...files].map((path) => join(realpathSync(dirname(path)), basename(path)));
  const status = `${chosen.map(({ paragraph }) => paragraph).join("\n\n")}\n\n`;
  return { paths: [...new Set(paths)].filter((path) => path !== "/").sort(), status };
}

function readPackages(): HostPackage[] {
  const text = readFileSync(join(database, "status"), "utf8");
  return text.split("\n\n").flatMap((paragraph) => {
    const fields = new Map(
      [...paragraph.matchAll(/^([A-Za-z-]+): ?(.*(?:\n .*)*)/gm)].map(([, key = "", value = ""]) => [key, value]),
    );
    const isInstalled = fields.get("Status")?.includes("install ok installed") ?? false;
    return isInstalled ? [{ name: fields.get("Package") ?? "", fields, paragraph: paragraph.trim() }] : [];
  });
}

function choosePackages(packages: readonly HostPackage[]): HostPackage[] {
  const byName = new Map(packages.map((entry) => [entry.name, entry]));
  for (const entry of packages) {
    for (const name of namesIn(entry.fields.get("Provides"))) if (!byName.has(name)) byName.set(name, entry);
  }
  const isBasic = ({ name, fields }: HostPackage): boolean =>
    fields.get("Essential") === "yes" || fields.get("Priority") === "required" || wanted.has(name);
  const chosen = new Set<HostPackage>();
  const queue = packages.filter(isBasic);
  for (let entry = queue.pop(); entry; entry = queue.pop()) {
    if (chosen.has(entry)) continue;
    chosen.add(entry);
    const needs = `${entry.fields.get("Pre-Depends") ?? ""},${entry.fields.get("Depends") ?? ""}`;
    for (const alternatives of needs.split(",")) {
      const found = alternatives.split("|").flatMap((one) => byName.get(namesIn(one)[0] ?? "") ?? [])[0];
      if (found) queue.push(found);
    }
  }
  return [...chosen].sort((one, other) => (one.name < other.name ? -1 : 1));
}

function namesIn(list: string | undefined): string[] {
  return (list ?? "").split(",").flatMap((entry) => /^\s*([^\s:(]+)/.exec(entry)?.[1] ?? []);
}

function listTree(path: string): string[] {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats?.isDirectory()) return stats ? [path] : [];
  return [path, ...readdirSync(path).flatMap((name) => listTree(join(path, name)))];
}

// awk, which and the like are links that belong to no package.
function addAlternatives(files: Set<string>): void {
  const directory = join(database, "alternatives");
  const targets = new Set([...files].flatMap((path) => (existsSync(path) ? [realpathSync(path)] : [])));
  for (const name of existsSync(directory) ? readdirSync(directory) : []) {
    const link = readFileSync(join(directory, name), "utf8").split("\n")[1] ?? "";
    if (existsSync(link) && targets.has(realpathSync(link))) files.add(link);
  }
}
