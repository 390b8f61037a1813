import { suggest } from "../../base/suggest.ts";

const names: readonly string[] = [
  ..."audit_control audit_read audit_write block_suspend bpf checkpoint_restore chown dac_override dac_read_search".split(
    " ",
  ),
  ..."fowner fsetid ipc_lock ipc_owner kill lease linux_immutable mac_admin mac_override mknod net_admin".split(" "),
  ..."net_bind_service net_broadcast net_raw perfmon setfcap setgid setpcap setuid sys_admin sys_boot sys_chroot".split(
    " ",
  ),
  ..."sys_module sys_nice sys_pacct sys_ptrace sys_rawio sys_resource sys_time sys_tty_config syslog wake_alarm".split(
    " ",
  ),
].map((name) => name.toUpperCase());

/** What is wrong with the name of a capability of Linux, written as engines take it; null when there is one. */
export function capabilityProblem(written: string): string | null {
  const name = written.toUpperCase().replace(/^CAP_/, "");
  if (name === "ALL" || names.includes(name)) return null;
  const near = suggest(name, names);
  const all = `known: ALL, ${names.join(", ")}`;
  return `unknown capability ${JSON.stringify(written)}; ${near === undefined ? all : `did you mean ${JSON.stringify(near)}?`}`;
}
