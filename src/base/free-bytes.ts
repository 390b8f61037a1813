/**
 * Gives the memory of bytes back at once, where the collector would let tens of megabytes pile up behind a fast stream.
 * Only for the owner of the bytes, who never looks at them again.
 */
export function freeBytes(bytes: Uint8Array): void {
  const { buffer } = bytes;
  // Small ones share a buffer with their neighbours.
  if (buffer instanceof ArrayBuffer && bytes.byteLength === buffer.byteLength && !buffer.detached) buffer.transfer(0);
}
