import { afterAll, afterEach, beforeAll, expect, spyOn, test } from "bun:test";
import { readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { join } from "node:path";
import { GatewayError } from "../../../src/base/errors.ts";
import { shuttingDown } from "../../../src/base/requests/gateway-endings.ts";
import { meteredRoute } from "../../../src/dialects/metered/registry.ts";
import { BodyBudget } from "../../../src/limits/body-budget.ts";
import { json } from "../../support/answers.ts";
import { newFolder } from "../../support/new-folder.ts";
import { waitFor } from "../../support/wait.ts";
import { type Caller, World } from "../world.ts";

const tail = `
[[models]]
id = "hear"
provider = "openai"
upstream_model = "audio-upstream"
serves = ["transcriptions"]
price = { audio_minutes = 0.006 }
`;

let world: World;
/** No other test stores forms here. */
const folder = newFolder();
const { TMPDIR } = process.env;
beforeAll(async () => {
  process.env["TMPDIR"] = folder;
  world = await World.start({ head: "[server]\nmax_concurrent_per_key = 1\n", tail });
});
afterEach(() => world.provider.reset());
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  process.env["TMPDIR"] = TMPDIR;
  if (TMPDIR === undefined) delete process.env["TMPDIR"];
  rmSync(folder, { recursive: true, force: true });
});

/** The files that are open, and have no path. */
function spooled(): readonly string[] {
  const links = readdirSync("/proc/self/fd").map((name) => linkOf(`/proc/self/fd/${name}`));
  return links.filter((link) => link.startsWith(join(folder, "sluice-form-")) && link.endsWith(" (deleted)"));
}

/** One may be closed meanwhile. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

const head =
  '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nhear\r\n' +
  '--b\r\ncontent-disposition: form-data; name="file"; filename="a.mp3"\r\n\r\n';
const end = "\r\n--b--\r\n";

/** A form whose file goes on until it is let go. */
function unfinished(): { readonly body: ReadableStream; readonly finish: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const body = new ReadableStream({
    async start(controller) {
      controller.enqueue(Buffer.from(head + "x".repeat(50_000)));
      await promise;
      controller.enqueue(Buffer.from(end));
      controller.close();
    },
  });
  return { body, finish: resolve };
}

