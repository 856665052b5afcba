import type { TSchema } from "@sinclair/typebox";
import type { JsonObject } from "../../base/json.ts";
import type { ModelUse } from "../../base/models/model-uses.ts";
import type { Quantities } from "../../base/money/rates.ts";
import type { RouteSwitch } from "../../base/requests/route-switches.ts";
import type { ReportedExtras, ReportedUsage, Usage } from "../../base/usage/usage.ts";
import type { ClientOperation } from "../contract/client-dialect.ts";
import type { PublishedLimits } from "../contract/output-limit.ts";
import type { Quirk } from "../contract/quirks.ts";
import type { MemberChanges } from "../json/patch.ts";
import type { StreamReader } from "../provider-response/stream-reader.ts";
import type { ClientDialectName, ProviderDialectName } from "../registry.ts";

/** Metered routes are OpenAI's: what their requests have in common with generations is as in chat. */
export const meteredDialect = "chat";

/**
 * A route whose response is metered. gateway/metered admits, reserves, calls, charges and responds for all of them;
 * this has the parts that differ. All members are functions of bodies, because large bodies are read on another thread.
 */
export interface MeteredRoute {
  /** Paths below the origin. The first one is documented. None if it is a method in the paths of a dialect. */
  readonly paths: readonly string[];
  readonly inPath?: MethodInPath;
  readonly operation: ClientOperation;
  readonly switchedBy: RouteSwitch;
  /** The use that a model has to serve. */
  readonly use: ModelUse;
  /** The operation's name in the GenAI conventions. */
  readonly tracedAs: string;
  readonly requestSchema: TSchema;
  /** Set if inputs can be token ids: their maximum number, which the hold and the provider limit. */
  readonly maxTokenIds?: number;
  /** The names of prices that it can be charged by, each by itself; none if it is free. */
  readonly prices: readonly string[];
  /** Prices of parts that cost little: a model that has only these would give the rest away. */
  readonly sidePrices?: readonly string[];
  /** A request may name no model: the first one that serves the route is used then. */
  readonly modelIsOptional?: true;
  /** Fields that have a price, or none, in a generation, and a different meaning here. */
  readonly ownFields?: readonly string[];
  /** How providers are called, by the vendors' names for their formats. */
  readonly formats: Readonly<Record<string, MeteredFormat>>;
  /**
   * Reads a stream; absent if the route never streams. If a client disconnects from a stream, the produced part is
   * charged.
   */
  readonly streams?: MeteredStreams;
  /** Whether a request asks for a stream, if not by `stream`. */
  isStreamed?(body: JsonObject): boolean;
  /** The provider finishes and bills a started stream, so a disconnect does not cancel it. */
  readonly outlivesClient?: true;
  /** Responses can also be audio or plain text. */
  readonly returnsAnyType?: true;
  /** Responses of these types are relayed as they arrive. Their cost depends only on the request. */
  readonly relaysBytes?: true;
  /** Requests can be forms with files, with the fields of the schema. Absent if they are always JSON. */
  readonly takesForms?: FormFields;
  /** The files in a JSON request, which a form has as parts. */
  filesIn?(request: RouteBody): readonly FormFile[];
  /** Throws `invalid_request` for what the schema cannot express, or what cannot be charged. */
  check?(body: JsonObject, priced: PricedNames, files: readonly FormFile[]): void;
  /** Ids of tokens that have to become text, because one of the providers would take them for something else. */
  foreignTokens?(request: RouteBody, formats: readonly MeteredFormat[]): ForeignTokens | null;
  demand(request: RouteBody, model: MeteredModel): MeteredDemand;
  /** Bodies for several calls, each with no more inputs than one may have. Absent if a request is never split. */
  split?(body: JsonObject, maxInputs: number): readonly JsonObject[];
  /** Number of inputs of a body that are processed one by one; null if the body has no list. Absent if inputs are not processed separately. */
  countInputs?(body: JsonObject): number | null;
  /** The texts of the input, for a count of their tokens. Absent if the input is never counted. */
  texts?(body: JsonObject): readonly string[];
  /** The end of a response that Sluice writes, with the charged usage. */
  writeEnd?(usage: Usage): string;
}

/** A route for methods in the paths of a dialect, whose errors it has. */
export interface MethodInPath {
  readonly dialect: ClientDialectName;
  /** The body in the form of the route's schema, with what the path says. */
  addTo(body: Uint8Array, path: string): Uint8Array;
}

/** Types of a form's fields. Other fields can be objects or lists, written as JSON. */
export interface FormFields {
  readonly numbers: readonly string[];
  readonly texts: readonly string[];
}

/** A file of a form, with the parts of it that are inspected. */
export interface FormFile {
  readonly field: string;
  readonly bytes: number;
  /** The first bytes of it. */
  readonly start: Uint8Array;
  /** The last bytes; empty if the route does not need them. */
  readonly end: Uint8Array;
}

export interface MeteredStreams {
  /** The dialect whose events it has; absent if no dialect has such events. */
  readonly dialect?: ClientDialectName;
  createReader(requested: RequestedForm): StreamReader;
  /** Streams report their usage only if `stream_options` requests it. */
  readonly takesUsageOption?: true;
}

