import { shared } from "../../base/bytes.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import { countOf } from "../../dialects/json/json-fields.ts";
import { type JsonSpans, scanTopLevel } from "../../dialects/json/json-spans.ts";
import { parseWhole } from "../../dialects/json/parse-body.ts";
import { type BodyChanges, patchBody } from "../../dialects/json/patch.ts";
import { clientDialect, providerDialect, type SharedDialectName } from "../../dialects/registry.ts";
import { type HostedTool, isAdvisor } from "../../dialects/tools/hosted-tools.ts";
import { pricedName } from "../../dialects/tools/tool-families.ts";
import type { Deployment } from "../../upstream/upstream.ts";
import { type AdaptedBody, adaptBytes, type BodyVendor } from "../../vendors/adapt-body.ts";
import { vendorOf } from "../../vendors/registry.ts";
import type { Job } from "../body-worker/job.ts";
import { heldCalls } from "../charge/requested-tools.ts";
import type { ClientRequest } from "../request/client-request.ts";
import { Attempt, type Generation, type PreparedAttempt } from "./generation.ts";

/* A request whose provider speaks the client's dialect: the client's own bytes, with the few changes that it needs. */

export async function passingAttempt(
  generation: Generation,
  deployment: Deployment,
  dialect: SharedDialectName,
  sendsSignatures: boolean,
): Promise<PreparedAttempt> {
  const { limit, headers, request, call } = generation;
  const { bytes, spans } = request;
  const plan = passingPlan(generation, deployment, dialect, sendsSignatures);
  const { body, dropped } = request.isLarge
    ? await call.gateway.largeBodies.runRequest(patchJob, { bytes, spans, plan }, call)
    : passBody(request, plan);
  const { kind, options } = deployment.provider.settings;
  const hidesUsage = askingForUsage(generation, deployment, dialect) !== null;
  request.forgetBody();
  const limited = limit.passthrough === undefined ? dropped : [...limit.passthrough.dropped, ...dropped];
  const leftOut = vendorOf(kind).droppedHeaders?.(dialect, headers, options) ?? [];
  const allDropped = leftOut.length === 0 ? limited : [...limited, ...leftOut];
  return { attempt: new Attempt(generation, deployment, dialect, allDropped, null, hidesUsage), body };
}

function passingPlan(
  generation: Generation,
  deployment: Deployment,
  dialect: SharedDialectName,
  sendsSignatures: boolean,
): PassingPlan {
  const kept = rejectsForeignReasoning(dialect, deployment) ? "foreign" : "none";
  return {
    dialect,
    stripped: sendsSignatures ? kept : "signed",
    changes: wantedChanges(generation, deployment, dialect),
    toolBounds: clientDialect(dialect).callLimit === "tool" ? boundsToSet(generation.request) : noBounds,
    vendor: generation.bodyVendorAt(deployment, dialect),
  };
}

/** Only vendors reject foreign reasoning. A compatible provider may be another Sluice, which reads envelopes itself. */
function rejectsForeignReasoning(dialect: SharedDialectName, { provider }: Deployment): boolean {
  return vendorOf(provider.settings.kind).strictDialects.includes(dialect);
}

function wantedChanges(
  generation: Generation,
  deployment: Deployment,
  dialect: SharedDialectName,
): BodyChanges {
  const { request, limit } = generation;
  const own = generation.changesAt(deployment);
  const limited = limit.passthrough === undefined ? own : { ...own, ...limit.passthrough.changes };
  const known = request.nullRemovals === null ? limited : { ...request.nullRemovals, ...limited };
  const { keeping } = generation.call.turn;
  const isStateless = keeping !== null && !keeping.isProviders;
  const changes = isStateless ? { ...known, ...stateless(generation, deployment, dialect) } : known;
  const isBounded = clientDialect(dialect).callLimit === "request" && request.tools.hosted.length > 0;
  const bounded = isBounded ? { ...changes, ...boundCalls(request) } : changes;
  const renamed = renaming(bounded, dialect, request, deployment);
  const asking =
    askingForUsage(generation, deployment, dialect) ?? withoutUsageOption(generation, deployment);
  return asking === null ? renamed : { ...renamed, ...asking };
}

const withoutPath: BodyChanges = { model: undefined, stream: undefined };

/** The provider's name for the model, or none where the path has it. */
function renaming(
  changes: BodyChanges,
  dialect: SharedDialectName,
  { modelId }: ClientRequest,
  { upstreamModel }: Deployment,
): BodyChanges {
  if (clientDialect(dialect).inPath !== undefined) return { ...changes, ...withoutPath };
  return upstreamModel === modelId ? changes : { ...changes, model: upstreamModel };
}

/** Asks the provider not to store what the gateway stores. */
function stateless({ request }: Generation, { model }: Deployment, dialect: SharedDialectName): BodyChanges {
  const mayReason = model.capabilities["reasoning"] !== false;
  return clientDialect(dialect).statelessChanges?.(request.truncated, mayReason) ?? {};
}

interface AskingRequest {
  readonly request: Pick<ClientRequest, "stream" | "truncated">;
}

/** Drops `stream_options` for a provider that rejects it and reports the usage of its streams anyway. */
export function withoutUsageOption({ request }: AskingRequest, { provider }: Deployment): BodyChanges | null {
  const isRefused = !provider.settings.streamUsage && request.truncated["stream_options"] !== undefined;
  return isRefused ? { stream_options: undefined } : null;
}

