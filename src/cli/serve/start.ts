import { type RunningGateway, startGateway } from "../../app.ts";
import { systemClock } from "../../base/clock.ts";
import type { Settings } from "../../config/settings.ts";
import { openDatabase, openFolder } from "../open-store.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { adminTokenText, dashboardText } from "./admin-token.ts";
import { takeBallast } from "./ballast.ts";
import { type FirstKeys, firstKeysDocument, firstKeysText, makeFirstKeys, noKeysText } from "./first-run.ts";
import { showSecrets } from "./show-secrets.ts";

/**
 * Starts the gateway. The first keys are created before it listens, so that they work at once. They are shown even
 * if it then cannot listen, since they are never shown again.
 */
export async function startWithKeys(
  settings: Settings,
  json: boolean,
  terminal: Terminal,
): Promise<RunningGateway> {
  takeBallast();
  const firstKeys = await prepareKeys(settings, terminal);
  const telling = { settings, json, terminal };
  const tellKeys = (url: string | null) => {
    if (firstKeys.issued.length > 0) showSecrets("first_keys", keysText(firstKeys, url, telling), telling);
  };
  let running: RunningGateway;
  try {
    running = await startGateway({ settings });
  } catch (error) {
    tellKeys(null);
    throw error;
  }
  const url = reachable(running.url);
  const adminUrl = reachable(running.adminUrl);
  tellKeys(url);
  if (running.generatedAdminToken !== null) {
    showSecrets(
      "admin_token",
      adminTokenText(running.generatedAdminToken, adminUrl, json, terminal.style),
      telling,
    );
  } else if (!json) {
    terminal.print(dashboardText(adminUrl));
  }
  if (firstKeys.hasNone && !json) terminal.print(noKeysText);
  return running;
}

async function prepareKeys(settings: Settings, terminal: Terminal): Promise<FirstKeys> {
  const { server, store: database, isDemo } = settings;
  const store =
    database === null
      ? await openFolder(server.dataDir, terminal)
      : await openDatabase(database, { migrates: true });
  try {
    return await makeFirstKeys({ store, clock: systemClock }, isDemo);
  } finally {
    await store.close();
  }
}

interface SecretOutput {
  readonly settings: Settings;
  readonly json: boolean;
  readonly terminal: Terminal;
}

function keysText(
  { issued }: FirstKeys,
  url: string | null,
  { settings, json, terminal }: SecretOutput,
): string {
  if (json) return JSON.stringify({ first_keys: firstKeysDocument(issued) });
  return firstKeysText(issued, url === null ? null : { url, models: settings.models }, terminal.style);
}

/** A client cannot call a wildcard address. */
function reachable(url: string): string {
  return url.replace(/^http:\/\/(0\.0\.0\.0|\[::\])(?=:)/, "http://127.0.0.1");
}
