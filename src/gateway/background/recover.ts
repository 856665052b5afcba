import { type ErrorCode, errorKinds, GatewayError } from "../../base/errors.ts";
import { backgroundStatus } from "../../dialects/openai-responses/client/background.ts";
import type { StoredBackground } from "../../store/store.ts";
import { BackgroundOrigin } from "../conversations/background-request.ts";
import type { Route } from "../exchange/client-call.ts";
import type { Gateway } from "../exchange/gateway.ts";
import { openBody } from "../turns/turn-body.ts";
import { BackgroundRun, interrupted } from "./background-run.ts";
import { DetachedCall, readCall } from "./detached-call.ts";

/** Maximum number of times that a response is started whose process crashes. */
const maxRuns = 3;
/** First and longest pause before a temporarily rejected request is tried again. */
const [firstPauseMs, maxPauseMs] = [1000, 30_000];

/** Serves requests again. */
export interface Serving {
  readonly gateway: Gateway;
  routeAt(path: string): Route | null;
  respond(call: DetachedCall): Promise<Response>;
}

/**
 * Takes over responses that no process runs: those that no provider has started run again, the others end with the
 * known output. Their output is charged by then.
 */
export async function recoverBackgrounds(serving: Serving): Promise<void> {
  const { backgrounds } = serving.gateway;
  for (const found of await backgrounds.adopt()) await takeUp(serving, found);
}

async function takeUp(serving: Serving, found: StoredBackground): Promise<void> {
  const { gateway } = serving;
  const { backgrounds, turns, configured } = gateway;
  const { id, keyId, isStreamed } = found;
  const { background } = backgrounds.store;
  const turn = await turns.find({ keyId, settings: configured.settings, reserve: () => {} }, id);
  if (turn === null) return background.delete(keyId, id);
  const isSettled = backgroundStatus(turn.head)?.isOpen !== true;
  const mayRun = !isSettled && !found.isCancelled && found.state === "queued" && found.runs <= maxRuns;
  const call = mayRun ? await callOf(serving, found) : null;
  const events = await background.countEvents(id);
  const run = new BackgroundRun({ gateway, keyId, plan: { id, isStreamed }, call, queued: turn, events });
  backgrounds.add(run);
  if (call !== null) {
    void rerun(serving, run, call, found.createdAtMs).catch(backgrounds.onError);
    return;
  }
  if (isSettled) return run.settled(turn);
  if (found.isCancelled) return run.finish("cancelled");
  run.fail(interrupted());
  await run.finish("failed");
}

/** Null if it cannot be read any more, or its route is off. */
async function callOf(
  { gateway, routeAt }: Serving,
  { id, keyId, isStreamed }: StoredBackground,
): Promise<DetachedCall | null> {
  const { backgrounds, configured } = gateway;
  const stored = await backgrounds.store.background.readCall(id);
  const bytes = stored && (await openBody(id, stored, configured.settings.responses.encryptionKey));
  if (bytes === null) return null;
  const { call, body } = readCall(bytes);
  const route = routeAt(call.path);
  return (
    route && new DetachedCall({ route, call, body, keyId, origin: new BackgroundOrigin({ id, isStreamed }) })
  );
}

/** Repeats the request until it gets further than its first run, or is permanently rejected. */
async function rerun(
  { gateway, respond }: Serving,
  run: BackgroundRun,
  call: DetachedCall,
  createdAtMs: number,
): Promise<void> {
  const { backgrounds, clock, configured, ongoing } = gateway;
  const untilMs = createdAtMs + configured.settings.responses.backgroundTimeoutMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
    const response = await respond(call);
    if (response.status === 200) return run.end(response);
    if (call.isCancelled) return run.finish("cancelled");
    if (ongoing.isDraining) return backgrounds.remove(run.keyId, run.id);
    const isBusy = response.status === 429 || response.status === 503;
    if (!isBusy || clock.wallMs() > untilMs) {
      run.fail(await rejectionIn(response));
      return run.finish("failed");
    }
    await Bun.sleep(pauseMs);
  }
}

async function rejectionIn(response: Response): Promise<GatewayError> {
  const { error } = (await response.json()) as { error: { code: string; message: string } };
  const code = Object.hasOwn(errorKinds, error.code) ? (error.code as ErrorCode) : "internal_error";
  return new GatewayError(code, error.message);
}
