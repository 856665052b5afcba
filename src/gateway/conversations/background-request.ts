import { type GatewayError, invalidRequest } from "../../base/errors.ts";
import { newId } from "../../base/id.ts";
import { inForeground } from "../../dialects/openai-responses/client/background.ts";
import type { AdmittedCall } from "../exchange/admitted-call.ts";
import { Origin } from "../exchange/origin.ts";
import { noSuchResponse } from "../references/provider-id-owners.ts";
import type { ClientRequest } from "../request/client-request.ts";
import type { ReadRequest, TurnPlan } from "../request/route.ts";
import type { BackgroundPlan, BackgroundRequest } from "../turns/backgrounds.ts";
import { keepsResponses } from "../turns/storage-settings.ts";
import { parentOf } from "./compaction.ts";

/** A background response that runs without its client: after its begin, or again because its first process has ended. */
export class BackgroundOrigin extends Origin {
  readonly plan: BackgroundPlan;

  constructor(plan: BackgroundPlan) {
    super();
    this.plan = plan;
  }
}

/** Null for a request in the foreground. Throws if its response could not be fetched later. */
export function backgroundIn({ exchange }: AdmittedCall, request: ClientRequest): BackgroundRequest | null {
  if (request.truncated["background"] !== true) return null;
  const { call, configured, taken } = exchange;
  const { settings } = configured;
  // It could not fetch the response, and after a restart nothing would bound what that spends.
  if (taken.playground !== null) throw rejected("is not supported in the playground. Remove it.");
  call.origin.rejectForm("background");
  if (!settings.routes.background) {
    throw rejected("is turned off here. Remove it and wait for the response, or use `stream: true`.");
  }
  if (!keepsResponses(settings)) {
    throw rejected("needs stored responses, and none are stored here. Remove it, or use `stream: true`.");
  }
  if (!request.mayStore) throw rejected("needs a stored response. Remove `store: false`.");
  const { origin } = call;
  const plan =
    origin instanceof BackgroundOrigin ? origin.plan : { id: newId("resp_"), isStreamed: request.stream };
  return { ...plan, sent: request.bytes };
}

/** The request that runs in the foreground. */
export function foregroundOf({ bytes, spans }: ClientRequest): readonly Uint8Array[] {
  return inForeground(bytes, spans);
}

/**
 * The turn is stored under the id that the client knows, so it cannot be stored verbatim. Throws if the gateway lacks a
 * part of it.
 */
export function inBackground(
  { turn, replay }: Pick<ReadRequest, "turn" | "replay">,
  request: ClientRequest,
  background: BackgroundRequest,
): TurnPlan {
  const { keeping } = turn;
  if (replay !== null) return { ...turn, background };
  if (keeping === null && parentOf(request.truncated) !== null) throw noSuchResponse();
  if (keeping === null || !keeping.isStored) {
    throw rejected("needs a conversation that is stored here. Send all items in `input`.");
  }
  return { ...turn, background, keeping: { ...keeping, request: undefined } };
}

function rejected(reason: string): GatewayError {
  return invalidRequest(`\`background: true\` ${reason}`, "background");
}
