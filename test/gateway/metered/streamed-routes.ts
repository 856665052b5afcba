import type { JsonObject } from "../../../src/base/json.ts";

const model = (use: string, price: string) => `
[[models]]
id = "${use}-model"
provider = "local"
upstream_model = "upstream"
serves = ["${use}"]
price = ${price}
`;

/** The models that the streams are asked of, each called by what it serves. */
export const streamedModels = `
${model("completions", "{ input = 1.0, output = 2.0 }")}
${model("images", "{ images = 0.04 }")}
${model("speech", "{ input = 1.0, audio_output = 12.0 }")}
${model("transcriptions", "{ input = 1.0, audio_input = 6.0, output = 10.0 }")}
`;

export const event = (value: JsonObject) => `data: ${JSON.stringify(value)}\n\n`;
const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
const sound = { input_audio: { data: "A".repeat(160), format: "mp3" } };
const heard = [
  event({ type: "transcript.text.delta", delta: "hel" }),
  event({ type: "transcript.text.done", text: "hello", usage: { type: "tokens", ...usage } }),
];
const drawn = (name: string) => [
  event({ type: `image_${name}.partial_image`, b64_json: "AAAA", partial_image_index: 0 }),
  event({ type: `image_${name}.completed`, b64_json: "BBBB" }),
];
const written = (choice: JsonObject) => [
  event({ id: "1", choices: [{ index: 0, finish_reason: null, ...choice }] }),
  event({
    id: "1",
    choices: [{ index: 0, text: "", delta: {}, finish_reason: "stop" }],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
  }),
  "data: [DONE]\n\n",
];

/** Every route that streams: what is asked there, the events of the answer, and their cost in nano-credits. */
export const streamedRoutes: readonly (readonly [string, string, JsonObject, readonly string[], number])[] = [
  ["/v1/completions", "completions", { prompt: "a b c" }, written({ text: "go on" }), 7_000],
  [
    "/v1/fim/completions",
    "completions",
    { prompt: "a", suffix: "c" },
    written({ delta: { content: "b" } }),
    7_000,
  ],
  ["/v1/images/generations", "images", { prompt: "a lock" }, drawn("generation"), 40_000_000],
  [
    "/v1/images/edits",
    "images",
    { prompt: "a lock", images: [{ image_url: "https://images.test/a.png" }] },
    drawn("edit"),
    40_000_000,
  ],
  [
    "/v1/audio/speech",
    "speech",
    { input: "hello", voice: "alloy", stream_format: "sse" },
    [event({ type: "speech.audio.delta", audio: "AAAA" }), event({ type: "speech.audio.done", usage })],
    70_000,
  ],
  ["/v1/audio/transcriptions", "transcriptions", sound, heard, 110_000],
  ["/v1/audio/translations", "transcriptions", sound, heard, 110_000],
];
