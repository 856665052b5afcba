import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import type { ReportedExtras, ReportedUsage, Usage } from "../../base/usage/usage.ts";
import type { Passthrough } from "../../dialects/contract/provider-dialect.ts";
import { malformedResponse } from "../../dialects/errors/failure.ts";
import { parseResponse } from "../../dialects/provider-response/outline.ts";
import { writtenText } from "../../dialects/provider-response/produced.ts";
import type { EndedIds } from "../../dialects/provider-response/stream-reader.ts";
import { type ProviderDialectName, providerDialect } from "../../dialects/registry.ts";
import type { TranslatedResponse, Translation } from "../../dialects/translation/translation.ts";

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
  const produced = translator.meter.takeProduced();
  return {
    body,
    usage: translator.meter.usage,
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