/** The change that makes a provider report a stream's usage; null if the client requests it itself. */
export function askingForUsage(
  { request }: AskingRequest,
  deployment: Deployment,
  dialect: SharedDialectName,
): BodyChanges | null {
  const { streamUsage } = deployment.provider.settings;
  const option = (streamUsage ? providerDialect(dialect).passthrough?.usageOption : null) ?? null;
  return option !== null && request.stream && !option.isSet(request.truncated)
    ? option.changes(request.truncated)
    : null;
}

/** The changes to a body that passes through. Plain data, so that another thread can apply them. */
interface PassingPlan {
  readonly dialect: SharedDialectName;
  /** Which reasoning is taken out. */
  readonly stripped: "none" | "foreign" | "signed";
  readonly changes: BodyChanges;
  /** Bounds of hosted tools to write into the list of tools. */
  readonly toolBounds: readonly ToolLimit[];
  readonly vendor: BodyVendor | null;
}

/** `body` is parsed only when it is read. */
interface PassingBody {
  readonly bytes: Uint8Array;
  readonly spans: JsonSpans;
  readonly body: JsonObject;
}

interface PatchInput extends Omit<PassingBody, "body"> {
  readonly plan: PassingPlan;
}

/** Prepares a large body that passes through. */
export const patchJob: Job<PatchInput, AdaptedBody<Uint8Array>> = {
  name: "patch",
  run({ bytes, spans, plan }) {
    const sent = {
      bytes,
      spans,
      get body() {
        return parseWhole(bytes);
      },
    };
    const { body, dropped } = passBody(sent, plan);
    return { body: shared(body), dropped };
  },
};

const noneDropped: readonly string[] = [];

/**
 * The client's own bytes, with only the necessary spans replaced. Two kinds of conversations are rewritten: one that
 * began on another provider, because vendors reject foreign reasoning, and one whose reasoning the provider cannot
 * read.
 */
function passBody(sent: PassingBody, plan: PassingPlan): AdaptedBody<Uint8Array> {
  const { dialect, stripped, toolBounds, vendor } = plan;
  const isBounded = toolBounds.length > 0;
  const changes = isBounded ? { ...plan.changes, ...limitToolUses(sent.body, toolBounds) } : plan.changes;
  const strip = stripperFor(dialect, stripped, sent.bytes);
  const body = strip === null ? null : sent.body;
  const without = strip === null || body === null ? body : strip(body);
  if (body === null || without === null || without === body) {
    return adaptBytes(patchBody(sent.bytes, sent.spans, changes), vendor, noneDropped);
  }
  const written = Buffer.from(JSON.stringify(without));
  const left = changesAfterStripping(body, without, changes);
  const dropped = [clientDialect(dialect).fieldNames.reasoning];
  return adaptBytes(patchBody(written, scanTopLevel(written), left), vendor, dropped);
}

/** What had to change together with the reasoning stays: where thinking was disabled, no budget enables it again. */
function changesAfterStripping(body: JsonObject, stripped: JsonObject, changes: BodyChanges): BodyChanges {
  return Object.fromEntries(Object.entries(changes).filter(([name]) => stripped[name] === body[name]));
}

/** Null if there is nothing to strip. */
function stripperFor(
  dialect: SharedDialectName,
  stripped: PassingPlan["stripped"],
  bytes: Uint8Array,
): ((body: JsonObject) => JsonObject) | null {
  const { mayHoldForeignReasoning, stripForeignReasoning, stripSignedReasoning } = clientDialect(dialect);
  if (stripped === "signed") return stripSignedReasoning;
  return stripped === "foreign" && mayHoldForeignReasoning(bytes) ? stripForeignReasoning : null;
}

/*
 * Bounds the calls of hosted tools at the provider by what is held for them, where the dialect has a field for it. Without that, a
 * request could cost many times its hold.
 */

type BoundedRequest = Pick<ClientRequest, "truncated" | "tools">;

const noChanges: BodyChanges = {};

/** One limit for all tools of a response. */
function boundCalls({ truncated, tools }: BoundedRequest): BodyChanges {
  const held = tools.hosted.reduce((sum, { maxUses }) => sum + heldCalls(maxUses), 0);
  const requestedMax = countOf(truncated["max_tool_calls"]);
  return requestedMax !== null && requestedMax <= held ? noChanges : { max_tool_calls: held };
}

/** The tool of a message at this index, and the calls that are held for it. */
interface ToolLimit {
  readonly index: number;
  readonly maxUses: number;
}

const noBounds: readonly ToolLimit[] = [];

/** The tools of a message that have another bound than is held for, or none. */
function boundsToSet(request: BoundedRequest): readonly ToolLimit[] {
  const { hosted } = request.tools;
  const list = hosted.length === 0 ? null : request.truncated["tools"];
  if (!Array.isArray(list)) return noBounds;
  return hosted.flatMap(({ path: [field, index], type, maxUses: requestedMax }) => {
    if (field !== "tools" || typeof index !== "number" || !takesMaxUses(type)) return [];
    const tool = list[index];
    const maxUses = heldCalls(requestedMax);
    return isObject(tool) && tool["max_uses"] !== maxUses ? [{ index, maxUses }] : [];
  });
}

/** The whole list of tools with these bounds: on another thread for a large body. */
function limitToolUses({ tools }: JsonObject, bounds: readonly ToolLimit[]): BodyChanges {
  if (!Array.isArray(tools)) return noChanges;
  const bounded = [...tools];
  for (const { index, maxUses } of bounds) {
    const tool = bounded[index];
    if (isObject(tool)) bounded[index] = { ...tool, max_uses: maxUses };
  }
  return { tools: bounded };
}

/** Whether a tool of Anthropic has the field. */
function takesMaxUses(type: HostedTool["type"]): boolean {
  const name = pricedName(type);
  return name === "web_search" || name === "web_fetch" || isAdvisor(type);
}
