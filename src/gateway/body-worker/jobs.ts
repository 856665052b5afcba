import type { ErrorCode, VendorError } from "../../base/errors.ts";
import type { ReportedExtras, ReportedUsage, Usage } from "../../base/usage/usage.ts";
import type { Source } from "../../dialects/client-dialect.ts";
import type { JsonSpans } from "../../dialects/json/json-spans.ts";
import type { BodyChanges } from "../../dialects/json/patch.ts";
import type { ValuePath } from "../../dialects/json/remove-values.ts";
import type { MeteredRouteName } from "../../dialects/metered/registry.ts";
import type { MeteredAnswer, MeteredReading, RequestedForm } from "../../dialects/metered/route.ts";
import type { Mentions } from "../../dialects/names/inspect-body.ts";
import type { summaryRequest } from "../../dialects/openai-responses/client/compaction.ts";
import type { StreamedItems } from "../../dialects/openai-responses/client/streamed-items.ts";
import type { EndedResponse, ItemSpan, TurnItem } from "../../dialects/openai-responses/client/turn-items.ts";
import type { Target } from "../../dialects/provider-dialect.ts";
import type { ClientDialectName, ProviderDialectName } from "../../dialects/registry.ts";
import type { ParsedEvent } from "../../dialects/sse/sse.ts";
import type { OfferedTools } from "../../dialects/tools/hosted-tools.ts";
import type { SerializedToolMapping } from "../../dialects/translation/translation.ts";
import type { BodyVendor } from "../../vendors/adapt-body.ts";
import type { AnswerForm } from "../answer/read-answer.ts";
import type { PassingPlan } from "../attempt/pass-body.ts";
import type { ExpectedRequest, LargeBody } from "../request/request.ts";
import type { SocketFrame } from "../socket/create-frame.ts";

/**
 * Jobs for large bodies off the event loop. All plain data, because it crosses threads; the bytes are in shared memory
 * and are not copied.
 */
export type Job = RequestJob | ProviderJob;

/** What a client has sent. */
export type RequestJob = ReadJob | PatchJob | TranslateJob | FrameJob | ShownJob | SummaryJob;

/** What a provider has sent. */
export type ProviderJob = AnswerJob | ContinuedJob | EndedJob | MeteredJob | EventJob;

/** The key that a job belongs to, and whether its result is still needed. */
export interface JobOwner {
  readonly keyId: string;
  /** True once the result is not needed: the client disconnected, or the gateway ended the exchange. */
  readonly isOver: boolean;
}

/** Parses and validates the body. */
export interface ReadJob {
  readonly type: "read";
  readonly bytes: Uint8Array;
  readonly expected: ExpectedRequest;
  /** Whether idempotency needs the body's hash. */
  readonly wantsHash: boolean;
  /** What is taken out of the body first. */
  readonly without?: readonly ValuePath[];
}

/** The body with some members set, for a provider of the client's own dialect. */
export interface PatchJob {
  readonly type: "patch";
  readonly bytes: Uint8Array;
  readonly spans: JsonSpans;
  readonly plan: PassingPlan;
}

export interface TranslateJob {
  readonly type: "translate";
  readonly bytes: Uint8Array;
  readonly changes: BodyChanges;
  readonly client: ClientDialectName;
  readonly toward: ProviderDialectName;
  readonly source: Omit<Source, "dialect" | "body">;
  readonly target: Omit<Target, "dialect">;
  readonly vendor: BodyVendor | null;
}

/** Reads a frame of a WebSocket. */
export interface FrameJob {
  readonly type: "frame";
  readonly bytes: Uint8Array;
}

/** Writes items of a conversation as clients are shown them. */
export interface ShownJob {
  readonly type: "shown";
  readonly items: readonly TurnItem[];
}

/** Writes the request for a summary of a conversation. */
export interface SummaryJob {
  readonly type: "summary";
  readonly asked: Readonly<Parameters<typeof summaryRequest>>;
}

