import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { endSessionsOf } from "../../admin/auth/session-list.ts";
import type { ListedSession, Sessions } from "../../admin/auth/sessions.ts";
import { type ConfiguredModelView, listedModelViews } from "../../admin/models/model-views.ts";
import { newId } from "../../base/id.ts";
import { Repeating } from "../../base/loop/repeating.ts";
import type { ConfigOnDisk, ReloadConsent, ReloadResult } from "../../config/on-disk.ts";
import type { ModelSettings } from "../../config/settings.ts";
import { CommandError } from "../terminal/terminal.ts";
import { replaceFile } from "./files-for-commands.ts";

/** What commands ask of the gateway that runs on their data folder, and what it answers. */
interface Requests {
  readonly reload: { readonly asks: ReloadConsent; readonly answers: ReloadResult };
  /** `all`: also the models that lists leave out. */
  readonly listModels: {
    readonly asks: { readonly all: boolean };
    readonly answers: readonly ConfiguredModelView[];
  };
  readonly checkAlerts: { readonly asks: object; readonly answers: true };
  readonly listSessions: { readonly asks: object; readonly answers: readonly ListedSession[] };
  /** Answers how many sessions ended. */
  readonly endSessions: { readonly asks: { readonly person: string }; readonly answers: number };
}
type RequestName = keyof Requests;

type WrittenRequest = {
  readonly [Name in RequestName]: { readonly id: string; readonly name: Name } & Requests[Name]["asks"];
}[RequestName];

interface WrittenAnswer {
  readonly id: string;
  readonly result?: unknown;
  /** Why the gateway did not do it. */
  readonly rejection?: string;
}

/** The gateway did not do what it was asked. */
export class RequestRejected extends CommandError {}

export interface AskedGateway extends Pick<ConfigOnDisk, "reload"> {
  models(): readonly ModelSettings[];
  /** Resolves once the stored alerts are up to date. */
  checkAlerts(): Promise<void>;
  sessions(): Pick<Sessions, "list" | "endWhere"> | null;
}

const requestFile = "command-request";
const answerFile = "command-answer";
const lookEveryMs = 250;
const noticedWithinMs = 3_000;
const answeredWithinMs = 60_000;

/** Watches for requests of commands. A user who can write to the data folder can make them, and gets the answer. */
export function serveRequests(dir: string, gateway: AskedGateway): void {
  new Repeating().start(lookEveryMs, () => {
    const request = takeRequest(dir);
    if (request !== null) void answer(join(dir, answerFile), request, gateway);
  });
}

function takeRequest(dir: string): WrittenRequest | null {
  const file = join(dir, requestFile);
  try {
    if (!existsSync(file)) return null;
    const text = readFileSync(file, "utf8");
    rmSync(file);
    // `askGateway` writes the file in one step.
    return JSON.parse(text) as WrittenRequest;
  } catch {
    // The file is being written or removed at this moment.
    return null;
  }
}

async function answer(file: string, request: WrittenRequest, gateway: AskedGateway): Promise<void> {
  const { id } = request;
  const written: WrittenAnswer = await perform(request, gateway).then(
    (result) => ({ id, result }),
    (error: unknown) => ({ id, rejection: error instanceof Error ? error.message : String(error) }),
  );
  replaceFile(file, JSON.stringify(written), 0o600);
}

async function perform(request: WrittenRequest, gateway: AskedGateway): Promise<unknown> {
  switch (request.name) {
    case "reload":
      return gateway.reload({ suspendsKeys: request.suspendsKeys });
    case "listModels":
      return listedModelViews(gateway.models(), request.all);
    case "checkAlerts":
      await gateway.checkAlerts();
      return true;
    case "listSessions":
      return gateway.sessions()?.list() ?? [];
    case "endSessions": {
      const sessions = gateway.sessions();
      return sessions === null ? 0 : (await endSessionsOf(sessions, request.person)).length;
    }
  }
}

/** Asks this folder's gateway; null if none is running. Throws `RequestRejected` if it does not do it. */
export async function askGateway<Name extends RequestName>(
  dir: string,
  name: Name,
  asks: Requests[Name]["asks"],
): Promise<Requests[Name]["answers"] | null> {
  const [requestPath, answerPath] = [join(dir, requestFile), join(dir, answerFile)];
  const id = newId("ask_");
  if (!existsSync(dir)) return null;
  replaceFile(requestPath, JSON.stringify({ ...asks, id, name }), 0o600);
  if (!(await eventually(() => !existsSync(requestPath), noticedWithinMs))) {
    rmSync(requestPath, { force: true });
    return null;
  }
  const hasAnswer = () => readAnswer(answerPath)?.id === id;
  const written = (await eventually(hasAnswer, answeredWithinMs)) ? readAnswer(answerPath) : null;
  rmSync(answerPath, { force: true });
  if (written === null) throw new RequestRejected("the gateway did not respond within a minute; see its log");
  if (written.rejection !== undefined) throw new RequestRejected(written.rejection);
  // `perform` returns what the request of this name answers.
  return written.result as Requests[Name]["answers"];
}

function readAnswer(file: string): WrittenAnswer | null {
  try {
    // `answer` writes the file in one step.
    return JSON.parse(readFileSync(file, "utf8")) as WrittenAnswer;
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
