import { statfsSync } from "node:fs";
import { type GatewayStart, type RunningGateway, startGateway } from "../../app/start.ts";
import { systemClock } from "../../base/clock.ts";
import { size } from "../../base/text/size.ts";
import type { Settings } from "../../config/settings.ts";
import { openFolder } from "../open-store.ts";
import type { Style } from "../terminal/style.ts";
import type { Terminal } from "../terminal/terminal.ts";
import {
  createFirstKeys,
  type FirstKeys,
  firstKeysDocument,
  firstKeysText,
  noKeysText,
} from "./first-run.ts";
import { reachable } from "./reachable.ts";
import { type SecretOutput, showSecrets } from "./show-secrets.ts";

/**
 * Starts the gateway. The first keys are created once it listens: a start that fails must not leave keys behind, which
 * are shown only once.
 */
export async function startWithKeys(
  starting: GatewayStart,
  json: boolean,
  terminal: Terminal,
): Promise<RunningGateway> {
  const { settings } = starting;
  // Explains an unusable folder to the operator.
  if (settings.store === null) await (await openFolder(settings.server.data, terminal)).close();
  const running = await startGateway(starting);
  const firstKeys = await createKeys(running, settings);
  const output = { settings, json, terminal };
  if (running.trialEnded && !json) terminal.print(trialEndedText);
  if (firstKeys.issued.length > 0) {
    const text = keysText(firstKeys, reachable(running.url), output);
    // The keys of a trial can use only the demo, so anyone may read them.
    if (settings.isDemo) terminal.print(text);
    else showSecrets("first_keys", text, output);
  }
  if (!showAdminToken(running, output) && !json) {
    terminal.print(`the dashboard is at ${reachable(running.adminUrl)}/admin`);
  }
  if (firstKeys.hasNone && !json) terminal.print(noKeysText);
  if (!printProblem(running, json, terminal) && settings.store === null && !json) {
    warnIfDiskNearlyFull(settings.server.data, terminal);
  }
  return running;
}

/**
 * Printed here, because the keys and addresses above do not work until the problem is fixed. Returns whether there is
 * one.
 */
function printProblem(running: RunningGateway, json: boolean, terminal: Terminal): boolean {
  const problem = running.problem();
  if (problem === null) return false;
  const { reason, advice } = problem;
  const mark = terminal.style.bad("✗");
  if (json) terminal.print(JSON.stringify({ not_ready: { reason, advice } }));
  else terminal.print(`${mark} Every request gets 503 until this is fixed: ${reason} ${advice}\n`);
  return true;
}

/** Below this, the operator is warned. */
const lowDiskBytes = 64 * 1024 * 1024;

function warnIfDiskNearlyFull(folder: string, terminal: Terminal): void {
  const { bavail, bsize } = statfsSync(folder);
  if (bavail * bsize >= lowDiskBytes) return;
  const what = `The disk that holds ${folder} is nearly full (${size(bavail * bsize)} left). Free some space: once it is full, every request gets 503.`;
  terminal.print(`${terminal.style.warn("!")} ${what}\n`);
}

async function createKeys(running: RunningGateway, settings: Settings): Promise<FirstKeys> {
  const { store, gateway } = running;
  try {
    const firstKeys = await createFirstKeys({ store, clock: systemClock }, settings);
    await gateway.catchUp();
    return firstKeys;
  } catch (error) {
    await running.stop();
    throw error;
  }
}

function keysText({ issued }: FirstKeys, url: string, { settings, json, terminal }: SecretOutput): string {
  if (json) return JSON.stringify({ first_keys: firstKeysDocument(issued) });
  return firstKeysText(issued, { url, settings }, terminal.style);
}

const trialEndedText =
  "real providers are served now: the keys and the admin token of the trial are turned off";

/** Shows a token that was generated at this start. Only its hash is stored, so it is never shown again. False if there is none. */
export function showAdminToken(
  { generatedAdminToken: token, adminUrl }: RunningGateway,
  output: SecretOutput,
): boolean {
  if (token === null) return false;
  const { json, terminal } = output;
  showSecrets("admin_token", adminTokenText(token, reachable(adminUrl), json, terminal.style), output);
  return true;
}

function adminTokenText(token: string, url: string, json: boolean, style: Style): string {
  if (json) return JSON.stringify({ admin_token: token });
  return [
    `${style.good("✓")} The dashboard is at ${url}/admin. Save its token, it is not shown again:`,
    "",
    `  ${style.bold(token)}`,
    "",
    "  Set SLUICE_ADMIN_TOKEN to choose your own.",
    "",
  ].join("\n");
}
