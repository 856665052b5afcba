/** Below Linux's ephemeral ports (ip_local_port_range). */
const lowest = 10_240;
const highest = 32_767;

/**
 * A port for a server that takes no port 0, or that has to come back at the same one. One of the kernel's own range may be given to
 * another test's server or connection while this server has not started yet or is down, and a client that tries to reach it
 * there may even be connected to itself.
 */
export function freePort(): number {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = lowest + Math.floor(Math.random() * (highest - lowest + 1));
    if (isFree(port)) return port;
  }
  throw new Error(`no free port was found between ${lowest} and ${highest}`);
}

function isFree(port: number): boolean {
  try {
    Bun.listen({ hostname: "127.0.0.1", port, exclusive: true, socket: { data() {} } }).stop(true);
    return true;
  } catch {
    return false;
  }
}
