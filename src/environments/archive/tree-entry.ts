interface TreeEntryHead {
  /** Relative to the tree, with slashes; empty for the root itself. What a stream claims here is not to be trusted. */
  readonly path: string;
  /** Permission bits with setuid, setgid and sticky. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly mtimeMs?: number | undefined;
}

/** A file and its bytes; a body that is left unread is skipped by its source. */
export interface TreeFile extends TreeEntryHead {
  readonly type: "file";
  readonly size: number;
  readonly body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/** A directory without what it holds: that follows on its own. */
export interface TreeDirectory extends TreeEntryHead {
  readonly type: "directory";
}

/** A symbolic link with its target as it is written in the link. */
export interface TreeSymlink extends TreeEntryHead {
  readonly type: "symlink";
  readonly linkTarget: string;
}

/** A second name for an earlier file of the same tree; the target is relative to the tree. */
export interface TreeHardlink extends TreeEntryHead {
  readonly type: "hardlink";
  readonly linkTarget: string;
}

/** Something that never travels: a device, a socket, a pipe, what its source could not read. */
export interface TreeOther extends TreeEntryHead {
  readonly type: "other";
  readonly reason: string;
}

/** One step of a tree on its way from one place to another; parents come before what they hold. */
export type TreeEntry = TreeFile | TreeDirectory | TreeSymlink | TreeHardlink | TreeOther;

/** A tree on its way; a consumer takes one entry at a time and has done with its body before it asks for the next. */
export type TreeStream = AsyncIterable<TreeEntry> | Iterable<TreeEntry>;
