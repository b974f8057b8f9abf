/** The memory of a model's bytes on their way. */

/**
 * Gives the bytes' memory back now: a collector waits until tens of megabytes have gathered, on top of the model that is
 * being moved. Only for bytes that nobody else holds. They are sent to a port that nobody listens at: what a message, a
 * blob or a stream gave is held by the browser's side of the buffer too, which `ArrayBuffer.transfer` does not empty.
 */
export function release(bytes: Uint8Array): void {
  if (bytes.buffer.byteLength === 0 || typeof MessageChannel === "undefined") return;
  const { port1, port2 } = new MessageChannel();
  port2.close();
  try {
    port1.postMessage(null, [bytes.buffer as ArrayBuffer]);
  } catch {
    // workerd's ports take no transfers; there the collector has to do.
  } finally {
    port1.close();
  }
}

/** The bytes in the browser's memory instead of the page's; they are released here. */
export function inBrowser(bytes: Uint8Array): Blob {
  const blob = new Blob([bytes as Uint8Array<ArrayBuffer>]);
  release(bytes);
  return blob;
}
