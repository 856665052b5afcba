import { Type } from "@sinclair/typebox";
import { invalidRequest } from "../../../base/errors.ts";
import type { Json, JsonObject } from "../../../base/json.ts";
import { noUsage, type ReportedUsage } from "../../../base/usage/usage.ts";
import { objectOf } from "../../json/json-fields.ts";
import { parseResponse } from "../../provider-response/outline.ts";
import { anyObject, modelName, optional, streamFlag } from "../../schema/fields.ts";
import { inclusiveUsage, partBesideText, withUnreported } from "../../usage/reported-usage.ts";
import { DoneReader } from "../done-reader.ts";
import {
  type FormFile,
  type MeteredDemand,
  type MeteredFigures,
  type MeteredModel,
  type MeteredReading,
  type MeteredResponse,
  type MeteredRoute,
  openAiFormat,
  type PricedNames,
  type RequestedForm,
  type RouteBody,
} from "../route.ts";
import { soundElsewhere } from "./elsewhere.ts";
import { soundInJson, soundMember } from "./json-sound.ts";
import { isWav, maxSecondsOf, secondsOf } from "./sound.ts";

/** A form with a `file`; some clients send JSON with `input_audio` instead. */
const transcriptionRequest = Type.Object({
  model: modelName,
  response_format: optional(Type.String()),
  language: optional(Type.String()),
  prompt: optional(Type.String()),
  stream: optional(streamFlag),
  input_audio: optional(anyObject),
});

const transcriptionResponse = Type.Object({ text: Type.String() });

/** https://platform.openai.com/docs/pricing: an hour of audio has a few ten thousand tokens. */
const tokensPerSecond = 32;
/** A fast speaker's. */
const writtenPerSecond = 8;

/** Whether responses in a format report no usage, like `text`, `srt` and `vtt`. */
function isSilent(format: Json | undefined): boolean {
  return format != null && !String(format).endsWith("json");
}

function isByMinute(priced: PricedNames): boolean {
  return priced.has("audio_minutes");
}

function isInTokens(priced: PricedNames): boolean {
  return !isByMinute(priced) && !priced.has("requests");
}

/** Fields whose files are transcribed; others are ignored. */
const soundFields = ["file", soundMember];

function check(body: JsonObject, priced: PricedNames, files: readonly FormFile[]): void {
  const named = soundElsewhere(body);
  if (named !== null) {
    throw invalidRequest(`\`${named}\` is not supported. Send the audio as a form file.`, named);
  }
  if (!files.some(({ field }) => soundFields.includes(field))) {
    throw invalidRequest("`file` is missing. Send the audio as a form file.", "file");
  }
  const { response_format: format } = body;
  if (!isSilent(format) || !isInTokens(priced)) return;
  throw invalidRequest(
    `\`response_format: "${format}"\` reports no usage, and this model is billed by usage (\`price.audio_input\`). Use "json" or "verbose_json".`,
    "response_format",
  );
}

/** The reported usage: seconds or tokens, or `duration` of verbose_json. */
function figuresIn(answer: JsonObject, { priced, files }: RequestedForm): MeteredFigures {
  const usage = objectOf(answer["usage"]) ?? {};
  const seconds = numberIn(usage["seconds"]) ?? numberIn(answer["duration"]);
  if (priced.includes("audio_minutes")) return minutesOf(seconds, files);
  const { input_tokens: input, output_tokens: output } = usage;
  return tokensOf(inclusiveUsage(input, output), usage["input_token_details"], files);
}

/** Audio without reported tokens is counted by its length. All input is audio unless the provider reports its parts. */
function tokensOf(
  reported: ReportedUsage | null,
  details: Json | undefined,
  files: readonly FormFile[],
): MeteredFigures {
  const heard = Math.ceil(secondsOf(files) * tokensPerSecond);
  const usage = withUnreported(reported, { input: heard, output: 0 });
  const parts = usage.isInputDoubtful === true ? undefined : details;
  return { usage, extras: { audioInputTokens: partBesideText(usage.inputTokens, "audio_tokens", parts) } };
}

