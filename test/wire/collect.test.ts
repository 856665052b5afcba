import { expect, test } from "bun:test";
import { collectResponse } from "../../src/wire/collect.ts";
import { CountedDials, clientOf } from "./recorder.ts";
import { answerWith, TestServer } from "./server.ts";

const head = "POST / HTTP/1.1\r\nhost: test\r\n";

test("a collected answer has its status and its text, however it was split", async () => {
  const text = "né à 😀";
  using server = new TestServer(async (peer) => {
    for (const byte of Buffer.from(answerWith(text))) {
      await peer.write(Buffer.of(byte));
      await Bun.sleep(0);
    }
  });
  const client = clientOf(server);
  const answer = collectResponse((it) => client.send(head, "{}", it, "caller"), AbortSignal.timeout(10_000));
  expect(await answer).toMatchObject({ status: 200, text });
});

test("an answer that fails rejects with the cause", async () => {
  using server = new TestServer((peer) => peer.reset());
  const client = clientOf(server);
  const answer = collectResponse((it) => client.send(head, "{}", it, "caller"), AbortSignal.timeout(10_000));
  await expect(answer).rejects.toMatchObject({ code: "ECONNRESET" });
});

test("aborting the signal cancels the request", async () => {
  const leave = new AbortController();
  using server = new TestServer(() => leave.abort(new Error("enough")));
  const client = clientOf(server);
  const answer = collectResponse((it) => client.send(head, "{}", it, "caller"), leave.signal);
  await expect(answer).rejects.toThrow("enough");
  await server.peer(0).gone;
});

test("with an aborted signal nothing is sent", async () => {
  using server = new TestServer((peer) => void peer.write(answerWith("ok")));
  const dials = new CountedDials();
  const client = clientOf(server, { dial: dials.dial });
  const answer = collectResponse(
    (it) => client.send(head, "{}", it, "caller"),
    AbortSignal.abort(new Error("too late")),
  );
  await expect(answer).rejects.toThrow("too late");
  expect(dials.count).toBe(0);
});
