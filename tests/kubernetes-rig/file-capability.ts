import { encodeTar, tarEndBytes } from "../../src/environments/archive/encode-tar.ts";
import type { TreeFile } from "../../src/environments/archive/tree-entry.ts";

// The second form of the attribute, in effect as soon as the program runs.
const form = 0x02000001;
const typeOffset = 156;
const sumOffset = 148;

/** The beginning of an archive: a file with a capability, as `setcap` gives it and as our own archives never do. */
export async function withCapability(file: TreeFile, capability: number): Promise<Buffer> {
  const value = Buffer.alloc(20);
  value.writeUInt32LE(form, 0);
  value.writeUInt32LE(2 ** capability, 4);
  const rest = Buffer.from(` SCHILY.xattr.security.capability=${value.toString("latin1")}\n`, "latin1");
  const record = Buffer.concat([Buffer.from(String(rest.length + 2)), rest]);
  const head = await encode({ ...file, path: "extended", size: record.length, body: [record] });
  // What was written as a file becomes a record for the entry behind it.
  const sum = Number.parseInt(head.toString("latin1", sumOffset, sumOffset + 6), 8) + 0x78 - 0x30;
  head.write("x", typeOffset, "latin1");
  head.write(sum.toString(8).padStart(6, "0"), sumOffset, "latin1");
  return Buffer.concat([head, await encode(file)]);
}

async function encode(file: TreeFile): Promise<Buffer> {
  const archive = Buffer.concat(await Array.fromAsync(encodeTar([file])));
  return archive.subarray(0, -tarEndBytes);
}
