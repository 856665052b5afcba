import { shared } from "../../base/bytes.ts";
import type { ReportedExtras, ReportedUsage, Usage } from "../../base/usage/usage.ts";
import { clientDialect, providerDialect } from "../../dialects/registry.ts";
import { translate, translationOfAnswer } from "../../dialects/translation/translate.ts";
import type { Translation } from "../../dialects/translation/translation.ts";
import type { AnswerContext } from "../attempt/attempt.ts";
import type { Job } from "../body-worker/job.ts";
import { type AnswerForm, readAnswerBytes } from "./read-response.ts";

interface AnswerInput {
  readonly bytes: Uint8Array;
  readonly form: AnswerForm;
  readonly context: AnswerContext;
  /** The usage that the client is shown in place of what the provider has reported. */
  readonly shown: Usage | null;
}

/** A `ProviderResponse` as data. */
interface AnswerResult {
  /** Null if the client gets the provider's own bytes. */
  readonly body: Uint8Array | null;
  readonly usage: ReportedUsage | null;
  readonly produced: string;
  readonly issued: readonly string[];
  readonly extras: ReportedExtras | null;
}

/** Reads a provider's whole answer, and translates it where the client speaks another dialect. */
export const answerJob: Job<AnswerInput, AnswerResult> = { name: "answer", run: readAnswer };

function readAnswer({ bytes, form, context, shown }: AnswerInput): AnswerResult {
  const read = readAnswerBytes(bytes, form, { reread: () => translationFor(context) });
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

function translationFor({ client, toward, toolMapping, ...context }: AnswerContext): Translation {
  const source = { ...context.source, dialect: clientDialect(client) };
  const target = { ...context.target, dialect: providerDialect(toward) };
  return toolMapping === null
    ? translate(source, target)
    : translationOfAnswer(source, target, toolMapping, []);
}
