import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { Socket } from "bun";
import { BatchClient, chatLines } from "../gateway/batches/batch-world.ts";
import { json } from "../support/answers.ts";
import { configFor } from "../support/config.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

const mebibyte = 1024 * 1024;
const adminToken = "the-right-admin-token";
const waitMs = 60_000;

let provider: ScriptedProvider;
let sluice: Sluice;
let greedy: TestKey;
let other: TestKey;

beforeAll(async () => {
  provider = startProvider();
  const head = `[server]\nmax_body_bytes = ${2 * mebibyte}\nmax_body_memory = ${3 * mebibyte}`;
  sluice = await startSluice({
    config: configFor({ url: provider.url, head }),
    env: { SLUICE_ADMIN_TOKEN: adminToken },
  });
  greedy = await sluice.createKey({ credit: 0.000001 });
  other = await sluice.createKey();
});
afterEach(() => {
  for (const client of clients.splice(0)) client.socket.terminate();
});
afterAll(async () => {
  await sluice.dispose();
  provider.stop();
});

interface Client {
  readonly socket: Socket;
  received: string;
}

const clients: Client[] = [];

/** Sends a head, and then as many bytes as the gateway takes, up to `most`. */
async function send(head: string, most: number, to = sluice): Promise<Client> {
  const { hostname, port } = new URL(to.url);
  const piece = Buffer.alloc(64 * 1024, "x");
  let left = most;
  const pump = (socket: Socket) => {
    while (left > 0) {
      const wrote = socket.write(piece.subarray(0, Math.min(left, piece.length)));
      left -= wrote;
      if (wrote <= 0) return;
    }
  };
  const client = { received: "" };
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      data: (_socket, bytes) => {
        client.received += bytes.toString("latin1");
      },
      drain: pump,
      error: () => {},
    },
  });
  socket.write(head);
  pump(socket);
  const made = Object.assign(client, { socket });
  clients.push(made);
  return made;
}

async function answered(client: Client): Promise<{ status: number; text: string }> {
  await waitFor(() => client.received.includes("\r\n\r\n"), "an answer", waitMs);
  return { status: Number(client.received.slice(9, 12)), text: client.received };
}

function headOf(line: string, length: number | null, ...headers: readonly string[]): string {
  const framing = length === null ? "Transfer-Encoding: chunked" : `Content-Length: ${length}`;
  return [`${line} HTTP/1.1`, "Host: gateway.example", framing, ...headers, "", ""].join("\r\n");
}

function residentBytes(of = sluice): number {
  const pages = Number(readFileSync(`/proc/${of.pid}/statm`, "utf8").split(" ")[1]);
  return pages * 4096;
}

const unauthenticated = [
  "POST /admin/api/v1/session",
  "DELETE /admin/api/v1/session",
  "POST /admin/api/v1/keys",
  "POST /admin/api/v1/nothing",
  "POST /admin",
  "POST /metrics",
  "POST /v1/nothing",
  "PUT /v1/chat/completions",
  "POST /v1/chat/completions",
  "POST /token/v1/messages",
  "POST /healthz",
  "POST /v1/..\\admin",
];

describe("without a credential", () => {
  test.each(unauthenticated)("%s answers without reading what is sent", async (line) => {
    const before = residentBytes();
    const announced = await send(headOf(line, 500_000_000), 60 * mebibyte);
    expect((await answered(announced)).status).toBeGreaterThanOrEqual(line.startsWith("DELETE") ? 200 : 400);
    const size = 64 * mebibyte;
    const chunked = await send(`${headOf(line, null)}${size.toString(16)}\r\n`, 60 * mebibyte);
    expect((await answered(chunked)).status).toBeGreaterThanOrEqual(line.startsWith("DELETE") ? 200 : 400);
    expect(residentBytes() - before).toBeLessThan(40 * mebibyte);
  });

  test("a sign-in is read up to a few kilobytes", async () => {
    const announced = await send(headOf("POST /admin/api/v1/session", 5000), 0);
    expect((await answered(announced)).status).toBe(413);
    const body = JSON.stringify({ token: adminToken });
    const fits = await send(headOf("POST /admin/api/v1/session", body.length) + body, 0);
    expect((await answered(fits)).status).toBe(204);
  });
});

