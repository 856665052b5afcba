import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { newId } from "../../base/id.ts";
import { Repeating } from "../../base/loop/repeating.ts";
import type { ConfigOnDisk, ReloadConsent } from "../../config/on-disk.ts";
import { replaceFile } from "./files-for-commands.ts";

export type ReloadAnswer = { readonly needsRestart: readonly string[] } | { readonly rejection: string };

const wantedFile = "reload-wanted";
const answerFile = "reload-answer";
const lookEveryMs = 250;
const noticedWithinMs = 3_000;
const answeredWithinMs = 60_000;

/**
 * Watches for reload requests. A user who can write to the data folder can request a reload, as with a signal, and gets
 * the result.
 */
export function serveReloadRequests(dir: string, configOnDisk: ConfigOnDisk): void {
  new Repeating().start(lookEveryMs, () => {
    const request = takeRequest(dir);
    if (request !== null) void answer(join(dir, answerFile), request, configOnDisk);
  });
}

interface ReloadRequest extends ReloadConsent {
  readonly id: string;
}

function takeRequest(dir: string): ReloadRequest | null {
  const file = join(dir, wantedFile);
  try {
    if (!existsSync(file)) return null;
    const text = readFileSync(file, "utf8");
    rmSync(file);
    // `requestReload` writes the file in one step.
    return JSON.parse(text) as ReloadRequest;
  } catch {
    // The file is being written or removed at this moment.
    return null;
  }
}

async function answer(
  file: string,
  { id, suspendsKeys }: ReloadRequest,
  configOnDisk: ConfigOnDisk,
): Promise<void> {
  const result: ReloadAnswer = await configOnDisk.reload({ suspendsKeys }).then(
    (needsRestart) => ({ needsRestart }),
    (error: unknown) => ({ rejection: error instanceof Error ? error.message : String(error) }),
  );
  replaceFile(file, JSON.stringify({ id, ...result }), 0o600);
}

/** Requests a reload from this folder's gateway; null if none is running. */
export async function requestReload(dir: string, consent: ReloadConsent): Promise<ReloadAnswer | null> {
  const [requestPath, answerPath] = [join(dir, wantedFile), join(dir, answerFile)];
  const id = newId("reload_");
  if (!existsSync(dir)) return null;
  replaceFile(requestPath, JSON.stringify({ id, ...consent }), 0o600);
  if (!(await eventually(() => !existsSync(requestPath), noticedWithinMs))) {
    rmSync(requestPath, { force: true });
    return null;
  }
  const hasAnswer = () => readAnswer(answerPath)?.id === id;
  const result = (await eventually(hasAnswer, answeredWithinMs)) ? readAnswer(answerPath) : null;
  rmSync(answerPath, { force: true });
  return result ?? { rejection: "the gateway did not respond within a minute; see its log" };
}

function readAnswer(file: string): (ReloadAnswer & { readonly id: string }) | null {
  try {
    // `answer` writes the file in one step.
    return JSON.parse(readFileSync(file, "utf8")) as ReloadAnswer & { readonly id: string };
  } catch {
    return null;
  }
}

async function eventually(condition: () => boolean, withinMs: number): Promise<boolean> {
  const untilMs = performance.now() + withinMs;
  while (performance.now() < untilMs) {
    if (condition()) return true;
    await Bun.sleep(50);
  }
  return condition();
}
