/**
 * What the starter runs: it starts the programs it is asked for, a line of JSON each, and tells when they have begun and
 * ended. Their descriptors are opened by name, so that each program has them for itself. A link takes no program: it is
 * made with the ids it is to have, which are given back before anything else happens. The kernel then no longer kills it
 * when we die; from there on the end of its input does.
 */
export const starterScript = `"use strict";
const { spawn } = require("node:child_process");
const { closeSync, constants, openSync, symlinkSync } = require("node:fs");
const { chdir, exit, getegid, geteuid, setegid, seteuid, stdin, stdout } = require("node:process");
const own = { uid: geteuid(), gid: getegid() };
const running = new Map();
const tell = (message) => stdout.write(JSON.stringify(message) + "\\n");
const fail = (id, error) => tell({ id, error: String(error.message) });
function start({ id, file, args, descriptors, ...options }) {
  const opened = [];
  const open = ({ path, isInput }) => {
    opened.push(openSync(path, isInput ? constants.O_RDONLY : constants.O_WRONLY));
    return opened.at(-1);
  };
  try {
    const stdio = descriptors.map((place) => (place === null ? "ignore" : open(place)));
    const child = spawn(file, args, { ...options, stdio, detached: true });
    child.once("error", (error) => fail(id, error));
    if (child.pid === undefined) return;
    running.set(id, child);
    child.once("exit", (exitCode, signal) => {
      running.delete(id);
      tell({ id, exitCode, signal });
    });
    tell({ id, pid: child.pid });
  } catch (error) {
    fail(id, error);
  } finally {
    opened.forEach(closeSync);
  }
}
function link({ id, link: { directory, name, to, uid, gid } }) {
  try {
    chdir(directory);
    setegid(gid);
    seteuid(uid);
    symlinkSync(to, name);
    tell({ id, exitCode: 0, signal: null });
  } catch (error) {
    fail(id, error);
  } finally {
    seteuid(own.uid);
    setegid(own.gid);
    chdir("/");
  }
}
let text = "";
stdin.setEncoding("utf8");
stdin.on("data", (chunk) => {
  const lines = (text + chunk).split("\\n");
  text = lines.pop();
  for (const line of lines) {
    const { kill, ...request } = JSON.parse(line);
    if (kill !== undefined) running.get(kill)?.kill("SIGKILL");
    else if (request.link === undefined) start(request);
    else link(request);
  }
});
stdin.on("end", () => exit());`;
