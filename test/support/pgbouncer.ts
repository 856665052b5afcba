import { chmodSync, chownSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { newFolder } from "./new-folder.ts";
import type { PostgresServer } from "./postgres.ts";
import { waitFor } from "./wait.ts";

const program = Bun.which("pgbouncer") ?? Bun.which("/usr/sbin/pgbouncer");

export const hasPgbouncer = program !== null;
export const withoutPgbouncer = "SKIPPED: pgbouncer is not installed, so nothing is known about it";

export interface Pgbouncer extends AsyncDisposable {
  url(database: string): string;
}

/** A real pgbouncer in transaction mode in front of a server, with few connections, so that they are really shared. */
export async function startPgbouncer(server: PostgresServer): Promise<Pgbouncer> {
  const dir = newFolder();
  const port = freePort();
  const settings = [
    "[databases]",
    `* = host=127.0.0.1 port=${server.port}`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "auth_type = any",
    "pool_mode = transaction",
    "default_pool_size = 3",
    "max_client_conn = 200",
  ];
  const file = join(dir, "pgbouncer.ini");
  // Any user name is let in as this one.
  writeFileSync(file, `${settings.join("\n").replace("port=", "user=sluice port=")}\n`);
  // It refuses to run as root, and reads its file as the user that the server has.
  const { uid, gid } = statSync(server.dir);
  chmodSync(dir, 0o755);
  chownSync(file, uid, gid);
  const asUser =
    process.getuid?.() === 0 ? ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups"] : [];
  const child = Bun.spawn([...asUser, program ?? "", "-q", file], { stdout: "ignore", stderr: "ignore" });
  await waitFor(() => isListening(port), "pgbouncer");
  return {
    url: (database) => `postgres://sluice@127.0.0.1:${port}/${database}`,
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await child.exited;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function isListening(port: number): Promise<boolean> {
  try {
    const socket = await Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } });
    socket.end();
    return true;
  } catch {
    return false;
  }
}
