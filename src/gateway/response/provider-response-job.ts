import { shared } from "../../base/bytes.ts";
import type { ReportedExtras, ReportedUsage, Usage } from "../../base/usage/usage.ts";
import { clientDialect, providerDialect } from "../../dialects/registry.ts";
import { translate, translationOfResponse } from "../../dialects/translation/translate.ts";
import type { Translation } from "../../dialects/translation/translation.ts";
import type { ResponseContext } from "../attempt/generation.ts";
import type { Job } from "../body-worker/job.ts";
import { type ResponseForm, readResponseBytes } from "./read-response.ts";

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
