import { shared } from "../../base/bytes.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import type { ReportedExtras, ReportedUsage, Usage } from "../../base/usage/usage.ts";
import type { Passthrough } from "../../dialects/contract/provider-dialect.ts";
import { malformedResponse } from "../../dialects/errors/failure.ts";
import { parseResponse } from "../../dialects/provider-response/outline.ts";
import { writtenText } from "../../dialects/provider-response/produced.ts";
import type { EndedIds } from "../../dialects/provider-response/stream-reader.ts";
import { clientDialect, type ProviderDialectName, providerDialect } from "../../dialects/registry.ts";
import { translate, translationOfResponse } from "../../dialects/translation/translate.ts";
import type { TranslatedResponse, Translation } from "../../dialects/translation/translation.ts";
import type { ResponseContext } from "../attempt/generation.ts";
import type { Job } from "../body-worker/job.ts";

/** A provider's non-streaming response in the client's form. */
export interface ProviderResponse {
  readonly body: Uint8Array | string;
  readonly usage: ReportedUsage | null;
  /** The text produced, for a local count; only used if the provider reported no usage. */
  produced(): string;
  /** Ids of the provider's objects that the client learns. A translated response has its own ids. */
  readonly issued: readonly string[];
  /** The ids in a response that can be stored unchanged; null or absent if it has to be read again for that. */
  readonly endedIds?: EndedIds | null | undefined;
  /** Usage that the provider reports in addition to tokens. */
  readonly extras: ReportedExtras | null;
  /** Returns this response with a different usage for the client. Absent if the provider's bytes pass through. */
  showing?(usage: Usage): ProviderResponse | Promise<ProviderResponse>;
}

/** A response that was read on this thread. */
interface ReadResponse extends ProviderResponse {
  showing?(usage: Usage): ProviderResponse;
}

/** How to read a non-streaming response. Plain data, because large responses are read on another thread. */
export interface ResponseForm {
  readonly dialect: ProviderDialectName;
  /** The client speaks another dialect. */
  readonly isTranslated: boolean;
  /** The client requested a stream, and the provider does not stream. */
  readonly asStream: boolean;
  /** The provider was asked to store the response. */
  readonly isStored: boolean;
}

const nothingIssued: readonly string[] = [];

/** Creates the translation of a response, if its bytes cannot pass through. */
interface Reader {
  reread(): Translation;
}

/** Throws a GatewayError if the bytes are not a response. */
export function readResponseBytes(bytes: Uint8Array, form: ResponseForm, reader: Reader): ReadResponse {
  const body = parseResponse({ bytes });
  const dialect = providerDialect(form.dialect);
  if (form.asStream) return writtenAsStream(body, form, reader.reread(), null);
  const extras = dialect.readExtras(body);
  const { passthrough } = dialect;
  if (form.isTranslated || passthrough === null) return translated(reader.reread().response(body), extras);
  rejectOtherBodies(body, passthrough);
  return {
    body: bytes,
    usage: dialect.usageIn(body),
    produced: () => writtenText(passthrough.output(body)),
    issued: passthrough.issuedIds(body, form.isStored),
    endedIds: passthrough.endedIds?.(body),
    extras,
  };
}

function writtenAsStream(
  answer: JsonObject,
  form: ResponseForm,
  translation: Translation,
  shown: Usage | null,
): ReadResponse {
  const translator = translation.stream();
  const begin = translator.pushWhole(answer);
  if (shown !== null) translator.showUsage(shown);
  const body = begin + translator.terminal();
  const produced = translator.found.takeProduced();
  return {
    body,
    usage: translator.found.usage,
    produced: () => produced,
    issued: nothingIssued,
    extras: providerDialect(form.dialect).readExtras(answer),
    showing: (usage) => writtenAsStream(answer, form, translation, usage),
  };
}

export function translated(response: TranslatedResponse, extras: ReportedExtras | null): ReadResponse {
  const { body, usage, produced } = response;
  return {
    body: JSON.stringify(body),
    usage,
    produced: () => produced,
    issued: nothingIssued,
    extras,
    // Keep the provider's usage: what the client is shown may differ from it.
    showing: (shown) => ({ ...translated(response.showing(shown), extras), usage }),
  };
}

/**
 * Rejects an error with status 200, and any other body that is not a response; a translation does so by itself. Only
 * errors of large responses reach this point.
 */
function rejectOtherBodies(body: JsonObject, { output, failureIn }: Passthrough): void {
  const failure = failureIn(body);
  if (failure !== null) throw failure;
  const content = output(body);
  if (!Array.isArray(content)) throw malformedResponse("it has no content");
  if (content.length > 0 && content.every(isBlank)) throw malformedResponse("its content is null");
}

function isBlank(part: Json): boolean {
  if (!isObject(part)) return true;
  for (const name in part) if (part[name] !== null) return false;
  return true;
}

interface ResponseInput {
  readonly bytes: Uint8Array;
  readonly form: ResponseForm;
  readonly context: ResponseContext;
  /** The usage that the client is shown in place of what the provider has reported. */
  readonly shown: Usage | null;
}

/** A `ProviderResponse` as data. */
interface ResponseResult {
  /** Null if the client gets the provider's own bytes. */
  readonly body: Uint8Array | null;
  readonly usage: ReportedUsage | null;
  readonly produced: string;
  readonly issued: readonly string[];
  readonly extras: ReportedExtras | null;
}

/** Reads a provider's non-streaming response, and translates it if the client speaks another dialect. */
export const responseJob: Job<ResponseInput, ResponseResult> = { name: "answer", run: readAnswer };

function readAnswer({ bytes, form, context, shown }: ResponseInput): ResponseResult {
  const read = readResponseBytes(bytes, form, { reread: () => translationFor(context) });
  const whole = shown === null ? read : (read.showing?.(shown) ?? read);
  const { body, usage, issued, extras } = whole;
  return {
    body: typeof body === "string" ? shared(Buffer.from(body)) : null,
    usage,
    produced: whole.produced(),
    issued,
    extras,
  };
}

function translationFor({ client, toward, toolMapping, ...context }: ResponseContext): Translation {
  const source = { ...context.source, dialect: clientDialect(client) };
  const target = { ...context.target, dialect: providerDialect(toward) };
  return toolMapping === null
    ? translate(source, target)
    : translationOfResponse(source, target, toolMapping, []);
}
