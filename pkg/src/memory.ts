/** The memory of a model's bytes on their way. */

/**
 * Gives the bytes' memory back now, where the engine can: a collector waits until tens of megabytes have gathered, on
 * top of the model that is being moved. Only for bytes that nobody else holds.
 */
export function release(bytes: Uint8Array): void {
  const buffer = bytes.buffer as ArrayBuffer & { transfer?: (length: number) => ArrayBuffer };
  buffer.transfer?.(0);
}

/** The bytes in the browser's memory instead of the page's; they are released here. */
export function inBrowser(bytes: Uint8Array): Blob {
  const blob = new Blob([bytes as Uint8Array<ArrayBuffer>]);
  release(bytes);
  return blob;
}
