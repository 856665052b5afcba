import type { Command } from "commander";
import { isObject, type Json } from "../../base/json.ts";
import { abortAfter } from "../../base/loop/deadline.ts";
import type { ServerSettings } from "../../config/settings.ts";
import { host, port } from "../arguments.ts";
import { type ConfigOptions, newConfigCommand } from "../help.ts";
import { CommandError, printDone, type Terminal } from "../terminal/terminal.ts";

interface Options extends ConfigOptions {
  readonly host?: string;
  readonly port?: number;
}

const timeoutMs = 2000;

/** For container health checks, in images that have neither a shell nor curl. */
export function healthCommand(terminal: Terminal): Command {
  return newConfigCommand("health", "Check whether a running gateway is ready")
    .option("--host <host>", "where it listens (SLUICE_HOST; default: 127.0.0.1)", host)
    .option("--port <port>", "the port (SLUICE_PORT; default: 8787)", port)
    .examples(["sluice health && echo ready", "exit 0 if it accepts requests, else 1"])
    .action(async (options: Options) => {
      const { loadSettings } = await import("../../config/load.ts");
      const { config, json, ...flags } = options;
      const { settings } = loadSettings({ file: config, env: terminal.env, cwd: terminal.cwd, flags });
      const url = addressOf(settings.server);
      await expectReady(url);
      printDone(json, { status: "ready", url }, `${url} is ready`, terminal);
    });
}

/** A wildcard address cannot be called. */
function addressOf({ host, port: number }: ServerSettings): string {
  const own = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http://${own.includes(":") ? `[${own}]` : own}:${number}`;
}

async function expectReady(url: string): Promise<void> {
  let response: Response;
  try {
    // Bun would use a proxy from the environment for 127.0.0.1 too.
    const session = new Bun.FetchSession({ proxy: false });
    response = await fetch(`${url}/readyz`, { signal: abortAfter(timeoutMs), session });
  } catch {
    throw new CommandError(`no response from ${url}`);
  }
  if (response.ok) return;
  throw new CommandError(`${url} is running, but not accepting requests: ${await reasonOf(response)}`);
}

/** The reason from `/readyz`. A proxy may have responded instead. */
async function reasonOf(response: Response): Promise<string> {
  const body = (await response.json().catch(() => null)) as Json;
  const reason = isObject(body) ? body["reason"] : null;
  return typeof reason === "string" ? reason : `status ${response.status}`;
}
