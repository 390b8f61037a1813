// Imported first by every library entry, so that an old Node says what is missing instead of failing somewhere inside.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 24 || (major === 24 && minor < 11)) {
  throw new Error(`rollout-eval needs Node >= 24.11; this is Node ${process.versions.node}`);
}

export {};
