import type { LocalGround } from "./local-ground.ts";

/** What sandboxes of this machine cannot do and how to get it. */
export function planNotes({ idMap, groupPlaces, host, config }: LocalGround): string[] {
  const notes: string[] = [];
  if (idMap.kind === "single") {
    notes.push(
      "other users inside: run as root, or install newuidmap (package uidmap) and give yourself a range in /etc/subuid and /etc/subgid",
    );
  }
  if (groupPlaces === null) {
    const how = host.uid === 0 ? "mount control groups where root may write" : "run as root";
    notes.push(`enforced limits on CPUs and memory: ${how}`);
  }
  if (config.storage === "disk") notes.push("an enforced limit on storage: provider_config.storage: memory");
  return notes;
}
