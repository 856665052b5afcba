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
 * A route whose answer is metered. One frame (gateway/metered) admits, holds, asks, charges and answers for all of them; what is
 * a route's own is said here. All of it is functions of bodies, because large ones are read on another thread.
 */
export interface MeteredRoute {
  /** Below the origin. The first one is documented. */
  readonly paths: readonly [string, ...string[]];
  readonly operation: ClientOperation;
  readonly switchedBy: RouteSwitch;
  /** What a model has to serve. */
  readonly use: ModelUse;
  /** Its name in the GenAI conventions. */
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
  /** How a stream of it is read; absent if it never streams. A stream that a client leaves is charged for what was produced. */
  readonly streams?: MeteredStreams;
  /** Whether a request asks for a stream, if not by `stream`. */
  isStreamed?(body: JsonObject): boolean;
  /** The provider finishes and bills a started stream, so a disconnect does not cancel it. */
  readonly outlivesClient?: true;
  /** Responses can also be audio or plain text. */
  readonly returnsAnyType?: true;
  /** Responses of such types are relayed as they arrive. Their cost depends on the request alone. */
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
  /** How many inputs a body has that are answered one by one; null if it does not say. Absent if they are not. */
  countInputs?(body: JsonObject): number | null;
  /** The texts of the input, for a count of their tokens. Absent if the input is never counted. */
  texts?(body: JsonObject): readonly string[];
  /** The end of a response that Sluice writes, with the charged usage. */
  writeEnd?(usage: Usage): string;
}

/** What the fields of a form are. Others may be objects or lists, written as JSON. */
export interface FormFields {
  readonly numbers: readonly string[];
  readonly texts: readonly string[];
}

/** A file of a form, as far as it is looked at. */
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
  /** Streams only report their usage where `stream_options` asks for it. */
  readonly takesUsageOption?: true;
}

/** What a demand depends on besides the request. */
export interface MeteredModel {
  readonly priced: PricedNames;
  /** A cheap estimate of all texts of the request, in tokens. */
  readonly estimatedInput: number;
  /** A cheap estimate of one text, in tokens. */
  estimateText(text: string): number;
  readonly limits: PublishedLimits;
  /** The most tokens of one image; null if that is not known. */
  readonly imageTokensMax: number | null;
  readonly files: readonly FormFile[];
  /** The formats of all providers that can serve the request. */
  readonly formats: readonly MeteredFormat[];
}

/** A request's body, read as far as it is needed. */
export interface RouteBody {
  readonly bytes: Uint8Array;
  /** Without the rest of its long texts. */
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

/** What a request may use. */
export interface MeteredDemand {
  /** Tokens at most. */
  readonly input: number;
  readonly output: number;
  /** It is counted in tokens, which keys with a token budget pay. */
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

/** What a free route reserves: nothing. */
export const freeOfUnits: MeteredDemand = {
  input: 0,
  output: 0,
  isInTokens: false,
  canBeCounted: false,
  maxExtras: {},
  certain: {},
};

/** Above what any provider takes at once; as many are parsed in a few milliseconds. */
export const maxTokenIds = 400_000;

/** The deployment's model as a format sees it. */
export interface FormatTarget {
  readonly model: string;
  /** The model's own name, which its abilities follow from. */
  readonly name: string;
  readonly quirks: readonly Quirk[];
}

/** How one kind of provider is called. Either the client's body passes through with some members changed, or another is written. */
export interface MeteredFormat {
  /** Whose addresses, headers and errors the provider has. */
  readonly dialect: ProviderDialectName;
  /** The name of the request within the dialect's addresses. */
  method(target: FormatTarget): string;
  /** The most inputs of one call; absent if that is the provider's own affair. */
  maxInputs?(target: FormatTarget): number;
  /** It takes the ids of OpenAI's tokens. */
  readonly takesTokenIds?: true;
  /** Members to change besides `model`. */
  changes?(body: JsonObject, target: FormatTarget): MemberChanges | undefined;
  /** Writes a body of the provider's own kind. Dropped fields of the client's body are added to `dropped`. */
  write?(body: JsonObject, target: FormatTarget, dropped: Set<string>): JsonObject;
  /** Reads an answer that the client gets as it is; null if it has to be rewritten. */
  pass?(answer: MeteredResponse, requested: RequestedForm): MeteredReading | null;
  /** To pass one it is parsed whole, which takes long if it has many values; else only its outline is. */
  readonly parsesWhole?: true;
  /** Reads all responses, and writes the client's. Absent if responses always pass. Throws `upstream_error` for an invalid one. */
  read?(answers: readonly MeteredResponse[], requested: RequestedForm): MeteredReading;
}

/** A request of OpenAI's shape, whose answer passes. */
export function openAiFormat(method: string, pass: NonNullable<MeteredFormat["pass"]>): MeteredFormat {
  return { dialect: meteredDialect, method: () => method, pass };
}

/** A provider's answer to one call. */
export interface MeteredResponse {
  readonly bytes: Uint8Array;
  /** The tokens of input that some vendors report in a header; null without one. */
  readonly countedInput: number | null;
  /** Null if the provider has not said it. */
  readonly contentType: string | null;
  /** The number of inputs; null if unknown. */
  readonly inputs: number | null;
}

/** What the form of the client's answer depends on. Plain data. */
export interface RequestedForm {
  /** The id of the requested model. */
  readonly model: string;
  /** The client's body; its long texts may be missing. */
  readonly body: JsonObject;
  readonly files: readonly FormFile[];
  /** What the hold was made for. */
  readonly held: { readonly input: number; readonly output: number };
  /** The names of prices that it is charged by. */
  readonly priced: readonly string[];
}

export type MeteredFigures = Pick<MeteredReading, "usage" | "extras">;

/** An answer for the client, and what was used. */
export interface MeteredReading {
  /** The answer up to its usage; null if the client gets the provider's own bytes. */
  readonly written: string | null;
  /** Null if the provider has reported none. */
  readonly usage: ReportedUsage | null;
  readonly extras: ReportedExtras;
  /** What the model wrote, for a count where no usage was reported; absent if it writes nothing. */
  readonly produced?: string;
  /** How many answers were written for each that is shown, such as by `best_of`; 1 if absent. */
  readonly writtenTimes?: number;
}
