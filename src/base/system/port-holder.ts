import { readdirSync, readFileSync, readlinkSync } from "node:fs";

const listening = "0A";
const tables = ["/proc/net/tcp", "/proc/net/tcp6"];

/**
 * The process that listens on a port of this machine, such as `process 4711 (nginx)`. Null where the system does not say: it is not
 * Linux, or the process belongs to another user.
 */
export function portHolder(port: number): string | null {
  try {
    const sockets = new Set(tables.flatMap((table) => listeners(table, port)));
    if (sockets.size === 0) return null;
    const pid = readdirSync("/proc").find((name) => /^\d+$/.test(name) && holdsOne(name, sockets));
    return pid === undefined ? null : `process ${pid} (${readFileSync(`/proc/${pid}/comm`, "utf8").trim()})`;
  } catch {
    return null;
  }
}

/** The names of the sockets that listen on the port, as links to open files have them. */
function listeners(table: string, port: number): string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const rows = readFileSync(table, "utf8").split("\n").slice(1);
  return rows.flatMap((row) => {
    const [, local = "", , state, , , , , , inode = ""] = row.trim().split(/\s+/);
    return state === listening && local.endsWith(suffix) ? [`socket:[${inode}]`] : [];
  });
}

function holdsOne(pid: string, sockets: ReadonlySet<string>): boolean {
  try {
    const folder = `/proc/${pid}/fd`;
    return readdirSync(folder).some((file) => sockets.has(readlinkSync(`${folder}/${file}`)));
  } catch {
    // It has ended meanwhile, or belongs to another user.
    return false;
  }
}
