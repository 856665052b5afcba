import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/base/json.ts";
import { type Caller, World } from "../world.ts";

/** What a provider might use, and is counted nowhere. */

const model = (use: string, price: string) => `
[[models]]
id = "${use}-model"
provider = "openai"
upstream_model = "upstream"
serves = ["${use}"]
price = ${price}
`;

const tail = `
${model("images", '{ images = { "high/1024x1024" = 0.167, "*" = 0.04 } }')}
${model("speech", "{ characters = 15.0 }")}
${model("transcriptions", "{ audio_minutes = 0.006 }")}
`;

let world: World;
let caller: Caller;
beforeAll(async () => {
  world = await World.start({ tail });
  caller = await world.creditCaller(100);
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

const draw = (body: JsonObject) =>
  world.ask(caller, {
    path: "/v1/images/generations",
    body: { model: "images-model", prompt: "x", ...body },
  });
const say = (body: JsonObject) =>
  world.ask(caller, {
    path: "/v1/audio/speech",
    body: { model: "speech-model", input: "x", voice: "alloy", ...body },
  });

function send(path: string, fields: Readonly<Record<string, string>>, file: string) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  form.append(file, new File(["content"], "a.bin"));
  const headers = { authorization: `Bearer ${caller.secret}` };
  return fetch(`${world.running.url}${path}`, { method: "POST", headers, body: form });
}

const hear = (fields: Readonly<Record<string, string>>) =>
  send("/v1/audio/transcriptions", { model: "transcriptions-model", ...fields }, "file");

async function expectRefusal(response: Response, status: number, param: string): Promise<void> {
  expect([response.status, (await response.json()) as object]).toMatchObject([status, { error: { param } }]);
  expect(world.provider.requests).toHaveLength(0);
}

test.each([
  ["extra_body", '{"quality":"high"}', "extra_body.quality"],
  ["extra_body", '{"Quality":"high"}', "extra_body.Quality"],
  ["extra_body", "quality=high", "extra_body"],
  ["extra_body[quality]", "high", "extra_body[quality]"],
  ["svg", ' {"model":"another"}', "svg.model"],
  ["tools", '[{"type":"web_search"}]', "tools[0]"],
  ["vendor_options", '{"plugins":[{"id":"web"}]}', "vendor_options.plugins"],
])("objects that a form has as text are checked as in JSON: %s %s", async (name, value, param) => {
  const fields = { model: "images-model", prompt: '{"a":"prompt"}', [name]: value };
  await expectRefusal(await send("/v1/images/edits", fields, "image"), 400, param);
});

test("an earlier image that the key was not given is not found", async () => {
  await expectRefusal(await draw({ previous_image_id: "img_123" }), 404, "previous_image_id");
  await expectRefusal(await draw({ Previous_Image_Id: "img_123" }), 400, "Previous_Image_Id");
});

test.each<[JsonObject, string]>([
  [{ input: "" }, "input"],
  [{ input: " \n" }, "input"],
  [{ input: "", text: "all that is to be said" }, "text"],
  [{ text: "all that is to be said" }, "text"],
  [{ SSML: "<speak>all that is to be said</speak>" }, "SSML"],
  [{ inputs: ["all that is to be said"] }, "inputs"],
  [{ messages: [{ role: "user", content: "all that is to be said" }] }, "messages"],
])("speech has its text in `input`, where it is counted: %j", async (body, param) => {
  await expectRefusal(await say(body), 400, param);
});

test("a voice that the key was not given is not found", async () => {
  await expectRefusal(await say({ voice: { id: "voice_123" } }), 404, "voice.id");
  await expectRefusal(await say({ voice: "voice_123" }), 404, "voice");
  await expectRefusal(await say({ Voice: { id: "voice_123" } }), 400, "Voice");
});

test.each(["url", "file_url", "Url", "AUDIO_URL", "audio_url", "source_uri", "audio_urls[]", "File"])(
  "a transcription has its sound with it: another by %s would be heard, and not be paid",
  async (name) => {
    await expectRefusal(await hear({ [name]: "https://example.org/long.mp3" }), 400, name);
  },
);

test.each<[JsonObject, string]>([
  [{ input_audio: { data: "AAAA", url: "https://example.org/long.mp3" } }, "input_audio.url"],
  [{ input_audio: { audio_url: { url: "data:audio/mpeg;base64,AAAA" } } }, "input_audio.audio_url"],
  [{ sources: [{ Uri: "https://example.org/long.mp3" }] }, "sources[0].Uri"],
])("a transcription has no other sound within a field: %j", async (fields, param) => {
  const asText = Object.entries(fields).map(([name, value]) => [name, JSON.stringify(value)] as const);
  await expectRefusal(await hear(Object.fromEntries(asText)), 400, param);
  const body = { model: "transcriptions-model", input_audio: { data: "AAAA" }, ...fields };
  await expectRefusal(await world.ask(caller, { path: "/v1/audio/transcriptions", body }), 400, param);
});