/** Facts besides the request that a demand depends on. */
export interface MeteredModel {
  readonly priced: PricedNames;
  /** A cheap estimate of all texts of the request, in tokens. */
  readonly estimatedInput: number;
  /** A cheap estimate of one text, in tokens. */
  estimateText(text: string): number;
  readonly limits: PublishedLimits;
  /** Maximum tokens of one image; null if unknown. */
  readonly imageTokensMax: number | null;
  readonly files: readonly FormFile[];
  /** The formats of all providers that can serve the request. */
  readonly formats: readonly MeteredFormat[];
}

/** A request's body, parsed as far as needed. */
export interface RouteBody {
  readonly bytes: Uint8Array;
  /** The body with long texts truncated. */
  readonly truncated: JsonObject;
  /** The whole body, parsed on first use. */
  readonly body: JsonObject;
}

/** The names in a model's price. Images are also listed by quality and size, and as `images.*` for all others, highest price first. */
export type PricedNames = ReadonlySet<string>;

export interface ForeignTokens {
  readonly ids: readonly (readonly number[])[];
  /** The body with texts in their place. */
  withTexts(texts: readonly string[]): JsonObject;
}

/** The maximum that a request can use. */
export interface MeteredDemand {
  /** Tokens at most. */
  readonly input: number;
  readonly output: number;
  /** Whether it is counted in tokens, so that token-budget keys can pay for it. */
  readonly isInTokens: boolean;
  /** The input is an estimate, and higher than the real count. */
  readonly canBeCounted: boolean;
  /** Upper bounds of what is counted in addition to tokens. */
  readonly maxExtras: ReportedExtras;
  /** Units known from the request alone, charged unless the provider reports others. */
  readonly certain: Quantities;
  /** The highest plausible figures of a provider, where the request limits them. */
  readonly bounds?: Quantities;
}

/** The demand of a free route: nothing. */
export const freeOfUnits: MeteredDemand = {
  input: 0,
  output: 0,
  isInTokens: false,
  canBeCounted: false,
  maxExtras: {},
  certain: {},
};

/** More than any provider accepts at once; this many are parsed in a few milliseconds. */
export const maxTokenIds = 400_000;

/** The deployment's model as a format sees it. */
export interface FormatTarget {
  readonly model: string;
  /** The model's own name, which its abilities follow from. */
  readonly name: string;
  readonly quirks: readonly Quirk[];
}

/**
 * How one kind of provider is called: the client's body passes through with some members changed, or a new body is
 * written.
 */
export interface MeteredFormat {
  /** The dialect whose URLs, headers and errors the provider uses. */
  readonly dialect: ProviderDialectName;
  /** The name of the request within the dialect's addresses. */
  method(target: FormatTarget): string;
  /** Maximum inputs of one call; absent if the provider limits them itself. */
  maxInputs?(target: FormatTarget): number;
  /** It accepts the ids of OpenAI's tokens. */
  readonly takesTokenIds?: true;
  /** Members to change besides `model`. */
  changes?(body: JsonObject, target: FormatTarget, dropped: Set<string>): MemberChanges | undefined;
  /** Writes a body of the provider's own kind. Dropped fields of the client's body are added to `dropped`. */
  write?(body: JsonObject, target: FormatTarget, dropped: Set<string>): JsonObject;
  /** Adds to a written body what Google's clients say of each text. Absent if the provider has no names for it. */
  addOptions?(written: JsonObject, options: readonly JsonObject[], drop: (name: string) => void): JsonObject;
  /** Reads a response that the client gets unchanged; null if it has to be rewritten. */
  pass?(answer: MeteredResponse, requested: RequestedForm): MeteredReading | null;
  /** Passing a response needs a full parse, which takes long if it has many values; else only an outline is parsed. */
  readonly parsesWhole?: true;
  /** Reads all responses, and writes the client's. Absent if responses always pass. Throws `upstream_error` for an invalid one. */
  read?(answers: readonly MeteredResponse[], requested: RequestedForm): MeteredReading;
}

/** A request of OpenAI's form, whose response passes through. */
export function openAiFormat(method: string, pass: NonNullable<MeteredFormat["pass"]>): MeteredFormat {
  return { dialect: meteredDialect, method: () => method, pass };
}

/** A provider's response to one call. */
export interface MeteredResponse {
  readonly bytes: Uint8Array;
  /** The tokens of input that some vendors report in a header; null without one. */
  readonly countedInput: number | null;
  /** Null if the provider does not report it. */
  readonly contentType: string | null;
  /** The number of inputs; null if unknown. */
  readonly inputs: number | null;
}

/** The requested form of the client's response. Plain data. */
export interface RequestedForm {
  /** The id of the requested model. */
  readonly model: string;
  /** The client's body; its long texts may be missing. */
  readonly body: JsonObject;
  readonly files: readonly FormFile[];
  /** The amounts that the hold was created for. */
  readonly held: { readonly input: number; readonly output: number };
  /** The names of the prices that can charge the request. */
  readonly priced: readonly string[];
  /** Writes vectors in another form than OpenAI's. */
  writeVectors?(vectors: readonly (readonly number[] | string)[]): string;
}

export type MeteredFigures = Pick<MeteredReading, "usage" | "extras">;

/** A response for the client, and the usage. */
export interface MeteredReading {
  /** The response up to its usage; null if the client gets the provider's own bytes. */
  readonly written: string | null;
  /** Null if the provider has reported none. */
  readonly usage: ReportedUsage | null;
  readonly extras: ReportedExtras;
  /** Text that the model wrote, to be counted if no usage was reported; absent if it writes none. */
  readonly produced?: string;
  /** Number of choices generated for each one returned, e.g. by `best_of`; 1 if absent. */
  readonly writtenTimes?: number;
}
