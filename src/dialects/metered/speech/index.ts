import { Type } from "@sinclair/typebox";
import { invalidRequest } from "../../../base/errors.ts";
import type { Json, JsonObject } from "../../../base/json.ts";
import { noUsage } from "../../../base/usage/usage.ts";
import { objectOf } from "../../json/json-fields.ts";
import { modelName, optional, stringOrObject } from "../../schema/fields.ts";
import { inclusiveUsage, withUnreported } from "../../usage/reported-usage.ts";
import { DoneReader } from "../done-reader.ts";
import {
  type MeteredFigures,
  type MeteredRoute,
  openAiFormat,
  type PricedNames,
  type RequestedForm,
} from "../route.ts";
import { countCharacters } from "../texts.ts";

const speechRequest = Type.Object({
  model: modelName,
  input: Type.String(),
  voice: stringOrObject,
  response_format: optional(Type.String()),
  speed: optional(Type.Number()),
  instructions: optional(Type.String()),
  stream_format: optional(Type.Union([Type.Literal("audio"), Type.Literal("sse")])),
});

/** Maximum audio tokens of speech per character of text. */
const tokensPerCharacter = 4;

/** Tokens of OpenAI's audio: 0.015 USD per minute, at 12 USD per million. */
const tokensPerSecond = 21;
const usualBytesPerSecond = 16_000;
/** 24,000 samples of two bytes. */
const rawBytesPerSecond = 48_000;
const rawSound: ReadonlySet<Json | undefined> = new Set(["pcm", "wav"]);

function isInTokens(priced: PricedNames): boolean {
  return !priced.has("characters") && !priced.has("requests");
}

/** Speech for a text: sound, or events that end with its usage. https://platform.openai.com/docs/api-reference/audio/createSpeech */
export const speech: MeteredRoute = {
  paths: ["/v1/audio/speech"],
  operation: {
    operationId: "createSpeech",
    summary: "Create speech",
    request: "SpeechRequest",
    response: "Speech",
    responseType: "audio/*",
    events: "`speech.audio.delta`, and `speech.audio.done` with the usage.",
    schemas: { SpeechRequest: speechRequest, Speech: Type.String({ description: "The audio." }) },
  },
  switchedBy: "audio",
  use: "speech",
  tracedAs: "speech",
  requestSchema: speechRequest,
  prices: ["characters", "audio_output", "requests"],
  ownFields: ["speed"],
  outlivesClient: true,
  returnsAnyType: true,
  relaysBytes: true,
  check(body, priced) {
    checkInput(body);
    if (!isInTokens(priced) || body["stream_format"] === "sse") return;
    throw invalidRequest(
      'Audio responses report no usage, and this model has no `price.characters`. Send `stream_format: "sse"`: its last event reports usage.',
      "stream_format",
    );
  },
  isStreamed: ({ stream_format: format }) => format === "sse",
  streams: {
    createReader: (requested) =>
      new DoneReader({
        done: ["speech.audio.done"],
        results: 1,
        read: (event) => usageOf(objectOf(event["usage"]) ?? {}, requested),
        unfinished: (_, bytes) => usageOf({}, { ...requested, held: heldFor(bytes, requested) }),
      }),
  },
  formats: {
    openai: openAiFormat("audio/speech", (_, requested) => ({ written: null, ...usageOf({}, requested) })),
  },
  demand(request, { priced, estimatedInput }) {
    const characters = countCharacters(request, () => [String(request.body["input"])]);
    const certain = { requests: 1, characters };
    const counted = isInTokens(priced);
    return {
      input: counted ? estimatedInput : 0,
      output: counted ? characters * tokensPerCharacter : 0,
      isInTokens: counted,
      canBeCounted: false,
      maxExtras: { units: certain, audioOutputTokens: 1 },
      certain,
    };
  },
};

/** Names by which some servers take the text, in place of an empty `input` or of any. */
const otherTexts = /^(?:texts?|inputs|ssml|messages|prompt)$/i;

/** Only the characters of `input` are charged. */
function checkInput(body: JsonObject): void {
  const other = Object.keys(body).find((name) => otherTexts.test(name) && body[name] != null);
  if (other !== undefined) {
    throw invalidRequest(`\`${other}\` is not supported for speech. Send the text as \`input\`.`, other);
  }
  if (String(body["input"]).trim() === "")
    throw invalidRequest("`input` is empty. Send the text to speak.", "input");
}

/** The tokens of this many bytes of a stream, at most the held amount. Its audio is base64. */
function heldFor(bytes: number, { held, body }: RequestedForm): RequestedForm["held"] {
  const perSecond = rawSound.has(body["response_format"]) ? rawBytesPerSecond : usualBytesPerSecond;
  const seconds = (bytes * 0.75) / perSecond;
  return { input: held.input, output: Math.min(held.output, Math.ceil(seconds * tokensPerSecond)) };
}

/** Speech that is charged in tokens, and reports none, costs what it was held for. */
function usageOf(
  { input_tokens: input, output_tokens: output }: JsonObject,
  { held, priced }: RequestedForm,
): MeteredFigures {
  if (!isInTokens(new Set(priced))) return { usage: noUsage, extras: {} };
  const usage = withUnreported(inclusiveUsage(input, output), held);
  return { usage, extras: { audioOutputTokens: usage.outputTokens } };
}
