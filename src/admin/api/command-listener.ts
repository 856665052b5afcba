import { rmSync } from "node:fs";
import { startDeadline } from "../../base/loop/deadline.ts";
import { commandSocket, type GatewayHello, helloPath } from "../../base/system/command-socket.ts";
import type { Log } from "../../observe/log.ts";
import { json } from "../formats/admin-error.ts";
import type { LocalOperations } from "./local.ts";

export interface CommandListener {
  /** Takes no more calls, and finishes those that it has accepted. */
  close(): Promise<void>;
}

/** An audit of a long history takes minutes. Bun's types leave the option out for a socket, where it applies too. */
const unlimited = { idleTimeout: 0 } as object;

interface Listening {
  readonly dir: string;
  readonly hello: GatewayHello;
  readonly operations: LocalOperations;
  readonly log: Pick<Log, "warn" | "error">;
}

const lastConnectionsMs = 50;
/** How long an export to a slow reader can delay a stop. */
const lastCallsMs = 10_000;

/**
 * Serves commands on a socket in the data folder. Only the folder's owner and root can connect to it. Without the
 * socket, for example on a file system that has none, the gateway runs, and commands report that they cannot reach it.
 */
export function listenForCommands({ dir, hello, operations, log }: Listening): CommandListener {
  const path = commandSocket(dir);
  // This process has the folder's lock, so a socket that is there was left by one that has ended.
  rmSync(path, { force: true });
  const maskBefore = process.umask(0o177);
  try {
    const server = Bun.serve({
      unix: path,
      fetch: (request) => {
        if (new URL(request.url).pathname === helloPath) return Response.json(hello);
        return operations(request).catch((err: unknown) => {
          log.error({ err }, "a command failed");
          return json({ error: { code: "internal", message: "the gateway failed; see its log" } }, 500);
        });
      },
      ...unlimited,
    });
    return {
      async close() {
        rmSync(path, { force: true });
        // Calls on new connections are still performed: a client could not tell a dropped call from one that was performed.
        await Bun.sleep(lastConnectionsMs);
        const tooLate = Promise.withResolvers<void>();
        const cancel = startDeadline(lastCallsMs, tooLate.resolve);
        await Promise.race([server.stop(), tooLate.promise]);
        cancel();
        await server.stop(true);
      },
    };
  } catch (err) {
    log.warn({ err, path }, "commands cannot reach this gateway: its socket could not be opened");
    return { close: async () => {} };
  } finally {
    process.umask(maskBefore);
  }
}
