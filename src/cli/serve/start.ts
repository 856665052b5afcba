import { type RunningGateway, startGateway } from "../../app.ts";
import { systemClock } from "../../base/clock.ts";
import type { Settings } from "../../config/settings.ts";
import type { IssuedKey } from "../../keys/issue.ts";
import { openStore } from "../open-store.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { adminTokenText } from "./admin-token.ts";
import { takeBallast } from "./ballast.ts";
import { firstKeysText, makeFirstKeys } from "./first-run.ts";

/**
 * Starts the gateway, with the first keys in its store before it opens, so that they work from its first
 * moment. They are told even if it then cannot listen: nobody will ever see them again.
 */
export async function startWithKeys(
  settings: Settings,
  json: boolean,
  terminal: Terminal,
): Promise<RunningGateway> {
  takeBallast();
  const firstKeys = await prepareKeys(settings.server.dataDir, terminal);
  const tell = (url: string | null) => {
    if (firstKeys.length > 0) terminal.print(keysText(firstKeys, settings, url, json, terminal));
  };
  try {
    const running = await startGateway({ settings });
    tell(reachable(running.url));
    if (running.madeAdminToken !== null) {
      terminal.print(adminTokenText(running.madeAdminToken, reachable(running.url), json, terminal.style));
    }
    return running;
  } catch (error) {
    tell(null);
    throw error;
  }
}

async function prepareKeys(dir: string, terminal: Terminal): Promise<readonly IssuedKey[]> {
  const store = await openStore(dir, terminal);
  try {
    return await makeFirstKeys({ store, clock: systemClock });
  } finally {
    await store.close();
  }
}

function keysText(
  issued: readonly IssuedKey[],
  { models }: Settings,
  url: string | null,
  json: boolean,
  { style }: Terminal,
): string {
  if (!json) return firstKeysText(issued, url === null ? null : { url, models }, style);
  const keys = issued.map(({ key, secret }) => ({
    id: key.id,
    key: secret,
    prefix: key.prefix,
    mode: key.mode,
  }));
  return JSON.stringify({ first_keys: keys });
}

/** An address that means "all of mine" is nothing a client can call. */
function reachable(url: string): string {
  return url.replace(/^http:\/\/(0\.0\.0\.0|\[::\])(?=:)/, "http://127.0.0.1");
}