/** If the provider does not report the length, the file's own is used: exact for WAV, otherwise an estimate. */
function minutesOf(reported: number | null, files: readonly FormFile[]): MeteredFigures {
  const seconds = reported ?? secondsOf(files);
  const isExact = reported !== null || isWav(files);
  return {
    usage: isExact ? noUsage : { ...noUsage, isInputDoubtful: true },
    extras: { units: { audio_minutes: seconds / 60 } },
  };
}

/** The usage of a response that reports none. */
function unreported({ priced, files }: RequestedForm): MeteredFigures {
  return priced.includes("audio_minutes") ? minutesOf(null, files) : tokensOf(null, undefined, files);
}

/** Some servers write numbers as text. */
function numberIn(value: Json | undefined): number | null {
  const number = typeof value === "string" && value !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) && number >= 0 ? number : null;
}

function passTranscript(answer: MeteredResponse, requested: RequestedForm): MeteredReading {
  if (answer.contentType?.includes("json") !== true) {
    return { written: null, ...unreported(requested), produced: Buffer.from(answer.bytes).toString() };
  }
  const body = parseResponse(answer);
  const { text } = body;
  return {
    written: null,
    ...figuresIn(body, requested),
    ...(typeof text === "string" ? { produced: text } : {}),
  };
}

const sharedByBothRoutes = {
  switchedBy: "audio",
  use: "transcriptions",
  tracedAs: "transcription",
  requestSchema: transcriptionRequest,
  prices: ["audio_minutes", "audio_input", "input", "requests"],
  sidePrices: ["output"],
  takesForms: { numbers: [], texts: ["model", "response_format", "language", "prompt"] },
  returnsAnyType: true,
  outlivesClient: true,
  filesIn: soundInJson,
  check,
  streams: {
    createReader: (requested: RequestedForm) =>
      new DoneReader({
        done: ["transcript.text.done"],
        results: 1,
        read: (event) => figuresIn(event, requested),
        unfinished: () => unreported(requested),
      }),
  },
} as const satisfies Partial<MeteredRoute>;

function demandOf({ truncated }: RouteBody, { priced, files }: MeteredModel): MeteredDemand {
  const maxSeconds = maxSecondsOf(files);
  // What is not reported is charged by the file.
  const seconds = isSilent(truncated["response_format"]) ? secondsOf(files) : maxSeconds;
  const isTokens = isInTokens(priced);
  return {
    input: isTokens ? Math.ceil(seconds * tokensPerSecond) : 0,
    output: isTokens ? Math.ceil(seconds * writtenPerSecond) : 0,
    isInTokens: isTokens,
    canBeCounted: false,
    maxExtras: { units: { requests: 1, audio_minutes: seconds / 60 }, audioInputTokens: 1 },
    certain: { requests: 1 },
    // Providers round up to whole seconds.
    bounds: { audio_minutes: Math.ceil(maxSeconds) / 60 },
  };
}

/** The text of speech. https://platform.openai.com/docs/api-reference/audio/createTranscription */
export const transcriptions: MeteredRoute = {
  ...sharedByBothRoutes,
  paths: ["/v1/audio/transcriptions"],
  operation: {
    operationId: "createTranscription",
    summary: "Transcribe audio",
    request: "TranscriptionRequest",
    formFile: "file",
    response: "TranscriptionResponse",
    events: "`transcript.text.delta`, and `transcript.text.done` with the usage.",
    schemas: { TranscriptionRequest: transcriptionRequest, TranscriptionResponse: transcriptionResponse },
  },
  formats: { openai: { ...openAiFormat("audio/transcriptions", passTranscript), parsesWhole: true } },
  demand: demandOf,
};

/** Transcription into English. */
export const translations: MeteredRoute = {
  ...sharedByBothRoutes,
  paths: ["/v1/audio/translations"],
  operation: {
    operationId: "createTranslation",
    summary: "Translate audio to English",
    request: "TranscriptionRequest",
    formFile: "file",
    response: "TranscriptionResponse",
    schemas: { TranscriptionRequest: transcriptionRequest, TranscriptionResponse: transcriptionResponse },
  },
  formats: { openai: { ...openAiFormat("audio/translations", passTranscript), parsesWhole: true } },
  demand: demandOf,
};
