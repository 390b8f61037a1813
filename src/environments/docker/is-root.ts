/** Whether a user of a container, as an image or a job names one, is root; an image that names nobody means root. */
export function isRoot(user: string): boolean {
  return /^(root|0)?(:|$)/.test(user);
}
