import { shared } from "../../base/bytes.ts";
import type { JsonObject } from "../../base/json.ts";
import { type JsonSpans, scanTopLevel } from "../../dialects/json/json-spans.ts";
import { parseWhole } from "../../dialects/json/parse-body.ts";
import { type BodyChanges, patchBody } from "../../dialects/json/patch.ts";
import { clientDialect, type SharedDialectName } from "../../dialects/registry.ts";
import { type AdaptedBody, adaptBytes, type BodyVendor } from "../../vendors/adapt-body.ts";
import type { Job } from "../body-worker/job.ts";
import { limitToolUses, type ToolLimit } from "./limit-tool-uses.ts";

/** The changes to a body that passes through. Plain data, so that another thread can apply them. */
export interface PassingPlan {
  readonly dialect: SharedDialectName;
  /** Which reasoning is taken out. */
  readonly stripped: "none" | "foreign" | "signed";
  readonly changes: BodyChanges;
  /** Bounds of hosted tools to write into the list of tools. */
  readonly toolBounds: readonly ToolLimit[];
  readonly vendor: BodyVendor | null;
}

/** `body` is parsed only when it is read. */
export interface PassingBody {
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

const nothing: readonly string[] = [];

/**
 * The client's own bytes, with only the necessary spans replaced. Two kinds of conversations are rewritten: one that
 * began on another provider, because vendors reject foreign reasoning, and one whose reasoning the provider cannot
 * read.
 */
export function passBody(sent: PassingBody, plan: PassingPlan): AdaptedBody<Uint8Array> {
  const { dialect, stripped, toolBounds, vendor } = plan;
  const isBounded = toolBounds.length > 0;
  const changes = isBounded ? { ...plan.changes, ...limitToolUses(sent.body, toolBounds) } : plan.changes;
  const strip = stripperFor(dialect, stripped, sent.bytes);
  const body = strip === null ? null : sent.body;
  const without = strip === null || body === null ? body : strip(body);
  if (body === null || without === null || without === body) {
    return adaptBytes(patchBody(sent.bytes, sent.spans, changes), vendor, nothing);
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