/** Reads a provider's whole answer, and translates it where the client speaks another dialect. */
export interface AnswerJob {
  readonly type: "answer";
  readonly bytes: Uint8Array;
  readonly form: AnswerForm;
  readonly context: AnswerContext;
  /** The usage that the client is shown in place of what the provider has reported. */
  readonly shown: Usage | null;
}

/** Writes the id of what it continues into a response. */
export interface ContinuedJob {
  readonly type: "continued";
  /** The whole answer, or what ends its stream. */
  readonly bytes: Uint8Array;
  readonly parentId: string;
}

/** Reads what is to be kept of a response. */
export interface EndedJob {
  readonly type: "ended";
  /** The whole answer, or what ends its stream. */
  readonly bytes: Uint8Array;
  /** The items that were streamed before that; null if there was no stream. */
  readonly streamed: Pick<StreamedItems, "events"> | null;
}

/** Reads the answers of a metered route, and writes the client's. */
export interface MeteredJob {
  readonly type: "metered";
  readonly route: MeteredRouteName;
  /** The format's name. */
  readonly format: string;
  readonly answers: readonly Omit<MeteredAnswer, "pieces">[];
  readonly asked: RequestedForm;
}

/** Parses a large event of a stream. */
export interface EventJob {
  readonly type: "event";
  /** Its data, or its bytes. */
  readonly source: string | Uint8Array;
}

/** What translating an answer needs to know of its request. */
export interface AnswerContext {
  readonly client: ClientDialectName;
  readonly toward: ProviderDialectName;
  readonly source: Omit<Source, "dialect">;
  readonly target: Omit<Target, "dialect">;
  /** Null if the provider speaks the client's dialect. */
  readonly toolMapping: SerializedToolMapping | null;
}

/** A `ClientRequest` as data. */
export interface ReadResult extends LargeBody {
  /** The body, without what was taken out. */
  readonly bytes: Uint8Array;
  readonly spans: JsonSpans;
  readonly mentions: Mentions;
  readonly tools: OfferedTools;
}

/** What a provider is sent. */
export interface PreparedResult {
  readonly body: Uint8Array;
  readonly dropped: readonly string[];
  /** The client's names of the answer's tools; null if nothing was translated. */
  readonly toolMapping: SerializedToolMapping | null;
}

/** A `WholeAnswer` as data. */
export interface AnswerResult {
  /** Null if the client gets the provider's own bytes. */
  readonly body: Uint8Array | null;
  readonly usage: ReportedUsage | null;
  readonly produced: string;
  readonly issued: readonly string[];
  readonly extras: ReportedExtras | null;
}

/** An `EndedResponse` as data. */
export interface EndedResult extends Omit<EndedResponse, "output"> {
  /** The bytes that `output` refers to. */
  readonly bytes: Uint8Array;
  readonly output: readonly ItemSpan[];
}

/** A `ReadMetered` as data. */
export interface MeteredResult extends Omit<MeteredReading, "written"> {
  readonly written: Uint8Array | null;
}

/** The result of each kind of job. */
interface Results {
  readonly read: ReadResult;
  readonly patch: PreparedResult;
  readonly translate: PreparedResult;
  readonly frame: SocketFrame;
  readonly shown: Uint8Array;
  readonly summary: Uint8Array;
  readonly answer: AnswerResult;
  readonly continued: Uint8Array;
  /** Null if there is no response that can be kept. */
  readonly ended: EndedResult | null;
  readonly metered: MeteredResult;
  readonly event: ParsedEvent;
}

export type ResultOf<J extends Job> = Results[J["type"]];
export type Result = ResultOf<Job>;

export interface JobMessage {
  readonly id: number;
  readonly job: Job;
}

/** An expected error crosses as its parts, an unexpected one as its stack. */
export type DoneMessage = { readonly id: number } & (
  | { readonly result: Result }
  | { readonly refusal: ExpectedError }
  | { readonly failure: string }
);

export interface ExpectedError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly param: string | undefined;
  readonly vendor: VendorError | undefined;
  /** The usage that the provider reports for a failed response; null for any other error. */
  readonly reported: { readonly usage: ReportedUsage | null; readonly extras: ReportedExtras } | null;
}
