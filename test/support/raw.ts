/** Sends bytes as they are and gives all that comes back until the server closes, or `quietMs` of silence. */
export async function rawExchange(url: string, bytes: string | Uint8Array, quietMs = 300): Promise<string> {
  const { hostname, port } = new URL(url);
  const decoder = new TextDecoder();
  let received = "";
  let lastAtMs = performance.now();
  let closed = false;
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      data(_socket, chunk) {
        received += decoder.decode(chunk, { stream: true });
        lastAtMs = performance.now();
      },
      close() {
        closed = true;
      },
      error() {
        closed = true;
      },
    },
  });
  socket.write(bytes);
  while (!closed && (received === "" || performance.now() - lastAtMs < quietMs)) {
    if (performance.now() - lastAtMs > 10_000) break;
    await Bun.sleep(5);
  }
  socket.end();
  return received;
}