function hear(
  secret: string,
  body: ReadableStream | string | Uint8Array<ArrayBuffer>,
  headers = {},
): Promise<Response> {
  return fetch(`${world.running.url}/v1/audio/transcriptions`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${secret}`,
      "content-type": "multipart/form-data; boundary=b",
      ...headers,
    },
    body,
  });
}

const codeOf = async (response: Response) =>
  ((await response.json()) as { error: { code: string } }).error.code;

test("a form is refused before a byte of it is on disk, to whoever is not known or has nothing left", async () => {
  const before = spooled();
  const broke = await world.creditCaller(0);
  for (const [secret, status, code] of [
    ["slu_unknown", 401, "invalid_credentials"],
    [broke.secret, 402, "insufficient_credit"],
  ] as const) {
    const { body, finish } = unfinished();
    const response = await hear(secret, body);
    expect(response.status).toBe(status);
    expect(await codeOf(response)).toBe(code);
    expect(spooled()).toEqual(before);
    finish();
  }
  expect(world.gateway.accounts.openHolds).toBe(0);
});

test("a form is taken from a key that has nothing left while it may use a model that costs nothing", async () => {
  const free = tail.replace('"hear"', '"hear-free"').replace(/price = .*/, "free = true");
  await world.reload((config) => config + free);
  world.provider.script(json({ text: "hello" }));
  const { secret } = await world.creditCaller(0);
  const response = await hear(secret, `${head}sound${end}`.replace("hear", "hear-free"));
  await world.reload((config) => config);
  expect(response.status).toBe(200);
});

/** One that is being read. */
async function begun(caller: Caller) {
  const before = spooled().length;
  const { body, finish } = unfinished();
  const answer = hear(caller.secret, body);
  await waitFor(() => spooled().length > before, "the form to be on disk");
  return { answer, finish };
}

test("a key has a place before it has disk, and gives both back", async () => {
  const caller = await world.creditCaller(1);
  const before = spooled();
  world.provider.script(json({ text: "hello", usage: { type: "duration", seconds: 1 } }));
  const { answer, finish } = await begun(caller);
  const second = unfinished();
  expect((await hear(caller.secret, second.body)).status).toBe(503);
  second.finish();
  expect(spooled()).toHaveLength(before.length + 1);
  finish();
  expect((await answer).status).toBe(200);
  await waitFor(() => spooled().length === before.length, "the file to be gone");
  await world.settled();
  expect(world.gateway.forms.takenBytes).toBe(0);
});

test("all forms together take no more disk than there is for them", async () => {
  const { forms } = world.gateway;
  Object.assign(world.gateway, {
    forms: new BodyBudget({ totalBytes: () => 80_000, largestBytes: () => 70_000 }),
  });
  const [one, other] = [await world.creditCaller(1), await world.creditCaller(1)];
  world.provider.script(json({ text: "hello", usage: { type: "duration", seconds: 1 } }));
  const { answer, finish } = await begun(one);
  await waitFor(() => world.gateway.forms.takenBytes >= 50_000, "the first form to be read");
  const refused = await hear(other.secret, head + "x".repeat(50_000) + end);
  expect(refused.status).toBe(503);
  expect(await codeOf(refused)).toBe("service_unavailable");
  finish();
  expect((await answer).status).toBe(200);
  await world.settled();
  expect((await hear(other.secret, head + "x".repeat(50_000) + end)).status).toBe(200);
  await world.settled();
  Object.assign(world.gateway, { forms });
});

test("more forms than can be passed on at once are refused, whoever sends them, until one has ended", async () => {
  const { formSlots } = world.gateway;
  Object.assign(world.gateway, {
    formSlots: new BodyBudget({ totalBytes: () => 1, largestBytes: () => 1 }),
  });
  const [one, other] = [await world.creditCaller(1), await world.creditCaller(1)];
  world.provider.script(json({ text: "hello", usage: { type: "duration", seconds: 1 } }));
  const { answer, finish } = await begun(one);
  const refused = await hear(other.secret, `${head}sound${end}`);
  expect([refused.status, await codeOf(refused)]).toEqual([503, "service_unavailable"]);
  finish();
  expect((await answer).status).toBe(200);
  await world.settled();
  expect((await hear(other.secret, `${head}sound${end}`)).status).toBe(200);
  await world.settled();
  Object.assign(world.gateway, { formSlots });
});

test("a form that is being read has no file that a crash would leave behind", async () => {
  const caller = await world.creditCaller(1);
  world.provider.script(json({ text: "hello", usage: { type: "duration", seconds: 1 } }));
  const { answer, finish } = await begun(caller);
  expect(readdirSync(folder).filter((name) => name.includes("form"))).toEqual([]);
  finish();
  expect((await answer).status).toBe(200);
  expect(world.provider.requests[0]?.text).toContain("x".repeat(50_000));
});

test("a shutdown ends a form that is being read with 503, and the client may try again elsewhere", async () => {
  const caller = await world.creditCaller(1);
  const before = spooled();
  const { answer, finish } = await begun(caller);
  world.gateway.ongoing.interruptAll(new GatewayError("service_unavailable", shuttingDown));
  const response = await answer;
  expect(response.status).toBe(503);
  expect(response.headers.has("retry-after")).toBe(true);
  expect(await codeOf(response)).toBe("service_unavailable");
  finish();
  expect(world.gateway.ongoing.isEmpty).toBe(true);
  expect(spooled()).toEqual(before);
  expect(world.gateway.forms.takenBytes).toBe(0);
  expect(world.provider.requests).toHaveLength(0);
});

/** Sends a part in addition to the audio, and returns the error. */
async function refused(disposition: string) {
  const caller = await world.creditCaller(1);
  const part = `--b\r\ncontent-disposition: form-data; ${disposition}\r\n\r\nother\r\n`;
  const response = await hear(caller.secret, `${part}${head}x${end}`);
  const { error } = (await response.json()) as { error: { code: string; param: string | null } };
  expect(world.provider.requests).toHaveLength(0);
  return [response.status, error.code, error.param];
}

test.each(["model", "Model", "model[]", "response_format", "stream", "provider"])(
  "a file under the name of the field %s is refused: servers may read it as that",
  async (name) => {
    for (const fileName of ["", "a.txt"]) {
      const answer = await refused(`name="${name}"; filename="${fileName}"`);
      expect(answer).toEqual([400, "invalid_request", name]);
    }
  },
);

test.each(["", '--b\r\ncontent-disposition: form-data; name="file"\r\n\r\nhttps://example.org/long.mp3\r\n'])(
  "a file under another name is not what is heard, and not what is paid for (%p)",
  async (address) => {
    const caller = await world.creditCaller(1);
    const form = `${address}${head.replace('name="file"', 'name="decoy"')}x${end}`;
    const response = await hear(caller.secret, form);
    const { error } = (await response.json()) as { error: { code: string; param: string } };
    expect([response.status, error.code, error.param]).toEqual([400, "invalid_request", "file"]);
    expect(world.provider.requests).toHaveLength(0);
  },
);

test.each([
  ["nothing", '; filename=""', 'filename="file"'],
  ["other than ASCII", "; filename*=utf-8''na%C3%AFve.mp3", 'filename="na%C3%AFve.mp3"'],
  ["both", "; filename=\"naive.mp3\"; filename*=utf-8''na%C3%AFve.mp3", 'filename="naive.mp3"'],
])("a file whose name is %s is sent as a file", async (_, named, sent) => {
  const caller = await world.creditCaller(1);
  world.provider.script(json({ text: "hello", usage: { type: "duration", seconds: 1 } }));
  const form = `${head.replace('; filename="a.mp3"', named)}SOUND${end}`;
  expect((await hear(caller.secret, form)).status).toBe(200);
  expect(world.provider.requests[0]?.text).toContain(`name="file"; ${sent}`);
});

/** As servers may read the disposition of a part: some honour `\\"`, and some split it at every semicolon. */
test.each(['filename="; name=quality; y="', 'filename="\\"; name=quality; y=\\""', 'filename="C:\\a\\"'])(
  "nothing in the name of a file is a parameter of its own (%s)",
  async (named) => {
    const caller = await world.creditCaller(1);
    world.provider.script(json({ text: "hello", usage: { type: "duration", seconds: 1 } }));
    const form = `${head.replace('filename="a.mp3"', named)}SOUND${end}`;
    expect((await hear(caller.secret, form)).status).toBe(200);
    expect(world.provider.requests[0]?.text).toMatch(/; name="file"; filename="[^"\\;]+"\r\n/);
  },
);

test.each([
  "x\\",
  '"x\\"y"',
  'x"y',
  '"x; name=quality"',
  '"=?utf-8?q?quality?="',
  '"%71uality"',
  '"x\u2028"',
  '" quality"',
  "\"'quality'\"",
])("a part is refused whose name servers may read as another one (%s)", async (name) => {
  for (const fileName of ["", '; filename="; name=quality; y="']) {
    expect(await refused(`name=${name}${fileName}`)).toEqual([400, "invalid_request", null]);
  }
});

test("a key that has spent all gets its answer again for the same form", async () => {
  const caller = await world.creditCaller(0.0001);
  const form = `${head}x${end}`;
  world.provider.script(json({ text: "hello", usage: { type: "duration", seconds: 1 } }));
  const headers = { "idempotency-key": "heard" };
  expect((await hear(caller.secret, form, headers)).status).toBe(200);
  expect((await hear(caller.secret, form)).status).toBe(402);
  expect((await hear(caller.secret, form, headers)).headers.get("idempotent-replayed")).toBe("true");
});

test("another form under the same idempotency key is a conflict, whatever its parts are like", async () => {
  const caller = await world.creditCaller(1);
  world.provider.script(json({ text: "hi", usage: { type: "duration", seconds: 3 } }));
  const ask = (key: string, ...parts: readonly string[]) => {
    const sent = ['name="model"\r\n\r\nhear', ...parts].map(
      (part) => `--b\r\ncontent-disposition: form-data; ${part}\r\n`,
    );
    return hear(caller.secret, `${sent.join("")}--b--\r\n`, { "idempotency-key": key });
  };
  const sound = 'name="file"; filename="a"\r\n\r\nSOUND';
  const file = 'name="more"; filename="a b"\r\ncontent-type: audio/mpeg\r\n\r\nSOUND';
  expect((await ask("one", sound, file)).status).toBe(200);
  expect((await ask("one", sound, file)).headers.get("idempotent-replayed")).toBe("true");
  for (const other of [
    file.replace("mpeg", "wav"),
    file.replace('"more"; filename="a b"', '"more a"; filename="b"'),
    file.replace("SOUND", "NOISE"),
  ]) {
    expect((await ask("one", sound, other)).status).toBe(409);
  }
  expect(world.provider.requests).toHaveLength(1);
});

test("a part's head is of whole lines: servers that end one earlier would hear another file", async () => {
  const caller = await world.creditCaller(1);
  const type = "content-type: audio/wav\n\nRIFF";
  const form = `${head.slice(0, -2)}${type}\r\n\r\nx${end}`;
  const response = await hear(caller.secret, form);
  expect(response.status).toBe(400);
  expect(await codeOf(response)).toBe("invalid_request");
  expect(world.provider.requests).toHaveLength(0);
});

test("a field may have any name, and is passed on once", async () => {
  const caller = await world.creditCaller(1);
  world.provider.script(json({ text: "hello", usage: { type: "duration", seconds: 1 } }));
  const names = ["constructor", "__proto__", "toString"];
  const parts = names.map((name) => `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\nmine\r\n`);
  expect((await hear(caller.secret, `${parts.join("")}${head}x${end}`)).status).toBe(200);
  const sent = world.provider.requests[0]?.text ?? "";
  for (const name of names) expect(sent.split(`name="${name}"\r\n\r\nmine\r\n`)).toHaveLength(2);
  expect(sent).not.toContain("native code");
});

test("sound is charged for the length at its end, where its provider does not say it", async () => {
  const { key, secret } = await world.creditCaller(10);
  const sound = readFileSync(new URL("../../support/fixtures/sound/tables-last.m4a", import.meta.url));
  world.provider.script(json({ text: "hello" }));
  const response = await hear(secret, Buffer.concat([Buffer.from(head), sound, Buffer.from(end)]));
  expect(response.headers.get("x-sluice-units")).toBe("minutes=0.0844");
  expect(await world.chargesOf({ key, secret })).toMatchObject([{ amount: -506_400, basis: "estimated" }]);
});

test("plain samples in JSON tell how long they play, as in a form", async () => {
  const { key, secret } = await world.creditCaller(10);
  const wav = Buffer.alloc(44 + 80_000);
  wav.write("RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0", "latin1");
  wav.writeUInt32LE(8000, 24);
  wav.writeUInt16LE(8, 34);
  wav.write("data", 36);
  wav.writeUInt32LE(80_000, 40);
  world.provider.script(json({ text: "hello" }));
  const body = { model: "hear", input_audio: { data: wav.toString("base64"), format: "wav" } };
  const response = await world.ask({ key, secret }, { path: "/v1/audio/transcriptions", body });
  expect(response.headers.get("x-sluice-units")).toBe("minutes=0.166667");
  expect(await world.chargesOf({ key, secret })).toMatchObject([{ amount: -1_000_000, basis: "measured" }]);
});

test("sound in large JSON, in place of a form, is found on the thread that reads it", async () => {
  using found = spyOn(meteredRoute("transcriptions"), "filesIn");
  world.provider.script(json({ text: "hello" }));
  const data = Buffer.concat([Buffer.from("#!AMR\n"), Buffer.alloc(959_994)]).toString("base64");
  const body = { model: "hear", input_audio: { data, format: "amr" } };
  const asked = { path: "/v1/audio/transcriptions", body };
  const response = await world.ask(await world.creditCaller(1), asked);
  expect(response.headers.get("x-sluice-units")).toBe("minutes=32");
  expect(found).not.toHaveBeenCalled();
});