describe("with a key", () => {
  const line = "POST /v1/chat/completions";
  const bearer = (key: TestKey) => `Authorization: Bearer ${key.key}`;
  const ask = (key: TestKey) =>
    sluice.request("/v1/chat/completions", {
      key,
      body: { model: "gpt-test", messages: [{ role: "user", content: "y".repeat(100_000) }] },
    });

  /**
   * Sends all but the end of a body that takes the greedy key's share. A request that looks whether it is taken needs memory too:
   * if that is read while the body still comes, the body is what finds no room, and has to be sent again.
   */
  const takeShare = async (): Promise<Client> => {
    const begin = () => send(headOf(line, 2 * mebibyte, bearer(greedy)), 2 * mebibyte - 1000);
    let unfinished = await begin();
    const isTaken = async () => {
      if (unfinished.received !== "") {
        expect((await answered(unfinished)).status).toBe(503);
        unfinished = await begin();
      }
      return (await ask(greedy)).status === 503;
    };
    await waitFor(isTaken, "the share to be taken", waitMs);
    return unfinished;
  };
  const shareIsFree = () =>
    waitFor(async () => (await ask(greedy)).status !== 503, "the share to be free", waitMs);

  test("a body that is announced too large is refused unread", async () => {
    const client = await send(headOf(line, 2 * mebibyte + 1, bearer(other)), 0);
    expect((await answered(client)).status).toBe(400);
  });

  test("a body without a length is refused where it becomes too large", async () => {
    const size = 64 * mebibyte;
    const client = await send(`${headOf(line, null, bearer(other))}${size.toString(16)}\r\n`, 60 * mebibyte);
    const { status, text } = await answered(client);
    expect(status).toBe(400);
    expect(text).toContain("too large");
  });

  test("unfinished bodies of one key take its share of the memory, and no more", async () => {
    const unfinished = await takeShare();
    const refused = await ask(greedy);
    expect(await refused.json()).toMatchObject({ error: { code: "service_unavailable" } });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect((await ask(other)).status).toBe(200);

    unfinished.socket.terminate();
    await shareIsFree();
    expect((await ask(greedy)).status).toBe(402);
  });

  test("bodies of all keys take no more than there is, and what is refused gives back what it took", async () => {
    const first = await takeShare();
    const second = await send(headOf(line, 2 * mebibyte, bearer(other)), 2 * mebibyte - 1000);
    expect((await answered(second)).status).toBe(503);
    expect((await ask(other)).status).toBe(200);
    first.socket.terminate();
    await shareIsFree();
  });

  test("what only announces a large body takes nothing", async () => {
    for (let index = 0; index < 20; index += 1) await send(headOf(line, 2 * mebibyte, bearer(greedy)), 1000);
    expect((await ask(greedy)).status).toBe(402);
    expect((await ask(other)).status).toBe(200);
  });

  test("large bodies leave the memory where it was", async () => {
    const body = (index: number) =>
      `{"model":"gpt-test","messages":[{"role":"user","content":"${String(index).repeat(1_900_000)}"}]}`;
    for (let index = 0; index < 5; index += 1) {
      const response = await sluice.request("/v1/chat/completions", { key: other, body: body(index) });
      expect([200, 400, 402]).toContain(response.status);
      await response.text();
    }
    expect((await ask(other)).status).toBe(200);
  });
});

describe("many unfinished bodies of several keys", () => {
  const bodyBytes = 16 * mebibyte;
  const budgetBytes = 96 * mebibyte;
  let roomy: Sluice;
  const greedyKeys: TestKey[] = [];
  let patient: TestKey;

  beforeAll(async () => {
    const head = `[server]\nmax_body_bytes = ${bodyBytes}\nmax_body_memory = ${budgetBytes}`;
    roomy = await startSluice({ config: configFor({ url: provider.url, head }) });
    for (let key = 0; key < 4; key += 1) greedyKeys.push(await roomy.createKey({ credit: 0.000001 }));
    patient = await roomy.createKey();
  });
  afterAll(() => roomy.dispose());

  test.each(["announced", "chunked"])(
    "take no more memory than the budget, and leave room for small ones: %s",
    async (framing) => {
      const small = () =>
        roomy.request("/v1/chat/completions", {
          key: patient,
          body: { model: "gpt-test", messages: [{ role: "user", content: "Hello" }] },
        });
      expect((await small()).status).toBe(200);
      const before = residentBytes(roomy);
      const unfinished = bodyBytes - 1000;
      const chunk = framing === "chunked" ? `${bodyBytes.toString(16)}\r\n` : "";
      for (let count = 0; count < 24; count += 1) {
        const bearer = `Authorization: Bearer ${greedyKeys[count % greedyKeys.length]?.key}`;
        const head = headOf("POST /v1/chat/completions", framing === "chunked" ? null : bodyBytes, bearer);
        await send(head + chunk, unfinished, roomy);
      }
      // Whatever does not fit is refused, and only then is all of it there that does.
      const refused = () => clients.filter(({ received }) => received.startsWith("HTTP/1.1 503")).length;
      await waitFor(() => refused() >= 24 - budgetBytes / bodyBytes, "the others to be refused", waitMs);
      for (let count = 0; count < 10; count += 1) expect((await small()).status).toBe(200);
      expect(residentBytes(roomy) - before).toBeLessThan(budgetBytes + 48 * mebibyte);
    },
  );
});

describe("many downloads that stall", () => {
  const answerBytes = 24 * mebibyte;
  const stalledCount = 12;

  test("of one long result take no more memory than a few pieces of it", async () => {
    const message = { role: "assistant", content: "x".repeat(answerBytes) };
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    const usage = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 };
    provider.script(json({ id: "c", object: "chat.completion", created: 1, model: "m", choices, usage }));
    await using storing = await startSluice({ config: configFor({ url: provider.url }) });
    const key = await storing.createKey();
    const client = new BatchClient(storing.url, { secret: key.key });
    const ended = await client.untilEnded((await client.create(chatLines(1))).id);
    provider.reset();
    // What the line has taken is no longer there.
    await storing.stop();
    await storing.restart();
    const line = `GET /v1/files/${ended.output_file_id}/content`;
    const head = [`${line} HTTP/1.1`, "Host: gateway.example", `Authorization: Bearer ${key.key}`, "", ""];
    const before = residentBytes(storing);
    for (let count = 0; count < stalledCount; count += 1) {
      const client = await send(head.join("\r\n"), 0, storing);
      await waitFor(() => client.received !== "", "the download to begin", waitMs);
      client.socket.pause();
    }
    for (const { received } of clients) expect(received).toStartWith("HTTP/1.1 200");
    // It does not grow while they stall, either.
    for (let looks = 0; looks < 10; looks += 1) {
      expect(residentBytes(storing) - before).toBeLessThan((stalledCount * answerBytes) / 4);
      await Bun.sleep(100);
    }
  }, 120_000);
});
